# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D PRUMO=PROGRAM -D CTEST=PROGRAM -P check.cmake, in the build folder: the tests of the operations pass where they
# should, and prumo measures what is right and nothing else. Without PRUMO the last part is left out.

# expect(STATUS REGEX WORD...): the command ends with the status, `0` or `not 0`, and prints what matches.
function(expect status regex)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE ended OUTPUT_VARIABLE printed ERROR_VARIABLE complaints)
  string(REGEX REPLACE "[ \n]+" " " all "${printed} ${complaints}")
  if((status STREQUAL "0") STREQUAL (ended STREQUAL "0") AND all MATCHES "${regex}")
    return()
  endif()
  message(FATAL_ERROR "${ARGN}\nended with ${ended}, expected ${status}, and should print '${regex}':\n${printed}\n${complaints}")
endfunction()

expect(0 "100% tests passed" "${CTEST}" --output-on-failure -E wrong_count)
expect(0 "my-cases[^ ]*.window_maximum.results_f64_strided.*window_maximum_tests.window_maximum.refuses" "${CTEST}" -N)
set(wrong "counted flops: the closed form of wrong_count says [0-9]+ mul, its kernel does [0-9]+ mul")
expect("not 0" "${wrong}" ./my-cases "--gtest_filter=*.wrong_count.counts")

if(PRUMO)
  set(bench "${PRUMO}" bench --worker my=./my-worker --no-search --no-probe --size 64KB --time-budget 10s)
  expect(0 "window_maximum" ${bench} --op window_maximum)
  expect("not 0" "window_maximum[^:]*: the step is 0, expected 1 or more" ${bench} --op window_maximum --set step=0)
  expect("not 0" "${wrong}" ${bench} --op wrong_count)
  expect("not 0" "${wrong}" ${bench} --op wrong_count --no-verify)
endif()
