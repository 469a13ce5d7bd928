# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_compile_options(TARGET [KERNELS]): warnings and sanitizers for every target; with KERNELS also what the
# vectorised mathematics needs.

set(_prumo_warnings -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor)
if(Kokkos_ENABLE_CUDA)
  # nvcc hands the host compiler code of its own, full of old casts, parentheses and line directives.
  list(APPEND _prumo_warnings -Wno-parentheses)
else()
  list(APPEND _prumo_warnings -Wpedantic -Wold-style-cast)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # It takes the permission to vectorise (PRUMO_INDEPENDENT_ITERATIONS) for an order, even of loops that count. Signs are
  # no part of GCC's -Wconversion in C++; Kokkos 4 has int where Kokkos 5 has size_t.
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
    # The sanitizers' own branches make GCC see uninitialised values in correct code, <regex> among it.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${PRUMO_SANITIZE})
  endif()
  if(arg_KERNELS)
    prumo_kernel_options(${target})
  endif()
endfunction()

# prumo_elements_as_words(FILE...): sources of the calling folder, in the library of operations, that load and store
# elements as the words of core/prumo/detail/word.hpp. Compilers may not take words and elements for different memory
# there. The attribute may_alias would say so of a type, but templates drop it from their arguments.
function(prumo_elements_as_words)
  # Other flags than the precompiled headers'.
  set_source_files_properties(
    ${ARGN} TARGET_DIRECTORY prumo_ops PROPERTIES COMPILE_OPTIONS -fno-strict-aliasing SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

include(CheckCXXCompilerFlag)
if(PRUMO_NATIVE)
  check_cxx_compiler_flag(-march=native PRUMO_COMPILER_HAS_MARCH_NATIVE)
  check_cxx_compiler_flag(-mcpu=native PRUMO_COMPILER_HAS_MCPU_NATIVE)
  if(PRUMO_COMPILER_HAS_MARCH_NATIVE)
    set(PRUMO_NATIVE_FLAGS -march=native)
    # Compilers prefer 256-bit vectors even where 512 bits run at full speed. The kernels' inner loops are long and
    # branch-free, so the wider registers pay wherever they exist.
    check_cxx_compiler_flag(-mprefer-vector-width=512 PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
    if(PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
      list(APPEND PRUMO_NATIVE_FLAGS -mprefer-vector-width=512)
    endif()
  elseif(PRUMO_COMPILER_HAS_MCPU_NATIVE)
    set(PRUMO_NATIVE_FLAGS -mcpu=native)
  endif()
endif()

# What prumo_kernel_options() gives to operations, those of other projects among them. -fno-math-errno and
# -fno-trapping-math let the compiler vectorise branches and conversions without changing a result; -ffast-math would
# break rounding by magic numbers. Products and sums are fused only where the source says fma, so that counted flops are
# what runs.
set(PRUMO_KERNEL_OPTIONS -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(Kokkos_ENABLE_CUDA)
  list(APPEND PRUMO_KERNEL_OPTIONS -fmad=false)
endif()
if(PRUMO_NATIVE)
  list(APPEND PRUMO_KERNEL_OPTIONS ${PRUMO_NATIVE_FLAGS})
endif()
set_property(GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS ${PRUMO_KERNEL_OPTIONS})

# prumo_precompile_headers(TARGET (HEADER... | REUSE_FROM OTHER)): the libraries' headers that most of a target's sources
# include are read once for all of them; a third of the time of a build goes there otherwise. REUSE_FROM wants a target
# with the same definitions and flags. The sources include what they need all the same: builds without (for a device, or through a compiler launcher such as ccache, which keeps no
# results of such compilations) would fail.
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
