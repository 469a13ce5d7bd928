# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_compile_options(TARGET [KERNELS] [QUICK | TEST]): sets warnings and sanitizers. With KERNELS also
# prumo_kernel_options(), and with QUICK and TEST an optimisation that takes the compiler less time. QUICK is for what is large
# and computes little: the front-end. TEST is for tests; the programs would take twice their time with it.

set(_prumo_warnings -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor)
if(Kokkos_ENABLE_CUDA)
  # nvcc generates code for the host compiler, and this code has old-style casts, extra parentheses, line directives, and
  # types that it declares a second time.
  list(REMOVE_ITEM _prumo_warnings -Wshadow)
  list(APPEND _prumo_warnings -Wno-parentheses)
else()
  list(APPEND _prumo_warnings -Wpedantic -Wold-style-cast)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # PRUMO_INDEPENDENT_ITERATIONS permits to vectorise a loop; clang warns wherever it does not, also in code that counts
  # flops. In C++, clang's -Wconversion warns of signs and GCC's does not; Kokkos 4 has int where Kokkos 5 has size_t.
  list(APPEND _prumo_warnings -Wno-pass-failed -Wno-sign-conversion)
endif()

# nvcc takes one such option only.
set(_prumo_quick_options "")
set(_prumo_test_options "")
if(NOT Kokkos_ENABLE_CUDA)
  set(_prumo_quick_options $<$<CONFIG:Release>:-O1>)
  set(_prumo_test_options $<$<CONFIG:Release>:-Og>)
endif()

