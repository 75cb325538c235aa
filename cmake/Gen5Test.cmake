# gen5_quick_to_compile(target): for what takes no time itself: tests, tools, the interface to CUDA, reports.
function(gen5_quick_to_compile target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# gen5_test(NAME name SOURCES a.cpp … LIBS lib … LABELS chapter05 … [APART b.cpp …]): a GoogleTest executable, one ctest test per
# TEST(). APART is gen5_join's.
function(gen5_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS;LABELS;APART" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  gen5_join(${T_NAME} APART ${T_APART})
  gen5_quick_to_compile(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE gen5_options ${T_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${T_NAME} TEST_PREFIX "${T_NAME}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${T_LABELS}" TIMEOUT 300)
endfunction()

# gen5_note_test(NAME name NOTE 05_mma PROGRAM program [LABELS …]): what notes/05_mma.md quotes is what the program, a target,
# prints on tinygpu.
function(gen5_note_test)
  cmake_parse_arguments(T "" "NAME;NOTE;PROGRAM" "LABELS" ${ARGN})
  if(NOT TARGET ${T_PROGRAM})
    return()
  endif()
  add_test(NAME ${T_NAME} COMMAND ${CMAKE_COMMAND} -DNOTE=${PROJECT_SOURCE_DIR}/notes/${T_NOTE}.md -DPROGRAM=${T_PROGRAM}
           -DPATH_TO=$<TARGET_FILE:${T_PROGRAM}> -P ${PROJECT_SOURCE_DIR}/cmake/MatchNote.cmake)
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" TIMEOUT 300 ENVIRONMENT GEN5_DEVICE=tinygpu)
endfunction()
