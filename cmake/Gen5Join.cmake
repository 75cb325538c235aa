# gen5_join(target [SIZE 8] [APART a.cpp …]): the C++ files of a target are compiled so many at a time, by a made file that includes them.
# gen5_join(target NAME name FILES a.cpp …): these files alone, as one.
#
# Most of the time that a file takes goes into the headers that it shares with its neighbours: from nothing, everything is
# built in less than half the time. It costs two things. Files that stand together may not have names of their own in common,
# be they in unnamed namespaces: a clash is an error; rename one, or name its file in APART. And who changes one file compiles
# its neighbours too: -DGEN5_JOIN=OFF compiles one file at a time. That also shows that each includes what it uses.
#
# This is CMake's UNITY_BUILD but for the paths: they are written from the root, so that __FILE__ (tests have it
# everywhere) and with it what ccache keeps are the same in every checkout.
option(GEN5_JOIN "Compile C++ files several at a time" ON)

function(gen5_join target)
  if(NOT GEN5_JOIN)
    return()
  endif()
  cmake_parse_arguments(J "" "SIZE;NAME" "APART;FILES" ${ARGN})
  if(J_FILES)
    list(LENGTH J_FILES J_SIZE)
  elseif(NOT J_SIZE)
    set(J_SIZE 8)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(joined "")
  set(left "")
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} made)
    if(source MATCHES "\\.cpp$" AND NOT options AND NOT definitions AND NOT made AND NOT name IN_LIST J_APART AND (NOT J_FILES OR name IN_LIST J_FILES))
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      list(APPEND joined ${path})
    else()
      list(APPEND left ${source})
    endif()
  endforeach()
  list(LENGTH joined count)
  if(count LESS 2)
    return()
  endif()
  # Groups of one size: of 9 files, 5 and 4.
  math(EXPR groups "(${count} + ${J_SIZE} - 1) / ${J_SIZE}")
  foreach(group RANGE 1 ${groups})
    math(EXPR first "(${group} - 1) * ${count} / ${groups}")
    math(EXPR size "${group} * ${count} / ${groups} - ${first}")
    list(SUBLIST joined ${first} ${size} files)
    set(text "// Made by cmake/Gen5Join.cmake.\n")
    foreach(file IN LISTS files)
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${target}.joined/${J_NAME}${group}.cpp)
    file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
    list(APPEND left ${made})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${left})
endfunction()
