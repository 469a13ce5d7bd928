# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds what the library needs: Kokkos, and a CBLAS if there is one. bench/ finds the dependencies of the programs (command
# line, JSON, terminal), and tests/ those of the tests.

include(PrumoKokkos)
prumo_find_kokkos(_prumo_kokkos_problem)
if(_prumo_kokkos_problem)
  message(FATAL_ERROR "${_prumo_kokkos_problem}")
endif()
prumo_openmp_conflict(_prumo_openmp_conflict)
if(_prumo_openmp_conflict)
  message(WARNING "${_prumo_openmp_conflict}")
endif()
message(STATUS "prumo: Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) from ${Kokkos_DIR}")

# A preset for a device checks this first. Otherwise a long build might serve the host only.
set(PRUMO_REQUIRE_BACKEND "" CACHE STRING "Backends that Kokkos must have, for example cuda; empty: any will do")
foreach(_prumo_backend IN LISTS PRUMO_REQUIRE_BACKEND)
  string(TOUPPER "${_prumo_backend}" _prumo_device)
  if(NOT Kokkos_ENABLE_${_prumo_device})
    string(TOLOWER "${Kokkos_DEVICES}" _prumo_has)
    string(REPLACE ";" ", " _prumo_has "${_prumo_has}")
    message(
      FATAL_ERROR
        "This build needs the backend '${_prumo_backend}' (PRUMO_REQUIRE_BACKEND), but the Kokkos ${Kokkos_VERSION} "
        "in ${Kokkos_DIR} has: ${_prumo_has}.\n"
        "In a fresh build folder, set Kokkos_ROOT to a Kokkos that was configured with -DKokkos_ENABLE_${_prumo_device}=ON "
        "(Spack: spack install kokkos +${_prumo_backend}), or choose the preset of a backend that this one has."
    )
  endif()
endforeach()

# The backends to build, each a folder of backends/: `host` and `generic` always, and a GPU's if Kokkos has it. `gpu` is
# what the runtimes of CUDA and HIP have in common.
set(PRUMO_BACKENDS host generic)
if(Kokkos_ENABLE_CUDA)
  list(APPEND PRUMO_BACKENDS gpu cuda)
  find_package(CUDAToolkit REQUIRED)
endif()
if(Kokkos_ENABLE_HIP)
  list(APPEND PRUMO_BACKENDS gpu hip)
  set(PRUMO_HAS_ROCBLAS OFF)
  if(PRUMO_ENABLE_ROCBLAS)
    find_package(rocblas CONFIG QUIET HINTS ENV ROCM_PATH PATHS /opt/rocm)
    if(TARGET roc::rocblas AND rocblas_VERSION VERSION_GREATER_EQUAL 4)
      set(PRUMO_HAS_ROCBLAS ON)
      message(STATUS "prumo: rocBLAS ${rocblas_VERSION} from ${rocblas_DIR}")
    endif()
  endif()
  if(NOT PRUMO_HAS_ROCBLAS)
    message(STATUS "prumo: no rocBLAS 4 or newer found; the AMD GPU's matrix product is the portable kernel alone "
                   "(Debian: apt-get install librocblas-dev)"
    )
  endif()
  # hipBLASLt needs rocBLAS, which computes the products for which hipBLASLt has no kernel.
  set(PRUMO_HAS_HIPBLASLT OFF)
  if(PRUMO_ENABLE_HIPBLASLT AND PRUMO_HAS_ROCBLAS)
    find_package(hipblaslt CONFIG QUIET HINTS ENV ROCM_PATH PATHS /opt/rocm)
    if(TARGET roc::hipblaslt AND hipblaslt_VERSION VERSION_GREATER_EQUAL 0.8)
      set(PRUMO_HAS_HIPBLASLT ON)
      message(STATUS "prumo: hipBLASLt ${hipblaslt_VERSION} from ${hipblaslt_DIR}")
    endif()
  endif()
endif()

include(PrumoFindCblas)

# oneDNN has the host's instructions for products of 16-bit numbers.
set(PRUMO_HAS_ONEDNN OFF)
if(PRUMO_ENABLE_ONEDNN)
  find_package(dnnl 3 CONFIG QUIET)
  if(TARGET DNNL::dnnl)
    set(PRUMO_HAS_ONEDNN ON)
    message(STATUS "prumo: oneDNN ${dnnl_VERSION} from ${dnnl_DIR}")
  else()
    message(STATUS "prumo: no oneDNN 3 found; the host's products of f16 and bf16 are the portable kernel alone "
                   "(Debian: apt-get install libdnnl-dev)"
    )
  endif()
endif()

# For operations that call these libraries: what they link, and the macros that tell their sources what there is.
set(PRUMO_BLAS_LIBRARIES "")
set(PRUMO_BLAS_DEFINITIONS "")
if(PRUMO_HAS_CBLAS)
  list(APPEND PRUMO_BLAS_LIBRARIES prumo_cblas)
  list(APPEND PRUMO_BLAS_DEFINITIONS PRUMO_HAS_CBLAS)
  if(PRUMO_CBLAS_IS_OPENBLAS)
    list(APPEND PRUMO_BLAS_DEFINITIONS PRUMO_CBLAS_IS_OPENBLAS)
  endif()
endif()
if(PRUMO_HAS_ONEDNN)
  list(APPEND PRUMO_BLAS_LIBRARIES DNNL::dnnl)
  list(APPEND PRUMO_BLAS_DEFINITIONS PRUMO_HAS_ONEDNN)
endif()
if(Kokkos_ENABLE_CUDA)
  list(APPEND PRUMO_BLAS_LIBRARIES CUDA::cublas CUDA::cublasLt)
endif()
if(PRUMO_HAS_ROCBLAS)
  list(APPEND PRUMO_BLAS_LIBRARIES roc::rocblas)
  list(APPEND PRUMO_BLAS_DEFINITIONS PRUMO_HAS_ROCBLAS)
endif()
if(PRUMO_HAS_HIPBLASLT)
  list(APPEND PRUMO_BLAS_LIBRARIES roc::hipblaslt)
  list(APPEND PRUMO_BLAS_DEFINITIONS PRUMO_HAS_HIPBLASLT)
endif()
