# CUDA programs: found compiler, compile rule, link rule.
#
# nvcc is driven by custom commands and not by CMake's CUDA language: the language's check links and runs programs, which
# neither a bare compiler from PyPI's wheels nor a machine without a driver can do.
#
#   gen5_cuda_program(NAME chapter05 SOURCES main.cu host.cpp … [ARCHS 100a;90a] [LIBS …] [LABELS chapter05 …]
#                     [MISTAKES mistakes.txt COPIES main.cu …])
#       An executable in ${CMAKE_BINARY_DIR}/bin. With LABELS, also a ctest test NAME that runs it without arguments.
#       A source that has code for fewer of the ARCHS names them in its property GEN5_ARCHS; one with the property GEN5_DEBUG
#       is compiled with -G, not optimised and with its variables.
#       MISTAKES: its .cu may include "mistakes.inc", which cmake/make_mistakes.py makes of that file (of each, if there are
#       several) and of the sources in COPIES.
#   gen5_cuda_test(NAME t SOURCES … [ARCHS …] [LIBS …] [LABELS …])
#       The same with GoogleTest: one ctest test per TEST().
#   gen5_cuda_run(NAME t COMMAND chapter05 --part x [PASS regex] [FAILS] [ENVIRONMENT A=b …] [LABELS …])
#       A ctest test that runs a program of this build with arguments: it must exit 0 (with FAILS: not 0, and not by a
#       signal) and print what PASS matches.

set(GEN5_NVCC_OPTIONS "" CACHE STRING "Further options for nvcc")
set(GEN5_GPU "any" CACHE STRING "any: build every program; native: only those that the GPU of this machine runs")

# ---- The compiler: named, on the path, where the toolkit installs itself, or what scripts/setup fetched ---------------
find_program(GEN5_NVCC nvcc
             HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin
                   ${PROJECT_SOURCE_DIR}/.cuda/nvidia/cu13/bin
             DOC "nvcc of CUDA 13.0 or later")
if(NOT GEN5_NVCC)
  message(FATAL_ERROR "No nvcc of CUDA 13 found. scripts/setup fetches one into .cuda/ (PyPI's wheels, 90 MB); "
                      "or set -DGEN5_NVCC=/path/to/nvcc, or -DGEN5_CUDA=OFF to build the machine alone.")
endif()
execute_process(COMMAND ${GEN5_NVCC} --version OUTPUT_VARIABLE NVCC_VERSION RESULT_VARIABLE NVCC_FAILED)
if(NVCC_FAILED OR NOT NVCC_VERSION MATCHES "release ([0-9]+)\\.([0-9]+)")
  message(FATAL_ERROR "${GEN5_NVCC} does not run or does not say its version")
endif()
if(CMAKE_MATCH_1 LESS 13)
  message(FATAL_ERROR "${GEN5_NVCC} is CUDA ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}; tcgen05 needs 13.0 or later")
endif()
file(REAL_PATH ${GEN5_NVCC} NVCC_REAL)
get_filename_component(GEN5_CUDA_ROOT ${NVCC_REAL} DIRECTORY)
get_filename_component(GEN5_CUDA_ROOT ${GEN5_CUDA_ROOT} DIRECTORY)
if(NOT EXISTS ${GEN5_CUDA_ROOT}/include/cuda_runtime.h)
  message(FATAL_ERROR "${GEN5_CUDA_ROOT}/include has no cuda_runtime.h: the runtime's headers are missing")
endif()
message(STATUS "nvcc: ${GEN5_NVCC}")

# For host files that include CUDA's headers.
add_library(gen5_cuda_headers INTERFACE)
target_include_directories(gen5_cuda_headers SYSTEM INTERFACE ${GEN5_CUDA_ROOT}/include)

