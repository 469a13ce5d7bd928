# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -P openmp_conflict.cmake: who is warned of two OpenMP runtimes in a program.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/PrumoKokkos.cmake")
set(Kokkos_DIR /where/it/is)

# expect(KOKKOS_COMPILER COMPILER REGEX): an empty REGEX says that there is no warning.
function(expect Kokkos_CXX_COMPILER_ID CMAKE_CXX_COMPILER_ID regex)
  prumo_openmp_conflict(warning)
  if((regex STREQUAL "" AND NOT warning STREQUAL "") OR NOT warning MATCHES "${regex}")
    message(FATAL_ERROR "Kokkos by ${Kokkos_CXX_COMPILER_ID}, prumo by ${CMAKE_CXX_COMPILER_ID}: '${warning}'")
  endif()
endfunction()

set(Kokkos_ENABLE_OPENMP ON)
expect(GNU GNU "")
expect(Clang Clang "")
expect(NVIDIA GNU "") # nvcc compiles host code by a compiler that Kokkos does not name
expect(GNU Clang "GNU compiled this Kokkos .*libgomp.*Clang brings libomp.*may use one core only")
expect(Clang GNU "Clang compiled this Kokkos .*libomp.*GNU brings libgomp")
expect(GNU IntelLLVM "IntelLLVM brings libiomp5")
set(Kokkos_ENABLE_OPENMP OFF)
expect(GNU Clang "")
