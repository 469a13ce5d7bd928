# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# All options of a prumo build. If prumo is a subdirectory of another project, only the library is built by default.

option(PRUMO_BUILD_BENCH "Build the prumo program and its workers" ${PROJECT_IS_TOP_LEVEL})
option(PRUMO_BUILD_FRONT_END "Build the prumo program itself; a machine that is measured from another one needs only workers"
       ${PRUMO_BUILD_BENCH}
)
option(PRUMO_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(PRUMO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(PRUMO_INSTALL "Make install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})
option(PRUMO_NATIVE "Compile for this machine's own instruction set; switch it off for a package for other machines"
       ${PROJECT_IS_TOP_LEVEL}
)
option(PRUMO_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
option(PRUMO_ENABLE_CBLAS "Use a CBLAS (OpenBLAS, BLIS, MKL) for the matrix product on the host" ON)
option(PRUMO_ENABLE_ONEDNN "Use oneDNN for products of f16 and bf16 on the host" ON)
option(PRUMO_ENABLE_ROCBLAS "Use rocBLAS for the matrix product on AMD GPUs" ON)
option(PRUMO_ENABLE_HIPBLASLT "Use hipBLASLt, too, for the matrix product on AMD GPUs; needs rocBLAS" ON)
option(PRUMO_LAUNCH_BY_KOKKOS "Launch kernels by Kokkos' policies on CUDA, too, as on all other devices: slower, to test that way"
       OFF
)
option(PRUMO_FUZZ "Build the fuzzers of the front-end and nothing else; needs Clang with libFuzzer, and no Kokkos" OFF)
set(PRUMO_SANITIZE "" CACHE STRING "Sanitizers to compile with, for example address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
  message(WARNING "prumo is compiled without optimisation, because CMAKE_BUILD_TYPE is empty. Its operations are then many times "
                  "slower. Configure with -DCMAKE_BUILD_TYPE=Release"
  )
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
