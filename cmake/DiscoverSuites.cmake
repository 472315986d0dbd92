# DiscoverSuites.cmake - a ctest test for each suite of a googletest program; run after the program is linked.
#
#   cmake -DPROGRAM=.. -DFOLDER=.. -DRESULTS=.. -DTIMEOUT=.. -DCOST=.. -DTHIRDS=.. -DENVIRONMENT=.. -DOUT=.. -P DiscoverSuites.cmake
#
# A suite is a process, and not a case: what a suite shares is made once, and a program that starts in 30 ms is not
# started 2,700 times. Each leaves RESULTS/<test>.xml, by which scripts/count-cases counts cases.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${code}")
endif()
string(REGEX REPLACE "[][;]" "_" listed "${listed}")  # values of parameters, which would not survive in a list
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
set(tests "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+)\\.( |$)")  # a case, or googletest's first line
    continue()
  endif()
  set(suite "${CMAKE_MATCH_1}")
  set(name "${FOLDER}.${suite}")
  string(REPLACE "/" "_" file "${name}")
  string(APPEND tests
         "add_test([=[${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=] [=[--gtest_output=xml:${RESULTS}/${file}.xml]=])\n"
         "set_tests_properties([=[${name}]=] PROPERTIES LABELS ${FOLDER} TIMEOUT ${TIMEOUT} COST ${COST} PROCESSORS ${THIRDS}")
  if(ENVIRONMENT)
    string(APPEND tests " ENVIRONMENT [=[${ENVIRONMENT}]=]")
  endif()
  string(APPEND tests ")\n")
endforeach()
if(tests STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${OUT} "${tests}")
