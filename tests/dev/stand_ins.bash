# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that stand in for mmdebstrap, bwrap, apt and others. Each writes its call to $calls. Sourced by dev_test.bash.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dev_test.bash sets scratch and calls

stand_in() {
    { echo '#!/usr/bin/env bash'; echo "echo \"\${0##*/} \$*\" >> '$calls'"; cat; } > "$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

make_stand_ins() {
    mkdir -p "$scratch/bin"

    # It makes the folders that ./dev looks at, or writes them as a tar to stdout. With FAKE_BOOTSTRAP it fails.
    stand_in mmdebstrap << 'END'
[[ $1 == --unshare-helper ]] && { shift; exec "$@"; }
tree=$(mktemp -d)
mkdir -p "$tree"/{etc,usr/{bin,include,src,lib/cpu/cmake/Kokkos},var/lib/dpkg}
touch "$tree/usr/lib/cpu/libkokkoscore.so" "$tree/usr/lib/cpu/libkokkossimd.a"
echo 'lib/libkokkosalgorithms.a lib/libkokkossimd.a' > "$tree/usr/lib/cpu/cmake/Kokkos/KokkosTargets-none.cmake"
sleep "${FAKE_SLEEP:-0}"
echo "I: running apt-get update..." >&2
if [[ -n ${FAKE_BOOTSTRAP:-} ]]; then echo "E: $FAKE_BOOTSTRAP" >&2; exit 1; fi
case " $* " in
    *" --format=tar "*) tar -c -C "$tree" . ;;
    *) target=${*: -2:1}; cp -r "$tree"/. "$target" ;;
esac
rm -rf "$tree"
END

    # It runs the command on this machine. ./dev's test of a new root passes unless PRUMO_FAKE_BROKEN is set.
    stand_in bwrap << 'END'
[[ -z ${FAKE_NO_NAMESPACES:-} ]] || { echo "bwrap: No permissions to create new namespace" >&2; exit 1; }
while [[ $1 == --* ]]; do
    case $1 in
        --die-with-parent) shift ;;
        --chdir) cd "$2" || exit; shift 2 ;;
        --dev | --proc | --tmpfs | --dir) shift 2 ;;
        --*bind* | --symlink) shift 3 ;;
        *) echo "stand-in bwrap: what is $1?" >&2; exit 99 ;;
    esac
done
case "$1 ${2:-}" in
    'bash -ec') [[ -z ${PRUMO_FAKE_BROKEN:-} ]] || { echo "g++: broken"; exit 1; } ;;
    'dpkg-query -W') echo 'g++ 1.0' ;;
    *) "$@" ;; # as a child, as bwrap does
esac
END

    stand_in unshare << 'END'
while [[ $1 == --* ]]; do shift; done
exec "$@"
END

    stand_in apt-get << 'END'
case $1 in
    indextargets) printf '%s\n' 'Debian-Security|http://security.example/debian-security' 'Other|http://other.example' \
        'Debian|http://near.example/debian/' 'Debian|http://near.example/debian/' ;;
    *) echo "E: this is a test"; exit 100 ;;
esac
END
    stand_in sudo <<< 'exit 1'
    stand_in apt-config <<< ':'
    stand_in newuidmap <<< ':'
    stand_in getsubids <<< ':'
}

# installed_kokkos PREFIX VERSION [DEVICES]
installed_kokkos() {
    mkdir -p "$1/lib/cmake/Kokkos"
    echo "set(PACKAGE_VERSION \"$2\")" > "$1/lib/cmake/Kokkos/KokkosConfigVersion.cmake"
    echo "SET(Kokkos_DEVICES ${3:-OPENMP})" > "$1/lib/cmake/Kokkos/KokkosConfigCommon.cmake"
    touch "$1/lib/cmake/Kokkos/KokkosConfig.cmake"
}

# A project in $scratch/source that ./dev can build in two seconds.
make_project() {
    cat > "$scratch/source/CMakePresets.json" << 'END'
{ "version": 6, "configurePresets": [
  { "name": "openmp", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}" },
  { "name": "cuda", "inherits": "openmp", "cacheVariables": { "GPU": "1" } } ] }
END
    cat > "$scratch/source/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(stand_in CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(front main.cpp)
set_target_properties(front PROPERTIES OUTPUT_NAME prumo)
enable_testing()
add_test(NAME first COMMAND front)
add_test(NAME second COMMAND front 4)
END
    mkdir -p "$scratch/source/tests/device_compilation"
    cat > "$scratch/source/tests/device_compilation/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(stand_in CXX)
add_library(device STATIC device.cpp)
add_custom_target(device_compilation)
add_dependencies(device_compilation device)
END
    echo 'int device;' > "$scratch/source/tests/device_compilation/device.cpp"
    cat > "$scratch/source/main.cpp" << 'END'
#include <cstdio>
#include <cstdlib>
int main(int argc, char** argv) {
  std::printf("prumo bind=%s", std::getenv("OMP_PROC_BIND") ? std::getenv("OMP_PROC_BIND") : "none");
  for (int i = 1; i < argc; ++i) std::printf(" %s", argv[i]);
  std::puts("");
  return argc > 1 ? std::atoi(argv[argc - 1]) : 0;
}
END
}
