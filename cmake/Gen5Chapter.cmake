# The tests that chapters have in common. All run on tinygpu and carry the chapter's label: chapter05 for 05_mma.
#
#   gen5_chapter_orders(05_mma [MACHINE=h200 …])
#       The program holds with effects late and in two shuffled orders; and with each further GEN5_ setting.
#   gen5_chapter_check(05_mma)
#       `gen5 check` finds nothing in it, not so much as a warning: as timed, late and shuffled once. tests/check/seeds.py has all
#       with 20 seeds.
#   gen5_chapter_mistakes(05_mma [FILES mistakes.txt …])
#       A test for each mistake of those files: `05_mma --mistake NAME` ends as it is promised, in every order. And one that
#       notes/mistakes.md has the table that `05_mma --list` prints.

function(gen5_chapter_run program suffix environment)
  string(REGEX MATCH "^[0-9]+" number ${program})
  gen5_cuda_run(NAME ${program}.${suffix} COMMAND ${program} ${ARGN} ENVIRONMENT GEN5_DEVICE=tinygpu ${environment}
                LABELS chapter${number})
endfunction()

function(gen5_chapter_orders program)
  foreach(setting IN ITEMS ORDER=late SEED=1 SEED=2 LISTS ARGN)
    gen5_chapter_run(${program} ${setting} GEN5_${setting} PASS "All checks hold")
  endforeach()
endfunction()

function(gen5_chapter_check program)
  if(NOT TARGET ${program} OR NOT TARGET gen5)
    return()
  endif()
  string(REGEX MATCH "^[0-9]+" number ${program})
  add_test(NAME ${program}.check COMMAND gen5 check --werror --seeds 1 $<TARGET_FILE:${program}>)
  set_tests_properties(${program}.check PROPERTIES LABELS "check;chapter${number}" TIMEOUT 300)
endfunction()

function(gen5_chapter_mistakes program)
  if(NOT TARGET ${program})
    return()
  endif()
  cmake_parse_arguments(P "" "" "FILES" ${ARGN})
  if(NOT P_FILES)
    set(P_FILES mistakes.txt)
  endif()
  string(REGEX MATCH "^[0-9]+" number ${program})
  set(lines "")
  foreach(file IN LISTS P_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(STRINGS ${file} more REGEX "^(mistake |says:)")
    list(APPEND lines ${more})
  endforeach()
  foreach(line IN LISTS lines)
    if(line MATCHES "^mistake ([a-z0-9_-]+):")
      set(name ${CMAKE_MATCH_1})
    elseif(line MATCHES "^says: wrong numbers")
      set(ends "\nOne wrong number: .*should be .*\nHow to find the fault: .*\nwrong numbers")
    elseif(line MATCHES "^says: not diagnosed yet")
      set(ends "not diagnosed yet")
    else()
      set(ends "\ndiagnosed as promised")
    endif()
    if(line MATCHES "^says:")
      gen5_cuda_run(NAME ${program}.mistake.${name} COMMAND ${program} --mistake ${name} PASS "${ends}[^\n]*\n(\nRemember: .*)?$"
                    ENVIRONMENT GEN5_DEVICE=tinygpu LABELS mistakes chapter${number})
    endif()
  endforeach()
  gen5_note_test(NAME ${program}.mistakes NOTE mistakes PROGRAM ${program} LABELS mistakes chapter${number})
endfunction()
