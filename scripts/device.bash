# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev check cuda | hip compiles everything that runs on a GPU, without linking it. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # ./dev reads lacking, and sets here, place, root and others
#
# The compiler is the host's, because nvcc needs an older C library than the root's, and ROCm is too large for the root. Kokkos'
# headers come from the root or the host, as chosen; tests/device_compilation adapts them to the device.

# Sets device_compiler. If this machine cannot compile for the device, it sets lacking and returns 1.
find_device_compiler() {
    local name=nvcc home=${CUDA_HOME:-/usr/local/cuda}
    if [[ $1 == hip ]]; then name=hipcc home=${ROCM_PATH:-/opt/rocm}; fi
    device_compiler=$(type -P "$name" || type -P "$home/bin/$name") ||
        { lacking="there is no $name, neither on the PATH nor in $home/bin."; return 1; }
    host_tools
}

# The compiler may not support a very new g++ or C library. Then the check is skipped instead of failing.
device_compiler_works() {
    local dir answer=0 header=cuda_runtime.h
    local -a how=(-x cu -ccbin "${CXX:-c++}")
    if [[ $1 == hip ]]; then header=hip/hip_runtime.h how=(-x hip --offload-arch=gfx942); fi
    dir=$(mktemp -d)
    printf '#include <%s>\n#include <vector>\n__global__ void kernel() {}\n' "$header" > "$dir/empty.cpp"
    "$device_compiler" "${how[@]}" -std=c++20 -c "$dir/empty.cpp" -o "$dir/empty.o" > "$dir/log" 2>&1 || answer=1
    [[ $answer -eq 0 ]] || lacking="$device_compiler does not work with this machine's g++ and C library: $(grep -im1 error "$dir/log" || tail -1 "$dir/log")"
    rm -rf "$dir"
    return "$answer"
}

# Sets headers: the folder with the headers of the chosen Kokkos.
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
        { lacking="the Kokkos in $headers is built for a GPU; this check needs the headers of a Kokkos built for the host."; return 1; }
}

# check_device DEVICE: sets lacking and returns 1 if this machine cannot check. Ends ./dev if something does not compile.
check_device() {
    find_device_compiler "$1" && find_kokkos_headers || return
    local build place=host # the commands below run on the host
    local -a args=(-S "$here/tests/device_compilation" -G Ninja "-DPRUMO_DEVICE=$1" "-DPRUMO_KOKKOS_INCLUDE=$headers")
    if [[ $1 == cuda ]]; then args+=("-DPRUMO_NVCC=$device_compiler"); else args+=("-DCMAKE_CXX_COMPILER=$device_compiler"); fi
    build=$(build_folders)/check-$1-$({ echo "${CXX:-}"; "$device_compiler" --version; } | hash8)
    args+=(-B "$build")
    lock_build
    if ! configured_with "${args[@]}"; then
        device_compiler_works "$1" || { unlock_build; return 1; }
        run_cmake "the check for $1" "${args[@]}"
    fi
    build_targets -k 0 device_compilation
    unlock_build
}

# Runs the checks that this machine can run, for ./dev test. It says which ones are skipped.
check_devices_at_hand() {
    local device
    for device in cuda hip; do
        check_device "$device" || say "check $device: skipped, $lacking"
    done
}