# GCC looks for memory to free whenever it has 128 MiB, and with precompiled headers it has those at once. With 384 MiB it takes
# 5 % less time. The heaviest sources have twice as much anyway.
set(_prumo_compiler_memory "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT Kokkos_ENABLE_CUDA)
  set(_prumo_compiler_memory --param=ggc-min-heapsize=393216)
endif()

function(prumo_compile_options target)
  cmake_parse_arguments(arg "KERNELS;QUICK;TEST" "" "" ${ARGN})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${_prumo_compiler_memory} ${_prumo_warnings})
  if(PRUMO_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PRUMO_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PRUMO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    # Sanitizers add branches, after which GCC warns of uninitialised values in correct code, even in <regex>.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${PRUMO_SANITIZE})
  endif()
  if(arg_QUICK)
    target_compile_options(${target} PRIVATE ${_prumo_quick_options})
  elseif(arg_TEST)
    target_compile_options(${target} PRIVATE ${_prumo_test_options})
  endif()
  if(arg_KERNELS)
    prumo_kernel_options(${target})
  endif()
endfunction()

# prumo_elements_as_words(FILE...): compiles sources of the calling folder with -fno-strict-aliasing, because they load and
# store elements as words (core/prumo/detail/word.hpp). The compiler must not assume that a word and an element are in
# different places. The attribute may_alias would tell it so, but template arguments lose it.
function(prumo_elements_as_words)
  # The precompiled headers were compiled with other flags.
  set_source_files_properties(
    ${ARGN} TARGET_DIRECTORY prumo_ops PROPERTIES COMPILE_OPTIONS -fno-strict-aliasing SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

# prumo_counting_sources(FILE...): compiles these cases of the calling folder as TEST does. It is for those that count the
# operations of many kernels: they run for milliseconds, and at full optimisation the compiler takes ten seconds for them.
function(prumo_counting_sources)
  # The precompiled headers were compiled with other flags.
  set_source_files_properties(
    ${ARGN} TARGET_DIRECTORY prumo_cases PROPERTIES COMPILE_OPTIONS "${_prumo_test_options}" SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

include(CheckCXXCompilerFlag)
if(PRUMO_NATIVE)
  check_cxx_compiler_flag(-march=native PRUMO_COMPILER_HAS_MARCH_NATIVE)
  check_cxx_compiler_flag(-mcpu=native PRUMO_COMPILER_HAS_MCPU_NATIVE)
  if(PRUMO_COMPILER_HAS_MARCH_NATIVE)
    set(PRUMO_NATIVE_FLAGS -march=native)
    # By default, compilers use 256-bit vectors even on processors that run 512 bits at full speed. The kernels' inner
    # loops are long and have no branches, so the wider vectors are faster wherever they exist.
    check_cxx_compiler_flag(-mprefer-vector-width=512 PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
    if(PRUMO_COMPILER_HAS_PREFER_VECTOR_WIDTH)
      list(APPEND PRUMO_NATIVE_FLAGS -mprefer-vector-width=512)
    endif()
  elseif(PRUMO_COMPILER_HAS_MCPU_NATIVE)
    set(PRUMO_NATIVE_FLAGS -mcpu=native)
  endif()
endif()

# The options that prumo_kernel_options() sets. With -fno-math-errno and -fno-trapping-math, the compiler vectorises branches
# and conversions; no result changes. -ffast-math would break rounding by magic numbers. -ffp-contract=off and -fmad=false
# fuse products and sums only where the source calls fma, so that the flops that run are the flops that are counted.
set(PRUMO_KERNEL_OPTIONS -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(Kokkos_ENABLE_CUDA)
  list(APPEND PRUMO_KERNEL_OPTIONS -fmad=false)
elseif(Kokkos_ENABLE_HIP)
  # AMD's compiler compiles no more functions into one that has 1100 basic blocks. Large kernels would then call their own
  # function, and each thread would have its arguments in memory instead of registers.
  check_cxx_compiler_flag(-mllvm=-amdgpu-inline-max-bb=1000000 PRUMO_COMPILER_HAS_AMDGPU_INLINE_LIMIT)
  if(PRUMO_COMPILER_HAS_AMDGPU_INLINE_LIMIT)
    list(APPEND PRUMO_KERNEL_OPTIONS -mllvm=-amdgpu-inline-max-bb=1000000)
  endif()
endif()
if(PRUMO_NATIVE)
  list(APPEND PRUMO_KERNEL_OPTIONS ${PRUMO_NATIVE_FLAGS})
endif()
set_property(GLOBAL PROPERTY PRUMO_KERNEL_OPTIONS ${PRUMO_KERNEL_OPTIONS})

# prumo_precompile_headers(TARGET (HEADER... | REUSE_FROM OTHER)): precompiles headers of libraries that most sources of the
# target include. Without this, a third of a build's time goes into reading them. REUSE_FROM takes the precompiled headers of
# a target that has the same definitions and flags. Each source still includes what it needs, because some builds do not
# precompile: those for a device, and those with a compiler launcher such as ccache, which does not cache such compilations.
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

# prumo_compile_folders_at_once(TARGET): compiles those sources of a target that are in one folder as one source. Most of a
# small source's time goes into templates of libraries that its neighbours use, too, so that it is spent once for a folder.
# Sources with options of their own are compiled alone. Call it when the target has all of its sources.
#
# PRUMO_FOLDERS_AT_ONCE is off with a compiler launcher such as ccache: who changes one source often does not want to wait for
# its folder. CI compiles what a user without ccache compiles, so it stays on there. It is off for Debug, for sanitizers and for
# devices, too, and those builds show what a source forgot to include.
if((CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED ENV{CI})
   OR CMAKE_BUILD_TYPE STREQUAL "Debug"
   OR PRUMO_SANITIZE
   OR Kokkos_ENABLE_CUDA
   OR Kokkos_ENABLE_HIP
)
  set(_prumo_folders_at_once_default OFF)
else()
  set(_prumo_folders_at_once_default ${PROJECT_IS_TOP_LEVEL})
endif()
option(PRUMO_FOLDERS_AT_ONCE "Compile the sources of a folder as one, where they hold no kernels"
       ${_prumo_folders_at_once_default}
)

function(prumo_compile_folders_at_once target)
  if(PRUMO_FOLDERS_AT_ONCE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    # tests/invariants/check_hidden_names.py looks for names that such sources must not have.
    # Those that the build generates may not be there yet.
    if(NOT source MATCHES "\\$<")
      set_property(GLOBAL APPEND_STRING PROPERTY PRUMO_SOURCES_AT_ONCE "${target} ${source}\n")
    endif()
    cmake_path(GET source PARENT_PATH group)
    string(MAKE_C_IDENTIFIER "${group}" group)
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${group}")
  endforeach()
endfunction()
