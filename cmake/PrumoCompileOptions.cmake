# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_compile_options(TARGET [KERNELS]): sets warnings and sanitizers. With KERNELS it also sets the flags that the vectorised
# mathematics needs.

set(_prumo_warnings -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor)
if(Kokkos_ENABLE_CUDA)
  # nvcc passes generated code to the host compiler. It is full of old casts, parentheses and line directives.
  list(APPEND _prumo_warnings -Wno-parentheses)
else()
  list(APPEND _prumo_warnings -Wpedantic -Wold-style-cast)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang warns if it does not vectorise a loop of PRUMO_INDEPENDENT_ITERATIONS, although that macro only permits it. Its
  # -Wconversion includes signs, and GCC's does not in C++. Kokkos 4 has int where Kokkos 5 has size_t.
  list(APPEND _prumo_warnings -Wno-pass-failed -Wno-sign-conversion)
endif()

function(prumo_compile_options target)
  cmake_parse_arguments(arg "KERNELS" "" "" ${ARGN})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${_prumo_warnings})
  if(PRUMO_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PRUMO_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PRUMO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    # The sanitizers add branches that make GCC report uninitialised values in correct code, for example in <regex>.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${PRUMO_SANITIZE})
  endif()
  if(arg_KERNELS)
    # -fno-math-errno and -fno-trapping-math let the compiler vectorise branches and conversions without changing a
    # result. -ffast-math would break rounding by magic numbers. Products and sums are fused only where the source
    # says fma, so that the counted flops are the ones that run.
    target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=off)
    if(Kokkos_ENABLE_CUDA)
      target_compile_options(${target} PRIVATE -fmad=false)
    endif()
    if(PRUMO_NATIVE)
      target_compile_options(${target} PRIVATE ${PRUMO_NATIVE_FLAGS})
    endif()
  endif()
endfunction()

# prumo_long_formulas(FILE...): sets flags for sources of the calling folder whose loops compute long formulas. The sources
# belong to the library of operations. GCC makes two choices that cost time. The flags avoid both and change no result.
# - On x86 GCC does not reorder instructions before it allocates registers. It computes the vectors of a chunk one after the
#   other. The processor looks some hundred instructions ahead, so it waits for each step of a polynomial.
# - If a formula bounds its argument by constants, GCC threads jumps. It computes the result for the constant at compile time,
#   and selects between it and the general result, several times in a formula. One minimum would be enough.
function(prumo_long_formulas)
  set(options "")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(options -fno-thread-jumps -fschedule-insns -fsched-pressure)
  endif()
  # The precompiled headers have other flags.
  set_source_files_properties(
    ${ARGN} TARGET_DIRECTORY prumo_ops PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

include(CheckCXXCompilerFlag)
if(PRUMO_NATIVE)
  check_cxx_compiler_flag(-march=native PRUMO_COMPILER_HAS_MARCH_NATIVE)
  check_cxx_compiler_flag(-mcpu=native PRUMO_COMPILER_HAS_MCPU_NATIVE)
  if(PRUMO_COMPILER_HAS_MARCH_NATIVE)
    set(PRUMO_NATIVE_FLAGS -march=native)
    # Compilers prefer 256-bit vectors even if 512 bits run at full speed. The kernels' inner loops are long and have no
    # branches, so the wider registers are faster wherever they exist.
    check_cxx_compiler_flag(-mprefer-vector-width=512 PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
    if(PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
      list(APPEND PRUMO_NATIVE_FLAGS -mprefer-vector-width=512)
    endif()
  elseif(PRUMO_COMPILER_HAS_MCPU_NATIVE)
    set(PRUMO_NATIVE_FLAGS -mcpu=native)
  endif()
endif()

# prumo_precompile_headers(TARGET (HEADER... | REUSE_FROM OTHER)): compiles headers of other libraries once for all sources of
# a target. Otherwise a third of the build's time goes there. REUSE_FROM needs a target with the same definitions and flags.
# Every source still includes the headers that it needs. Some builds have no precompiled headers: those for a device, and
# those through a compiler launcher such as ccache, which does not cache such compilations.
if(CMAKE_CXX_COMPILER_LAUNCHER OR Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
  set(_prumo_precompiled_headers_default OFF)
else()
  set(_prumo_precompiled_headers_default ${PROJECT_IS_TOP_LEVEL})
endif()
option(PRUMO_PRECOMPILED_HEADERS "Read the headers of libraries once for all sources" ${_prumo_precompiled_headers_default})

function(prumo_precompile_headers target)
  if(PRUMO_PRECOMPILED_HEADERS)
    if(ARGV1 STREQUAL "REUSE_FROM")
      target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()
