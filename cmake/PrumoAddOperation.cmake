# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_add_operation(NAME [SOURCES file...] [CUDA file...] [HIP file...] [CASES file...] [TESTS file...]
#                     [LIBRARIES target...])
#
# Adds the operation of the calling folder. The folder's prumo/ directory holds its public headers.
#   SOURCES    its kernels
#   CUDA, HIP  sources that are compiled only if Kokkos has this backend; they may call the vendor's libraries
#   CASES      what tests and measurements need; one of these files calls PRUMO_REGISTER_CASES(NAME, ...)
#   TESTS      its own tests, written with GoogleTest
#   LIBRARIES  what the kernels link
# Inside prumo, the files become part of the library and of its test programs. In another project, they become the targets
# NAME, NAME_cases and NAME_tests; there are no tests if BUILD_TESTING is OFF. That project can make a worker that has the
# operation with prumo_add_worker(), and test its cases with prumo_add_case_test().

# These properties are shared by the functions below. A build of prumo sets them; for an installed prumo, prumoConfig.cmake
# does.
define_property(GLOBAL PROPERTY PRUMO_OPERATIONS BRIEF_DOCS "Names of prumo's own operations" FULL_DOCS "In order")
define_property(
  GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS BRIEF_DOCS "Compiler options of kernels" FULL_DOCS "Those that prumo was built with"
)

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
  _prumo_is_own_folder(is_prumos_own)
  if(is_prumos_own)
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATIONS ${name})
    target_sources(prumo_ops PRIVATE ${arg_SOURCES})
    target_include_directories(prumo_ops PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>")
    target_link_libraries(prumo_ops PRIVATE ${arg_LIBRARIES})
    prumo_public_headers("${CMAKE_CURRENT_SOURCE_DIR}")
    if(TARGET prumo_cases)
      target_sources(prumo_cases PRIVATE ${arg_CASES})
    endif()
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATION_TESTS ${arg_TESTS})
    return()
  endif()

  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${name} PUBLIC prumo::ops ${arg_LIBRARIES})
    prumo_kernel_options(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${name} INTERFACE prumo::ops ${arg_LIBRARIES})
  endif()
  if(arg_CASES)
    add_library(${name}_cases STATIC ${arg_CASES})
    target_link_libraries(${name}_cases PUBLIC ${name} prumo::cases)
    prumo_kernel_options(${name}_cases)
  endif()
  if(arg_TESTS AND (BUILD_TESTING OR NOT DEFINED BUILD_TESTING))
    prumo_add_test_program(${name}_tests ${arg_TESTS})
    target_link_libraries(${name}_tests PRIVATE ${name})
  endif()
endfunction()

# Whether the calling folder belongs to prumo. A project that has prumo as a subdirectory does not.
function(_prumo_is_own_folder result)
  set(is_own OFF)
  if(TARGET prumo_ops)
    get_target_property(library_folder prumo_ops SOURCE_DIR)
    cmake_path(IS_PREFIX library_folder "${CMAKE_CURRENT_SOURCE_DIR}" is_own)
  endif()
  set(${result} ${is_own} PARENT_SCOPE)
endfunction()

# prumo_kernel_options(TARGET): compiles the target with the options of kernels. Results and counted flops depend on them,
# so operations of prumo and of other projects get the same ones, and so does what is compared with kernels.
function(prumo_kernel_options target)
  get_property(options GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS)
  target_compile_options(${target} PRIVATE ${options})
endfunction()

