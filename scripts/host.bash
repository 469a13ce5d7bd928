# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds the machine's own toolchain and Kokkos, and decides whether they can be used. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154  # here and cache are set by ./dev

kokkos_low=4.6 # the oldest Kokkos that prumo supports
kokkos_high=6  # the first that it does not

# kokkos_config PREFIX: prints the folder with Kokkos' CMake files in an installation. Returns 1 if there is none.
kokkos_config() {
    local dir
    for dir in "$1" "$1"/cmake "$1"/lib/cmake/Kokkos "$1"/lib64/cmake/Kokkos "$1"/lib/*/cmake/Kokkos "$1"/share/cmake/Kokkos; do
        if [[ -f $dir/KokkosConfig.cmake && -f $dir/KokkosConfigVersion.cmake ]]; then
            echo "$dir"
            return
        fi
    done
    return 1
}

kokkos_version() { sed -n 's/^ *set *(PACKAGE_VERSION "\([0-9.]*\)").*/\1/Ip' "$1/KokkosConfigVersion.cmake" | head -1; }

# Prints the devices as Kokkos' build recorded them, for example CUDA;OPENMP.
kokkos_devices() {
    cat "$1"/KokkosConfig*.cmake 2> /dev/null |
        sed -n 's/^ *set *(Kokkos_DEVICES "\{0,1\}\([A-Za-z;_]*\).*/\1/Ip' | head -1
}

# judge_prefix PREFIX: sets kokkos_dir. Ends ./dev unless a supported Kokkos is installed there.
judge_prefix() {
    local version
    [[ -d $1 ]] || die 2 "--kokkos: there is no folder $1."
    kokkos_dir=$(kokkos_config "$1") ||
        die 2 "--kokkos: no Kokkos is installed in $1: KokkosConfig.cmake is neither there nor under lib*/cmake/Kokkos." \
            "Name the folder that was CMAKE_INSTALL_PREFIX when Kokkos was built."
    version=$(kokkos_version "$kokkos_dir")
    version_in "${version:-0}" "$kokkos_low" "$kokkos_high" ||
        die 2 "--kokkos: $1 has Kokkos ${version:-of unknown version}; prumo needs at least $kokkos_low and less than $kokkos_high."
    host_tools || die 3 "--kokkos uses this machine's own tools, and $lacking" \
        "Install what is missing, or leave out --kokkos; ./dev then uses a Debian root."
}

# Looks for CMake, Ninja and a compiler on the PATH. Sets lacking and returns 1 if one is missing or too old.
host_tools() {
    local version
    lacking=
    have cmake || { lacking="there is no cmake (3.25 or newer)."; return 1; }
    have ninja || have ninja-build || { lacking="there is no ninja."; return 1; }
    have "${CXX:-c++}" || have g++ || have clang++ || { lacking="there is no C++ compiler (${CXX:-c++})."; return 1; }
    version=$(cmake --version | sed -n '1s/.* //p')
    version_in "$version" 3.25 1000 || { lacking="cmake is $version; 3.25 or newer is needed."; return 1; }
}

# Whether this machine has everything, so that no root is needed. The answer is kept until packages change.
host_fits() {
    [[ ${PRUMO_NO_HOST:-0} != 1 ]] || return 1
    local prefix dir="" version answer
    local path=${CMAKE_PREFIX_PATH:-}
    for prefix in ${Kokkos_DIR:-} ${Kokkos_ROOT:-} ${path//:/ } /usr/local /usr; do
        if dir=$(kokkos_config "$prefix"); then break; fi
    done
    [[ -n $dir ]] || return 1
    kokkos_dir=$dir
    version=$(kokkos_version "$dir")
    if ! version_in "${version:-0}" "$kokkos_low" "$kokkos_high" || ! host_tools; then return 1; fi
    answer=$cache/host-$(host_facts "$dir" | hash8)
    if [[ ! -f $answer ]]; then
        make_cache || die 3 "$failure"
        say "Kokkos $version is installed in $dir. Looking for the other libraries (about 3 s)."
        probe_host > "$answer.$$"
        mv "$answer.$$" "$answer"
        if [[ -s $answer ]]; then
            say "These are missing, so ./dev uses a Debian root: $(paste -sd, "$answer" | sed 's/,/, /g')."
        else
            say "All are there, so ./dev uses this machine's own tools. With --root it would use a Debian root."
        fi
    fi
    [[ ! -s $answer ]]
}

# Prints a line for each thing that is missing.
probe_host() {
    local dir
    dir=$(mktemp -d)
    if cmake -S "$here/scripts/host-probe" -B "$dir" -G Ninja "-DKokkos_DIR=$kokkos_dir" > "$dir/log" 2>&1; then
        sed -n 's/^-- lacks: //p' "$dir/log"
    else
        echo "a working CMake project ($(grep -m1 -A1 '^CMake Error' "$dir/log" | tail -1 | sed 's/^ *//'))"
    fi
    rm -rf "$dir"
}

# Prints everything on which the answer of host_fits depends.
host_facts() {
    echo "$1" "${CMAKE_PREFIX_PATH:-}" "${CXX:-}" "$PATH"
    cat "$here/scripts/host-probe/CMakeLists.txt" "$1/KokkosConfigVersion.cmake"
    "${CXX:-c++}" --version 2> /dev/null || true
    ls -ld /var/lib/dpkg/status /usr/include /usr/local/include /usr/lib/cmake /usr/lib64/cmake /usr/local/lib/cmake 2> /dev/null || true
}
