# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev check cuda | hip: what runs on a GPU, compiled for it and not linked. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # lacking is read, here, place, root and others are set by ./dev
#
# The compiler is the host's: nvcc wants an older C library than the root's, and ROCm is too large for the root. Kokkos'
# headers are those of the chosen place; tests/device_compilation makes them fit the device.

# Sets device_compiler; sets lacking and returns 1 where this machine cannot compile for the device.
find_device_compiler() {
    local name=nvcc home=${CUDA_HOME:-/usr/local/cuda}
    if [[ $1 == hip ]]; then name=hipcc home=${ROCM_PATH:-/opt/rocm}; fi
    device_compiler=$(type -P "$name" || type -P "$home/bin/$name") ||
        { lacking="there is no $name, neither on the PATH nor in $home/bin."; return 1; }
    host_tools
}

# A new g++ or C library may be too new for the compiler, which is nobody's fault here.
device_compiler_works() {
    local dir answer=0 header=cuda_runtime.h
    local -a how=(-x cu -ccbin "${CXX:-c++}")
    if [[ $1 == hip ]]; then header=hip/hip_runtime.h how=(-x hip --offload-arch=gfx942); fi
    dir=$(mktemp -d)
    printf '#include <%s>\n#include <vector>\n__global__ void kernel() {}\n' "$header" > "$dir/empty.cpp"
    "$device_compiler" "${how[@]}" -std=c++20 -c "$dir/empty.cpp" -o "$dir/empty.o" > "$dir/log" 2>&1 || answer=1
    [[ $answer -eq 0 ]] || lacking="$device_compiler does not work with what this machine has: $(grep -im1 error "$dir/log" || tail -1 "$dir/log")"
    rm -rf "$dir"
    return "$answer"
}

# Sets headers: the folder with those of the chosen place's Kokkos.
find_kokkos_headers() {
    local dir include
    case $place in
        root) dir=$root/usr/lib ;;
        *) dir=${kokkos_dir:-/usr/lib} ;;
    esac
    headers=
    while [[ -z $headers && $dir == /?* ]]; do
        dir=${dir%/*}
        for include in "$dir/include" "$dir/include/kokkos"; do
            if [[ -f $include/KokkosCore_config.h ]]; then headers=$include; fi
        done
    done
    [[ -n $headers ]] || { lacking="there are no Kokkos headers near ${kokkos_dir:-${root:-/usr}}."; return 1; }
    ! grep -qE '^#define KOKKOS_ENABLE_(CUDA|HIP|SYCL)( |$)' "$headers/KokkosCore_config.h" ||
        { lacking="the Kokkos in $headers is built for a GPU itself; the headers of one for the host are needed."; return 1; }
}

# check_device DEVICE: sets lacking and returns 1 where this machine cannot; ends ./dev where something does not compile.
check_device() {
    find_device_compiler "$1" && find_kokkos_headers || return
    local build place=host # from here on
    local -a args=(-S "$here/tests/device_compilation" -G Ninja "-DPRUMO_DEVICE=$1" "-DPRUMO_KOKKOS_INCLUDE=$headers")
    if [[ $1 == cuda ]]; then args+=("-DPRUMO_NVCC=$device_compiler"); else args+=("-DCMAKE_CXX_COMPILER=$device_compiler"); fi
    build=${PRUMO_BUILD_DIR:-$here/build}/check-$1-$({ echo "${CXX:-}"; "$device_compiler" --version; } | hash8)
    args+=(-B "$build")
    lock_build
    if ! configured_with "${args[@]}"; then
        device_compiler_works "$1" || { unlock_build; return 1; }
        run_cmake "the check for $1" "${args[@]}"
    fi
    build_targets -k 0 device_compilation
    unlock_build
}

# A part of ./dev test: what the machine can check is checked, of the rest there is a word.
check_devices_at_hand() {
    local device
    for device in cuda hip; do
        check_device "$device" || say "check $device: skipped, $lacking"
    done
}