# What makes mistakes of kernels.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# ---- The GPU of this machine ------------------------------------------------------------------------------------------
set(GEN5_NATIVE_ARCH "" CACHE INTERNAL "")
if(GEN5_GPU STREQUAL "native")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE CAPABILITY OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE SMI_FAILED)
  if(SMI_FAILED OR NOT CAPABILITY MATCHES "^([0-9]+)\\.([0-9]+)")
    message(FATAL_ERROR "GEN5_GPU=native (the preset `hardware`) needs an NVIDIA GPU, and nvidia-smi shows none. "
                        "Use the preset `default` for the machine model.")
  endif()
  set(GEN5_NATIVE_ARCH "${CMAKE_MATCH_1}${CMAKE_MATCH_2}a" CACHE INTERNAL "")
  message(STATUS "GPU: sm_${GEN5_NATIVE_ARCH}; programs without code for it are left out")
endif()

# fmt 9 takes nvcc for a compiler without constexpr, and nvcc cannot evaluate fmt's format-string check: two definitions.
# Compiles one .cu of `target` for ARCHS; the object's path comes back in OUT. Dependencies come from nvcc itself.
# -O1 is the host compiler's: nvcc tells its device compilers nothing of it, they optimise fully (--dryrun shows it).
function(gen5_cuda_object OUT target source archs made)
  get_filename_component(path ${source} ABSOLUTE)
  string(REPLACE ${CMAKE_CURRENT_SOURCE_DIR}/ "" name ${path})
  string(REGEX REPLACE "[/:]" "." name ${name})  # sources of one name in two folders have two objects
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.dir/${name}.o)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}.dir)
  set(gencode "")
  foreach(arch IN LISTS archs)
    list(APPEND gencode "-gencode=arch=compute_${arch},code=[sm_${arch},compute_${arch}]")
  endforeach()
  separate_arguments(extra UNIX_COMMAND "${GEN5_NVCC_OPTIONS}")
  set(sanitize "")
  if(GEN5_SANITIZE)
    set(sanitize -Xcompiler=-fsanitize=address,-fsanitize=undefined,-fno-omit-frame-pointer)
  endif()
  set(include "")
  if(made)
    set(include -I${CMAKE_CURRENT_BINARY_DIR}/${target}.dir)
  endif()
  get_source_file_property(debug ${source} GEN5_DEBUG)
  set(lines -lineinfo)
  if(debug)
    set(lines -G)
  endif()
  set(werror "")
  set(nvcc_werror "")
  if(GEN5_WERROR)
    set(werror ",-Werror")
    set(nvcc_werror -Werror all-warnings)
  endif()
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CCACHE_LAUNCHER} ${GEN5_NVCC} -c -o ${object} ${path} ${gencode} -std=c++20 -O1
            -cudart shared ${lines} -Xcompiler=-fPIC,-Wall,-Wextra${werror},-Wno-unused-parameter,-Wno-restrict ${nvcc_werror}
            --expt-relaxed-constexpr -DFMT_USE_CONSTEXPR=1 -DFMT_CONSTEVAL= ${sanitize} -I${PROJECT_SOURCE_DIR} ${include} -MD -MF ${object}.d ${extra}
    DEPENDS ${path} ${GEN5_NVCC} ${made}
    DEPFILE ${object}.d
    COMMENT "nvcc ${name} for ${archs}"
    VERBATIM)
  set(${OUT} ${object} PARENT_SCOPE)
endfunction()

