# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D WORKER=PROGRAM -D OP=NAME -P ask_worker.cmake: the worker has the operation beside prumo's own, and
# verifies it.
set(case "\"op\": \"${OP}\", \"dtype\": \"f32\", \"shape\": {\"n\": 1000}, \"layout\": \"right\", \"parameters\": {}")
string(
  CONCAT requests
  "{\"id\": 1, \"request\": \"hello\", \"protocol\": 1}\n"
  "{\"id\": 2, \"request\": \"prepare\", \"device\": \"@device@\", ${case}, \"compute_mode\": \"strict\", \"seed\": 1, "
  "\"data\": \"resident\", \"host_memory\": null, \"cache\": \"hot\", \"implementation\": null}\n"
  "{\"id\": 3, \"request\": \"verify\", \"case\": 1}\n"
  "{\"id\": 4, \"request\": \"quit\"}\n"
)

function(ask device answers)
  string(REPLACE "@device@" "${device}" text "${requests}")
  set(file "${CMAKE_CURRENT_BINARY_DIR}/requests_to_worker.jsonl")
  file(WRITE "${file}" "${text}")
  execute_process(COMMAND "${WORKER}" INPUT_FILE "${file}" OUTPUT_VARIABLE printed ERROR_VARIABLE complaints
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${WORKER} ended with ${status}: ${complaints}\n${printed}")
  endif()
  string(REPLACE ";" "," printed "${printed}")
  string(REGEX MATCHALL "[^\n]+" lines "${printed}")
  set(${answers} "${lines}" PARENT_SCOPE)
endfunction()

function(require_ok answer)
  string(JSON ok ERROR_VARIABLE problem GET "${answer}" ok)
  if(NOT ok)
    message(FATAL_ERROR "the worker answered: ${answer} ${problem}")
  endif()
endfunction()

# The device is not known before the worker has said hello.
ask("" answers)
list(GET answers 0 hello)
require_ok("${hello}")
string(JSON device GET "${hello}" devices 0 id)
string(JSON count LENGTH "${hello}" cases)
set(ops "")
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
  string(JSON op GET "${hello}" cases ${index} op)
  list(APPEND ops "${op}")
endforeach()
foreach(expected IN ITEMS "${OP}" add softmax)
  if(NOT expected IN_LIST ops)
    message(FATAL_ERROR "the worker has no '${expected}'; it has: ${ops}")
  endif()
endforeach()

ask("${device}" answers)
list(GET answers 1 prepared)
require_ok("${prepared}")
list(GET answers 2 verified)
require_ok("${verified}")
string(JSON is_verified GET "${verified}" verified)
if(NOT is_verified)
  message(FATAL_ERROR "'${OP}' is not verified: ${verified}")
endif()
message("${device}: ${ops}; '${OP}' verified")
