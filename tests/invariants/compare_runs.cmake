# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D PROGRAM=FILE -P compare_runs.cmake: the program prints the same with any number of threads.
set(reference "")
foreach(threads IN ITEMS 1 2 3)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env OMP_NUM_THREADS=${threads} KOKKOS_NUM_THREADS=${threads} OMP_THREAD_LIMIT=64
            OMP_PROC_BIND=false KOKKOS_DISABLE_WARNINGS=1 "${PROGRAM}"
    RESULT_VARIABLE status
    OUTPUT_VARIABLE printed
    ERROR_VARIABLE complaints
  )
  if(NOT status EQUAL 0 OR printed STREQUAL "")
    message(FATAL_ERROR "${PROGRAM} with ${threads} threads ended with ${status}: ${complaints}")
  endif()
  if(NOT complaints MATCHES "${threads} threads")
    message("${threads} threads were asked for; the program says: ${complaints}")
  endif()
  if(reference STREQUAL "")
    set(reference "${printed}")
  elseif(NOT printed STREQUAL reference)
    message(FATAL_ERROR "with ${threads} threads:\n${printed}\nwith one:\n${reference}")
  endif()
endforeach()
