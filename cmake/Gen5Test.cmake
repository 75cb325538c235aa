# gen5_test(NAME name SOURCES a.cpp … LIBS lib … LABELS chapter05 …): a GoogleTest executable, one ctest test per TEST().
function(gen5_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  # What takes time lies in the libraries; the tests themselves shall compile quickly.
  target_compile_options(${T_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${T_NAME} PRIVATE gen5_options ${T_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${T_NAME} TEST_PREFIX "${T_NAME}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${T_LABELS}" TIMEOUT 300)
endfunction()
