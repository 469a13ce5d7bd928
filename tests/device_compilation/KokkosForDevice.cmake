# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prumo_kokkos_for_device(DEVICE INCLUDE): a target Kokkos::kokkos and the variables that find_package(Kokkos) sets,
# made from the headers in the folder INCLUDE of a Kokkos that was built for the host. Those of the GPU backends are
# installed with it; which backends count is told by a few configuration headers. Copies of these, with the device
# added, come first on the include path. There is no library: what uses this compiles and does not link.

set(_prumo_cuda_header_name CUDA)
set(_prumo_cuda_setup_header Cuda)
set(_prumo_cuda_macros ENABLE_CUDA ARCH_HOPPER ARCH_HOPPER90)
set(_prumo_hip_header_name HIP)
set(_prumo_hip_setup_header HIP)
set(_prumo_hip_macros ENABLE_HIP ARCH_AMD_GFX942)

# Switches "#undef PREFIX_MACRO" comments of a configuration header into definitions.
function(_prumo_define_macros in out prefix)
  file(READ "${in}" text)
  foreach(macro IN LISTS ARGN)
    if(NOT text MATCHES "/\\* #undef ${prefix}_${macro} \\*/")
      message(FATAL_ERROR "${in} does not mention ${prefix}_${macro}: this Kokkos is built for a device, or a version "
                          "whose configuration looks different"
      )
    endif()
    string(REPLACE "/* #undef ${prefix}_${macro} */" "#define ${prefix}_${macro}" text "${text}")
  endforeach()
  file(CONFIGURE OUTPUT "${out}" CONTENT "${text}" @ONLY)
endfunction()

# Adds an #include before the last #endif; the host's spaces, which the header names already, must come first.
function(_prumo_add_include in out header)
  file(READ "${in}" text)
  string(REGEX REPLACE "#endif[^#]*$" "#include <${header}>\n#endif\n" text "${text}")
  file(CONFIGURE OUTPUT "${out}" CONTENT "${text}" @ONLY)
endfunction()

function(prumo_kokkos_for_device device include)
  if(NOT DEFINED _prumo_${device}_macros)
    message(FATAL_ERROR "PRUMO_DEVICE is cuda or hip, not '${device}'")
  endif()
  if(NOT EXISTS "${include}/KokkosCore_config.h")
    message(FATAL_ERROR "PRUMO_KOKKOS_INCLUDE: there is no KokkosCore_config.h in '${include}'")
  endif()
  set(name ${_prumo_${device}_header_name})
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/kokkos")
  set_property(
    DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${include}/KokkosCore_config.h"
  )
  _prumo_define_macros(
    "${include}/KokkosCore_config.h" "${generated}/KokkosCore_config.h" KOKKOS ${_prumo_${device}_macros}
  )
  _prumo_define_macros(
    "${include}/desul/atomics/Config.hpp" "${generated}/desul/atomics/Config.hpp" DESUL_ATOMICS ENABLE_${name}
  )
  foreach(pair IN ITEMS "Fwd|fwd/Kokkos_Fwd_${name}" "Declare|decl/Kokkos_Declare_${name}"
                        "Setup|setup/Kokkos_Setup_${_prumo_${device}_setup_header}"
  )
    string(REPLACE "|" ";" pair "${pair}")
    list(GET pair 0 kind)
    list(GET pair 1 header)
    set(set_header KokkosCore_Config_${kind}Backend.hpp)
    _prumo_add_include("${include}/${set_header}" "${generated}/${set_header}" ${header}.hpp)
  endforeach()

  file(STRINGS "${include}/KokkosCore_config.h" parts REGEX "KOKKOS_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM parts REPLACE ".* " "")
  string(REPLACE ";" "." version "${parts}")
  add_library(Kokkos::kokkos INTERFACE IMPORTED GLOBAL)
  target_include_directories(Kokkos::kokkos SYSTEM INTERFACE "${generated}" "${include}")
  target_compile_features(Kokkos::kokkos INTERFACE cxx_std_20)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_compile_options(Kokkos::kokkos INTERFACE ${OpenMP_CXX_FLAGS})
  set(Kokkos_VERSION ${version} PARENT_SCOPE)
  set(Kokkos_DIR "${include}" PARENT_SCOPE)
  set(Kokkos_DEVICES "${name};OPENMP" PARENT_SCOPE)
  set(Kokkos_ENABLE_${name} ON PARENT_SCOPE)
  set(Kokkos_ENABLE_OPENMP ON PARENT_SCOPE)
endfunction()
