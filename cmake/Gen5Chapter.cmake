# The tests that chapters have in common. All run on tinygpu and carry the chapter's label: chapter05 for 05_mma.
#
#   gen5_chapter_orders(05_mma [MACHINE=h200 …])
#       The program holds with effects late and in two shuffled orders; and with each further GEN5_ setting.
#   gen5_chapter_mistakes(05_mma [FAILS] [ORDER late] "mistake what-it-prints" …)
#       `05_mma --mistake mistake` prints what the regular expression matches; with FAILS it exits with an error.

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

function(gen5_chapter_mistakes program)
  cmake_parse_arguments(P "FAILS" "ORDER" "" ${ARGN})
  set(fails "")
  if(P_FAILS)
    set(fails FAILS)
  endif()
  set(environment "")
  if(P_ORDER)
    set(environment GEN5_ORDER=${P_ORDER})
  endif()
  foreach(mistake IN LISTS P_UNPARSED_ARGUMENTS)
    separate_arguments(words UNIX_COMMAND "${mistake}")
    list(POP_FRONT words name prints)
    gen5_chapter_run(${program} mistake.${name} "${environment}" --mistake ${name} ${fails} PASS ${prints})
  endforeach()
endfunction()