# What both kinds of executable share: it leaves their arguments in P_…, and `built` FALSE where the program has no code
# for the GPU asked for. Links `further` libraries too.
macro(gen5_cuda_executable further)
  cmake_parse_arguments(P "" "NAME" "SOURCES;ARCHS;LIBS;LABELS;MISTAKES;COPIES" ${ARGN})
  if(NOT P_ARCHS)
    set(P_ARCHS 100a)
  endif()
  set(built TRUE)
  if(GEN5_NATIVE_ARCH AND NOT GEN5_NATIVE_ARCH IN_LIST P_ARCHS)
    set(built FALSE)
  else()
    set(inputs "")
    set(made "")
    foreach(mistakes IN LISTS P_MISTAKES)
      get_filename_component(stem ${mistakes} NAME_WE)
      set(inc ${CMAKE_CURRENT_BINARY_DIR}/${P_NAME}.dir/${stem}.inc)
      add_custom_command(OUTPUT ${inc}
                         COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/make_mistakes.py ${PROJECT_SOURCE_DIR}
                                 ${CMAKE_CURRENT_SOURCE_DIR}/${mistakes} ${inc}
                         DEPENDS ${mistakes} ${P_COPIES} ${PROJECT_SOURCE_DIR}/cmake/make_mistakes.py
                         VERBATIM)
      list(APPEND made ${inc})
    endforeach()
    foreach(source IN LISTS P_SOURCES)
      if(source MATCHES "\\.cu$")
        get_source_file_property(own_archs ${source} GEN5_ARCHS)
        if(NOT own_archs)
          set(own_archs ${P_ARCHS})
        endif()
        gen5_cuda_object(object ${P_NAME} ${source} "${own_archs}" "${made}")
        list(APPEND inputs ${object})
      else()
        list(APPEND inputs ${source})
      endif()
    endforeach()
    add_executable(${P_NAME} ${inputs})
    # The program asks for libcudart.so.13 by name. Beside it in ../lib lies tinygpu's, which hands over to NVIDIA's where a
    # GPU is to be used. The driver's functions come through it too.
    set_target_properties(${P_NAME} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                                                BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
    target_link_libraries(${P_NAME} PRIVATE gen5_options gen5_cuda_headers ${P_LIBS} ${further} fmt::fmt tinygpu_cudart)
  endif()
endmacro()

function(gen5_cuda_program)
  gen5_cuda_executable("" ${ARGN})
  # A chapter tells which instructions are new in it.
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(built AND P_NAME STREQUAL folder AND TARGET gen5)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${P_NAME}.dir/new_instructions.cpp)
    file(GLOB read_for_it ${PROJECT_SOURCE_DIR}/notes/${P_NAME}.md ${PROJECT_SOURCE_DIR}/common/ptx/*.h ${PROJECT_SOURCE_DIR}/chapters/*/*.cu ${PROJECT_SOURCE_DIR}/chapters/*/*.cuh)
    add_custom_command(OUTPUT ${made}
                       COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/book/instructions.py ${P_NAME} $<TARGET_FILE:gen5> ${made}
                       DEPENDS ${read_for_it} ${PROJECT_SOURCE_DIR}/notes/start_here.md ${PROJECT_SOURCE_DIR}/book/instructions.py gen5
                       VERBATIM)
    target_sources(${P_NAME} PRIVATE ${made})
  endif()
  if(built AND P_LABELS)
    add_test(NAME ${P_NAME} COMMAND ${P_NAME})
    set_tests_properties(${P_NAME} PROPERTIES LABELS "${P_LABELS}" TIMEOUT 300)
  endif()
endfunction()

function(gen5_cuda_test)
  gen5_cuda_executable("GTest::gtest;GTest::gmock;GTest::gtest_main" ${ARGN})
  if(built)
    gen5_quick_to_compile(${P_NAME})
    gtest_discover_tests(${P_NAME} TEST_PREFIX "${P_NAME}." DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS "${P_LABELS}" TIMEOUT 300)
  endif()
endfunction()

function(gen5_cuda_run)
  cmake_parse_arguments(P "FAILS" "NAME;PASS" "COMMAND;ENVIRONMENT;LABELS" ${ARGN})
  list(GET P_COMMAND 0 program)
  if(NOT TARGET ${program})
    return()
  endif()
  list(REMOVE_AT P_COMMAND 0)
  add_test(NAME ${P_NAME} COMMAND ${CMAKE_COMMAND} -DFAILS=${P_FAILS} "-DPASS=${P_PASS}"
           -P ${PROJECT_SOURCE_DIR}/cmake/ExpectRun.cmake -- $<TARGET_FILE:${program}> ${P_COMMAND})
  set_tests_properties(${P_NAME} PROPERTIES LABELS "${P_LABELS}" TIMEOUT 300 ENVIRONMENT "${P_ENVIRONMENT}")
endfunction()
