# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -P kernel_options.cmake: without these, products and sums are fused that the source does not fuse.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/PrumoCompileOptions.cmake")
get_property(for_host GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS)
set(Kokkos_ENABLE_CUDA ON)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/PrumoCompileOptions.cmake")
get_property(for_cuda GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS)

if(NOT "-ffp-contract=off" IN_LIST for_host OR "-fmad=false" IN_LIST for_host)
  message(FATAL_ERROR "kernels of the host are compiled with: ${for_host}")
endif()
if(NOT "-ffp-contract=off" IN_LIST for_cuda OR NOT "-fmad=false" IN_LIST for_cuda)
  message(FATAL_ERROR "kernels of a build for CUDA are compiled with: ${for_cuda}")
endif()
