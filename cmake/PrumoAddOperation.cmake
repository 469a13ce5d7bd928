# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_add_operation(NAME [SOURCES file...] [CUDA file...] [HIP file...] [CASES file...] [TESTS file...]
#                     [LIBRARIES target...])
#
# Adds one folder's operation: its public headers (the folder's prumo/ directory), its kernels (SOURCES; CUDA and HIP are
# compiled only where Kokkos has that backend, and may call its vendor's libraries), what tests and
# measurements need of it (CASES; one of them says PRUMO_REGISTER_CASES(NAME, ...)), and tests of its own. Inside prumo
# the parts join the library; in another project they make the targets NAME and NAME_cases, which prumo_add_worker()
# puts into a worker beside the library's own operations.

# Everything below runs at the end of prumo's own configuration, when all operations are known.
define_property(GLOBAL PROPERTY PRUMO_OPERATIONS BRIEF_DOCS "Names of prumo's own operations" FULL_DOCS "In order")

function(prumo_add_operation name)
  cmake_parse_arguments(arg "" "" "SOURCES;CUDA;HIP;CASES;TESTS;LIBRARIES" ${ARGN})
  foreach(backend CUDA HIP)
    if(Kokkos_ENABLE_${backend})
      list(APPEND arg_SOURCES ${arg_${backend}})
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "prumo_add_operation(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(TRANSFORM arg_CASES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(TRANSFORM arg_TESTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  # A project that has prumo as a subdirectory is outside too.
  set(is_prumos_own OFF)
  if(TARGET prumo_ops)
    get_target_property(library_folder prumo_ops SOURCE_DIR)
    cmake_path(IS_PREFIX library_folder "${CMAKE_CURRENT_SOURCE_DIR}" is_prumos_own)
  endif()
  if(is_prumos_own)
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATIONS ${name})
    target_sources(prumo_ops PRIVATE ${arg_SOURCES})
    target_include_directories(prumo_ops PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>")
    target_link_libraries(prumo_ops PRIVATE ${arg_LIBRARIES})
    prumo_public_headers(ops "${CMAKE_CURRENT_SOURCE_DIR}")
    if(TARGET prumo_cases)
      target_sources(prumo_cases PRIVATE ${arg_CASES})
    endif()
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATION_TESTS ${arg_TESTS})
  else()
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${name} PUBLIC prumo::ops ${arg_LIBRARIES})
    target_compile_options(${name} PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=off)
    if(arg_CASES)
      add_library(${name}_cases STATIC ${arg_CASES})
      target_link_libraries(${name}_cases PUBLIC ${name} prumo::cases)
      target_compile_options(${name}_cases PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=off)
    endif()
  endif()
endfunction()

# prumo_write_registration(FILE FUNCTION NAME...): a source that defines `void FUNCTION(case_registries&)`, which calls
# each operation's registration.
function(prumo_write_registration file function)
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS ARGN)
    string(APPEND declarations "void prumo_register_cases_of_${name}(prumo::cases::case_registries&);\n")
    string(APPEND calls "  prumo_register_cases_of_${name}(registries);\n")
  endforeach()
  string(
    CONCAT content "// Written by prumo_write_registration().\n#include <prumo/case/registry.hpp>\n\n" "${declarations}"
           "\nvoid ${function}(prumo::cases::case_registries& registries) {\n  (void)registries;\n" "${calls}}\n"
  )
  file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
endfunction()

# prumo_add_worker(TARGET [BACKEND openmp|threads|serial|cuda|hip] [OPERATIONS name...]): a worker program with the
# library's operations and these of your own; by default for the kind of device that Kokkos itself prefers.
function(prumo_add_worker target)
  cmake_parse_arguments(arg "" "BACKEND" "OPERATIONS" ${ARGN})
  set(space_openmp OpenMP)
  set(space_threads Threads)
  set(space_serial Serial)
  set(space_cuda Cuda)
  set(space_hip HIP)
  set(space DefaultExecutionSpace)
  if(arg_BACKEND)
    if(NOT space_${arg_BACKEND})
      message(FATAL_ERROR "prumo_add_worker(${target}): there is no backend '${arg_BACKEND}'; "
                          "there are: openmp, threads, serial, cuda, hip"
      )
    endif()
    set(space ${space_${arg_BACKEND}})
  endif()
  set(registration "${CMAKE_CURRENT_BINARY_DIR}/${target}_registration.cpp")
  prumo_write_registration("${registration}" prumo_register_worker_cases ${arg_OPERATIONS})
  set(main "${CMAKE_CURRENT_BINARY_DIR}/${target}_main.cpp")
  string(
    CONCAT content
      "// Written by prumo_add_worker().\n#include <prumo/case/registry.hpp>\n\n"
      "void prumo_register_worker_cases(prumo::cases::case_registries& registries);\n\n"
      "namespace prumo::worker {\ntemplate <class Exec>\n"
      "int run_worker(int argc, char** argv, void (*register_cases)(cases::case_registries&));\n}\n\n"
      "int main(int argc, char** argv) {\n"
      "  return prumo::worker::run_worker<Kokkos::${space}>(argc, argv, prumo_register_worker_cases);\n}\n"
  )
  file(CONFIGURE OUTPUT "${main}" CONTENT "${content}" @ONLY)
  add_executable(${target} "${main}" "${registration}")
  target_link_libraries(${target} PRIVATE prumo::worker)
  foreach(name IN LISTS arg_OPERATIONS)
    target_link_libraries(${target} PRIVATE ${name}_cases)
  endforeach()
endfunction()

# prumo_public_headers(COMPONENT FOLDER): the folder's prumo/ directory is public; installed, tested for self-containment.
define_property(GLOBAL PROPERTY PRUMO_HEADER_FOLDERS BRIEF_DOCS "Folders with public headers" FULL_DOCS "In order")
function(prumo_public_headers component folder)
  set_property(GLOBAL APPEND PROPERTY PRUMO_HEADER_FOLDERS "${folder}")
endfunction()
