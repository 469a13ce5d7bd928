# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For backends/ and machine/, which hold a folder for each backend. PRUMO_BACKENDS lists the backends of this Kokkos,
# `generic`, which holds what all backends share, and `gpu`, which holds what CUDA and HIP share. The CMakeLists.txt of
# each folder adds its sources with target_sources(TARGET PRIVATE ...) and its libraries with target_link_libraries. The
# prumo/ directory of each folder is installed.

# prumo_add_backend_library(NAME): makes the library prumo_NAME, alias prumo::NAME, of the folders in the calling folder.
function(prumo_add_backend_library name)
  set(target prumo_${name})
  add_library(${target} STATIC)
  add_library(prumo::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PUBLIC prumo::core)
  prumo_compile_options(${target} KERNELS)
  prumo_precompile_headers(${target} REUSE_FROM prumo_core)

  foreach(backend IN LISTS PRUMO_BACKENDS)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${backend}/CMakeLists.txt")
      message(FATAL_ERROR "prumo: the Kokkos in ${Kokkos_DIR} has ${backend}, for which prumo has no backend yet; "
                          "point Kokkos_ROOT at a Kokkos for the host"
      )
    endif()
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/${backend}>")
    prumo_public_headers("${CMAKE_CURRENT_SOURCE_DIR}/${backend}")
    add_subdirectory(${backend})
  endforeach()
  foreach(backend cuda hip)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${backend}/portable/CMakeLists.txt")
      add_subdirectory(${backend}/portable)
    endif()
  endforeach()
endfunction()

# prumo_add_portable_part(TARGET BACKEND SOURCES file... [TESTS file...] [TEST_LIBRARIES target...]): adds the part of a
# backend that needs neither the vendor's compiler nor its headers, such as tables of peaks. It lies in the backend's folder
# portable/. The library has it if Kokkos has the backend, and it is tested in every build. The tests load TEST_LIBRARIES
# by path, so these are built first.
function(prumo_add_portable_part target backend)
  cmake_parse_arguments(arg "" "" "SOURCES;TESTS;TEST_LIBRARIES" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  if(backend IN_LIST PRUMO_BACKENDS)
    target_sources(${target} PRIVATE ${arg_SOURCES})
  elseif(PRUMO_BUILD_TESTS)
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATION_TESTS ${arg_SOURCES})
  endif()
  if(PRUMO_BUILD_TESTS)
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATION_TESTS ${arg_TESTS})
    set_property(GLOBAL APPEND PROPERTY PRUMO_OPERATION_TEST_LIBRARIES ${arg_TEST_LIBRARIES})
  endif()
endfunction()
