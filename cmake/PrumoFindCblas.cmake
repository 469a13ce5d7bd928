# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds a BLAS with the C interface and makes the target prumo_cblas. PRUMO_HAS_CBLAS tells whether there is one.
#
# CMake's own FindBLAS looks for the Fortran symbols only and not for cblas.h, so header and library are checked by linking.

set(PRUMO_HAS_CBLAS OFF)
if(PRUMO_ENABLE_CBLAS)
  find_path(PRUMO_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-openmp openblas openblas-pthread blis mkl)
  find_library(PRUMO_CBLAS_LIBRARY NAMES openblas blis mkl_rt cblas PATH_SUFFIXES openblas-openmp openblas)
  mark_as_advanced(PRUMO_CBLAS_INCLUDE_DIR PRUMO_CBLAS_LIBRARY)
  if(PRUMO_CBLAS_INCLUDE_DIR AND PRUMO_CBLAS_LIBRARY)
    include(CheckCXXSourceCompiles)
    include(CMakePushCheckState)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_INCLUDES "${PRUMO_CBLAS_INCLUDE_DIR}")
    set(CMAKE_REQUIRED_LIBRARIES "${PRUMO_CBLAS_LIBRARY}")
    check_cxx_source_compiles(
      "#include <cblas.h>
       int main() {
         float a = 1, c = 0;
         cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0f, &a, 1, &a, 1, 0.0f, &c, 1);
         return c == 1 ? 0 : 1;
       }"
      PRUMO_CBLAS_LINKS
    )
    set(CMAKE_REQUIRED_LIBRARIES "${PRUMO_CBLAS_LIBRARY}")
    check_cxx_source_compiles(
      "extern \"C\" char* openblas_get_config(); int main() { return openblas_get_config() == nullptr; }"
      PRUMO_CBLAS_IS_OPENBLAS
    )
    cmake_pop_check_state()
    if(PRUMO_CBLAS_LINKS)
      set(PRUMO_HAS_CBLAS ON)
      add_library(prumo_cblas INTERFACE)
      target_include_directories(prumo_cblas SYSTEM INTERFACE "$<BUILD_INTERFACE:${PRUMO_CBLAS_INCLUDE_DIR}>")
      target_link_libraries(prumo_cblas INTERFACE "${PRUMO_CBLAS_LIBRARY}")
      message(STATUS "prumo: CBLAS ${PRUMO_CBLAS_LIBRARY}")
    endif()
  endif()
  if(NOT PRUMO_HAS_CBLAS)
    message(STATUS "prumo: no CBLAS found; the host's matrix product is the portable kernel alone "
                   "(Debian: apt-get install libopenblas-openmp-dev)"
    )
  endif()
endif()
