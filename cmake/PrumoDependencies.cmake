# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the library needs: Kokkos always, a CBLAS where there is one. The programs' own dependencies (command line,
# JSON, terminal) are found in bench/, the tests' in tests/.

include(PrumoKokkos)
prumo_find_kokkos(_prumo_kokkos_problem)
if(_prumo_kokkos_problem)
  message(FATAL_ERROR "${_prumo_kokkos_problem}")
endif()
message(STATUS "prumo: Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) from ${Kokkos_DIR}")

# The backends to build: one folder of backends/ each. `host` and `generic` always, a GPU's where Kokkos has it.
set(PRUMO_BACKENDS host generic)
if(Kokkos_ENABLE_CUDA)
  list(APPEND PRUMO_BACKENDS cuda)
endif()
if(Kokkos_ENABLE_HIP)
  list(APPEND PRUMO_BACKENDS hip)
endif()

include(PrumoFindCblas)
