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
  # No list of lines: a bracket without its partner, in a description, keeps CMake from taking it apart.
  set(index 0)
  string(FIND "${printed}" "\n" end)
  while(end GREATER_EQUAL 0)
    string(SUBSTRING "${printed}" 0 ${end} line)
    set(${answers}_${index} "${line}" PARENT_SCOPE)
    math(EXPR index "${index} + 1")
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${printed}" ${end} -1 printed)
    string(FIND "${printed}" "\n" end)
  endwhile()
endfunction()

function(require_ok answer)
  string(JSON ok ERROR_VARIABLE problem GET "${answer}" ok)
  if(NOT ok)
    message(FATAL_ERROR "the worker answered: ${answer} ${problem}")
  endif()
endfunction()

# The device is not known before the worker has said hello.
ask("" answers)
set(hello "${answers_0}")
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
require_ok("${answers_1}")
set(verified "${answers_2}")
require_ok("${verified}")
string(JSON is_verified GET "${verified}" verified)
if(NOT is_verified)
  message(FATAL_ERROR "'${OP}' is not verified: ${verified}")
endif()
message("${device}: ${ops}; '${OP}' verified")
