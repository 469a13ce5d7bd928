# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Install rules and the CMake package, in two components: prumo_development has libraries, headers and package files,
# prumo_runtime has programs.
include(CMakePackageConfigHelpers)

set(_prumo_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/prumo")

# The components that find_package(prumo COMPONENTS ...) can name; each is a target prumo::NAME. Builds without programs lack
# the last three. Other targets are exported because these link them.
set(PRUMO_COMPONENTS core backends ops prumo nets machine cases)
set(_prumo_libraries
  prumo_core prumo_kernel_flags prumo_backends prumo_ops prumo_prumo prumo_net_description prumo_nets prumo_machine prumo_cases
)
if(TARGET prumo_worker)
  list(APPEND PRUMO_COMPONENTS protocol serving worker)
  list(APPEND _prumo_libraries prumo_files prumo_protocol prumo_data prumo_net_reference prumo_inference prumo_serving prumo_worker)
endif()
if(TARGET prumo_cblas)
  # prumo::backends is a static library, so whoever links it links this, too.
  set_target_properties(prumo_cblas PROPERTIES EXPORT_NAME cblas)
  list(APPEND _prumo_libraries prumo_cblas)
endif()

install(
  TARGETS ${_prumo_libraries}
  EXPORT prumoTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT prumo_development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT prumo_development
)
install(
  EXPORT prumoTargets
  NAMESPACE prumo::
  DESTINATION "${_prumo_package_folder}"
  COMPONENT prumo_development
)

get_property(_prumo_header_folders GLOBAL PROPERTY PRUMO_HEADER_FOLDERS)
foreach(_prumo_folder IN LISTS _prumo_header_folders)
  install(
    DIRECTORY "${_prumo_folder}/prumo"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT prumo_development
    FILES_MATCHING
    PATTERN "*.hpp"
  )
endforeach()

# Workers are installed beside prumo, where it looks first. Their libraries may be anywhere, so programs keep the paths.
if(PRUMO_BUILD_BENCH)
  get_property(_prumo_programs DIRECTORY "${PROJECT_SOURCE_DIR}/bench/worker" PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER _prumo_programs INCLUDE REGEX "^prumo-worker-")
  install(TARGETS ${_prumo_programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT prumo_runtime)
  set_target_properties(${_prumo_programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  if(TARGET prumo)
    set_target_properties(prumo PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endif()

# prumo_add_case_test() compiles these sources in the project that calls it.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/case/" DESTINATION "${_prumo_package_folder}/case_test"
        COMPONENT prumo_development
)

get_property(PRUMO_OPERATIONS GLOBAL PROPERTY PRUMO_OPERATIONS)
string(JOIN " " PRUMO_KOKKOS_DEVICES ${Kokkos_DEVICES})
string(JOIN ", " PRUMO_COMPONENT_LIST ${PRUMO_COMPONENTS})
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/prumoConfig.cmake.in" "${PROJECT_BINARY_DIR}/package/prumoConfig.cmake"
  INSTALL_DESTINATION "${_prumo_package_folder}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO
)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(_prumo_compatibility SameMinorVersion) # before 1.0 every minor release may change the interface
else()
  set(_prumo_compatibility SameMajorVersion)
endif()
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/package/prumoConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}"
  COMPATIBILITY ${_prumo_compatibility}
)
install(
  FILES "${PROJECT_BINARY_DIR}/package/prumoConfig.cmake"
        "${PROJECT_BINARY_DIR}/package/prumoConfigVersion.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/PrumoKokkos.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/PrumoAddOperation.cmake"
  DESTINATION "${_prumo_package_folder}"
  COMPONENT prumo_development
)
