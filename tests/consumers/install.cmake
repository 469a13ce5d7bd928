# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D BUILD=FOLDER -D SOURCE=FOLDER -D CONFIG=NAME -D PREFIX=FOLDER -P install.cmake: installs, then moves the
# result elsewhere, so that a package that is tied to its place does not pass.
set(made "${PREFIX}-as-installed")
file(REMOVE_RECURSE "${PREFIX}" "${made}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env --unset=DESTDIR "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix
          "${made}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE printed
  ERROR_VARIABLE complaints
)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cmake --install ended with ${status}\n${printed}\n${complaints}")
endif()

file(GLOB_RECURSE package_files "${made}/*.cmake" "${made}/*.hpp" "${made}/*.pc")
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  foreach(folder IN ITEMS "${made}" "${BUILD}" "${SOURCE}")
    string(FIND "${text}" "${folder}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}, which need not exist where the package is used")
    endif()
  endforeach()
endforeach()
file(GLOB folders RELATIVE "${made}/include/prumo" LIST_DIRECTORIES true "${made}/include/prumo/*")
list(FILTER folders EXCLUDE REGEX "[.]hpp$")
if(NOT folders STREQUAL "backend;case;detail;machine;nets")
  message(FATAL_ERROR "the README tells of other folders in include/prumo than those installed: ${folders}")
endif()
foreach(header IN ITEMS prumo.hpp version.hpp context.hpp transform.hpp softmax.hpp gemm.hpp case/registry.hpp
               backend/candidate.hpp)
  if(NOT EXISTS "${made}/include/prumo/${header}")
    message(FATAL_ERROR "<prumo/${header}> was not installed")
  endif()
endforeach()
file(RENAME "${made}" "${PREFIX}")
