# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds a supported Kokkos. If there is none, the message says what is wrong with the one found and how to get another. This
# file is installed, because the package file includes it.

set(PRUMO_KOKKOS_MINIMUM 4.6.0)
set(PRUMO_KOKKOS_BEYOND 6.0.0)

macro(prumo_find_kokkos _prumo_missing_message)
  # Kokkos' version file accepts only one major version, so the range is checked here.
  if(NOT TARGET Kokkos::kokkos)
    find_package(Kokkos CONFIG QUIET)
  endif()
  set(_prumo_kokkos_advice
      "Ways to get one:\n"
      "  this machine only:  ./dev bench        (makes a private Debian with Kokkos and everything else)\n"
      "  Debian sid:         apt-get install libkokkos-dev\n"
      "  Spack:              spack install kokkos +openmp cxxstd=20\n"
      "  conda-forge:        conda install -c conda-forge kokkos\n"
      "  vcpkg:              vcpkg install kokkos\n"
      "  a cluster:          module load kokkos\n"
      "If CMake does not find it:  -DKokkos_ROOT=/where/it/is\n"
  )
  string(JOIN "" _prumo_kokkos_advice ${_prumo_kokkos_advice})
  set(${_prumo_missing_message} "")
  if(NOT TARGET Kokkos::kokkos)
    set(${_prumo_missing_message}
        "prumo needs Kokkos ${PRUMO_KOKKOS_MINIMUM} or newer, and found none.\n${_prumo_kokkos_advice}"
    )
  elseif(Kokkos_VERSION VERSION_LESS PRUMO_KOKKOS_MINIMUM OR Kokkos_VERSION VERSION_GREATER_EQUAL PRUMO_KOKKOS_BEYOND)
    set(${_prumo_missing_message}
        "prumo works with Kokkos ${PRUMO_KOKKOS_MINIMUM} up to, not including, ${PRUMO_KOKKOS_BEYOND}; "
        "${Kokkos_DIR} holds ${Kokkos_VERSION}.\n${_prumo_kokkos_advice}"
    )
    string(JOIN "" ${_prumo_missing_message} ${${_prumo_missing_message}})
  endif()
endmacro()

# prumo_openmp_conflict(VARIABLE): sets it to a warning if Kokkos and this compiler bring different OpenMP runtimes, else to
# nothing. In a program that has both, the first binds the main thread as OMP_PROC_BIND says, and the second then sees
# one core. `prumo` sets OMP_PROC_BIND for its workers.
function(prumo_openmp_conflict variable)
  set(${variable} "" PARENT_SCOPE)
  set(runtime_of_GNU libgomp)
  set(runtime_of_Clang libomp)
  set(runtime_of_IntelLLVM libiomp5)
  set(of_kokkos "${runtime_of_${Kokkos_CXX_COMPILER_ID}}")
  set(of_compiler "${runtime_of_${CMAKE_CXX_COMPILER_ID}}")
  if(NOT Kokkos_ENABLE_OPENMP OR NOT of_kokkos OR NOT of_compiler OR of_kokkos STREQUAL of_compiler)
    return()
  endif()
  set(${variable}
      "${Kokkos_CXX_COMPILER_ID} compiled this Kokkos (${Kokkos_DIR}), and its OpenMP runtime is ${of_kokkos}. "
      "${CMAKE_CXX_COMPILER_ID} brings ${of_compiler}. A program that has both may use one core only. Set Kokkos_ROOT to a "
      "Kokkos that ${CMAKE_CXX_COMPILER_ID} compiled, or set CMAKE_CXX_COMPILER to the compiler of this one "
      "(${Kokkos_CXX_COMPILER}). docs/compilers.md has another way."
  )
  string(JOIN "" ${variable} ${${variable}})
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()