# prumo_long_formulas(FILE...): compiles sources of the calling folder for loops that compute long formulas. It changes no
# result, and two habits of GCC:
# - On x86, GCC does not reorder instructions before it assigns registers. Then the vectors of a chunk are computed one after
#   the other. The processor looks some hundred instructions ahead, and so it waits for each step of a polynomial.
# - Where a formula bounds its argument by constants, GCC threads jumps: it computes what follows from the constant ahead of
#   time, and selects between that and the general result several times, where one minimum would do.
function(prumo_long_formulas)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(folder "")
  _prumo_is_own_folder(is_prumos_own)
  if(is_prumos_own)
    set(folder TARGET_DIRECTORY prumo_ops)
    if(TARGET prumo_cases)
      list(APPEND folder prumo_cases)
    endif()
  endif()
  # The precompiled headers were compiled with other flags.
  set_source_files_properties(
    ${ARGN} ${folder} PROPERTIES COMPILE_OPTIONS "-fno-thread-jumps;-fschedule-insns;-fsched-pressure"
                                 SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

# prumo_add_test_program(TARGET SOURCE...): makes a GoogleTest program whose main() initialises Kokkos, and adds its tests.
function(prumo_add_test_program target)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(
      FATAL_ERROR
        "prumo_add_test_program(${target}): tests need GoogleTest, and CMake finds none (Debian: apt-get install "
        "libgtest-dev libgmock-dev; elsewhere set GTest_ROOT). To go without tests, configure with -DBUILD_TESTING=OFF; "
        "prumo itself with -DPRUMO_BUILD_TESTS=OFF."
    )
  endif()
  include(GoogleTest)
  _prumo_case_test_folder(folder)
  add_executable(${target} ${ARGN} "${folder}/main.cpp")
  target_link_libraries(${target} PRIVATE prumo::cases prumo::machine GTest::gtest GTest::gmock)
  target_include_directories(${target} PRIVATE "${folder}")
  prumo_kernel_options(${target})
  # A program for a GPU lists its tests only on a machine that has one, and it may be built on another machine.
  set(mode POST_BUILD)
  if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
    set(mode PRE_TEST)
  endif()
  # Tests run side by side. Threads that spin while they wait would take the cores from threads that work.
  gtest_discover_tests(
    ${target} TEST_PREFIX "${target}." DISCOVERY_TIMEOUT 60 DISCOVERY_MODE ${mode}
    PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive" PROCESSORS 2
  )
endfunction()

# prumo_add_case_test(TARGET OPERATIONS name...): makes a test program for the cases of these operations, which may be
# prumo's or your own. It compares each case with its reference, in every type, layout and implementation, for shapes with
# every kind of edge. It compares counted flops with their closed form. It checks that the operation refuses what its case
# calls invalid.
function(prumo_add_case_test target)
  cmake_parse_arguments(arg "" "" "OPERATIONS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_OPERATIONS)
    message(FATAL_ERROR "prumo_add_case_test(${target}): say OPERATIONS and their names")
  endif()
  _prumo_case_test_folder(folder)
  set(registration "${CMAKE_CURRENT_BINARY_DIR}/${target}_registration.cpp")
  prumo_write_registration("${registration}" prumo_register_tested_cases ${arg_OPERATIONS})
  prumo_add_test_program(${target} "${folder}/cases_test.cpp" "${registration}")
  _prumo_link_operations(prumo_add_case_test ${target} ${arg_OPERATIONS})
endfunction()

function(_prumo_case_test_folder result)
  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/case_test") # in an installed package
  if(NOT EXISTS "${folder}")
    set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tests/case")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Links the cases of operations. prumo's own are in prumo::cases, which every test and worker links anyway.
function(_prumo_link_operations caller target)
  get_property(own GLOBAL PROPERTY PRUMO_OPERATIONS)
  foreach(name IN LISTS ARGN)
    if(TARGET ${name}_cases)
      target_link_libraries(${target} PRIVATE ${name}_cases)
    elseif(NOT name IN_LIST own)
      message(FATAL_ERROR "${caller}(${target}): there is no operation '${name}' with CASES; "
                          "call prumo_add_operation(${name} ...) first"
      )
    endif()
  endforeach()
endfunction()

# prumo_write_registration(FILE FUNCTION NAME...): writes a source that defines `void FUNCTION(case_registries&)`. This
# function calls each operation's registration.
function(prumo_write_registration file function)
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS ARGN)
    string(APPEND declarations "void prumo_register_cases_of_${name}(prumo::cases::case_registries&);\n")
    string(APPEND calls "  prumo_register_cases_of_${name}(registries);\n")
  endforeach()
  string(
    CONCAT content "// Written by prumo_write_registration(). What it needs of <prumo/case/registry.hpp>, which reads Kokkos.\n"
           "namespace prumo::cases {\nclass case_registries;\nvoid register_library_cases(case_registries& registries);\n}\n\n"
           "${declarations}" "\nvoid ${function}(prumo::cases::case_registries& registries) {\n  (void)registries;\n" "${calls}}\n"
  )
  file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
endfunction()

# prumo_add_worker(TARGET [BACKEND openmp|threads|serial|cuda|hip] [OPERATIONS name...]): makes a worker program that has
# prumo's operations and these of your own. The default backend is that of Kokkos::DefaultExecutionSpace.
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
  _prumo_link_operations(prumo_add_worker ${target} ${arg_OPERATIONS})
endfunction()

# prumo_public_headers(FOLDER): the folder's prumo/ directory is installed. The headers in prumo/ itself are public; those in
# its subfolders are there because public ones include them, or for authors of operations.
define_property(GLOBAL PROPERTY PRUMO_HEADER_FOLDERS BRIEF_DOCS "Folders of headers" FULL_DOCS "Each has a directory prumo/")
function(prumo_public_headers folder)
  set_property(GLOBAL APPEND PROPERTY PRUMO_HEADER_FOLDERS "${folder}")
endfunction()
