# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cases of dev_test.bash: usage, commands in a root, building.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2086,SC2154  # other shells expand some dollars; dev_test.bash sets scratch and others

# ---- usage -------------------------------------------------------------------------------------------------

test_usage() {
    local how
    for how in '' --help -h help; do
        dev 0 $how
        out_has 'usage: ./dev'
        out_has 'examples:'
        quiet
    done
}

test_wrong_use() {
    dev 2 benhc; err_has "no command 'benhc'"
    dev 2 --fast bench; err_has 'no option --fast'
    dev 2 --preset; err_has '--preset needs'
    dev 2 --kokkos; err_has '--kokkos needs'
    dev 2 --root; err_has 'command is missing'
    dev 2 --kokkos /usr --root test; err_has 'not both'
    dev 2 check; err_has 'format, tidy'
    dev 2 check everything; err_has 'everything'
    dev 2 check cuda softmax; err_has 'no further arguments'
    dev 2 root old; err_has "'old'"
    times mmdebstrap 0
}

test_kokkos_prefix() {
    dev 2 --kokkos "$scratch/nowhere" bench; err_has 'no folder'
    mkdir "$scratch/empty"
    dev 2 --kokkos "$scratch/empty" bench; err_has 'no Kokkos is installed in'
    installed_kokkos "$scratch/old" 4.5.1
    dev 2 --kokkos "$scratch/old" bench; err_has 'has Kokkos 4.5.1'
    installed_kokkos "$scratch/far" 6.0.0
    dev 2 --kokkos "$scratch/far" bench; err_has 'has Kokkos 6.0.0'
    local version
    for version in 4.6.0 4.7.1 5.2.2; do
        installed_kokkos "$scratch/fits" "$version"
        dev 0 --kokkos "$scratch/fits" shell echo here; out_has here
    done
    times mmdebstrap 0
    times bwrap 0
}

# ---- commands in a root ------------------------------------------------------------------------------------

test_environment() {
    LD_LIBRARY_PATH=/host CC=/host/cc CXX=/host/c++ CFLAGS=-host OPENBLAS_CORETYPE=host OMP_NUM_THREADS=3 PRUMO_VERBOSE=dispatch \
        KOKKOS_NUM_THREADS=2 CI=1 https_proxy=http://p PRUMO_TEXT='two words' dev 0 shell env
    local name
    for name in LD_LIBRARY_PATH CC CXX CFLAGS OPENBLAS_CORETYPE; do
        ! grep -q "^$name=" "$scratch/out" || complain "$name leaks"
    done
    for name in OMP_NUM_THREADS=3 PRUMO_VERBOSE=dispatch KOKKOS_NUM_THREADS=2 CI=1 https_proxy=http://p 'PRUMO_TEXT=two words' \
        LC_ALL=C.UTF-8 PATH=/usr/bin:/bin; do
        out_has "$name"
    done
}

test_exit_code_and_stdin() {
    dev 0 shell true
    dev 7 shell sh -c 'exit 7'
    dev 143 shell sh -c 'kill -TERM $$'
    holds [ "$(echo 'two words' | "$scratch/source/dev" shell cat)" = 'two words' ]
    mkdir "$scratch/elsewhere"
    cd "$scratch/elsewhere" || return
    dev 0 shell sh -c 'pwd; echo x > made-here'
    out_has "$scratch/elsewhere"
    holds [ -f made-here ]
}

# ---- building ----------------------------------------------------------------------------------------------

test_build_and_run() {
    make_project
    dev 0 bench --quick 0
    holds [ "$(cat "$scratch/out")" = 'prumo bind=none bench --quick 0' ] # stdout has nothing else
    err_has 'Configuring'
    err_has 'Building'
    dev 3 prumo 'two words' 3
    out_has 'two words'
    quiet
    OMP_PROC_BIND=spread dev 0 bench 0
    out_has 'bind=spread'
    dev 0 clean
    holds [ ! -d "$scratch/source/build" ]
}

test_test_command() {
    make_project
    dev 8 test
    out_has 'tests failed out of 2'
    dev 0 test -R first
    out_has '100% tests passed'
    quiet
    dev 2 test --preset none
    err_has "no preset 'none'"
    echo 'int main() { return x; }' > "$scratch/source/main.cpp"
    dev 1 test
    err_has 'The build failed'
    echo 'nonsense(' > "$scratch/source/CMakeLists.txt"
    rm -rf "$scratch/source/build"
    dev 1 test
    err_has 'could not configure'
}

test_check_device() {
    local config
    stand_in nvcc <<< '[[ -z ${FAKE_NVCC:-} ]] || { echo "error: -- unsupported GNU version!"; exit 1; }'
    dev 3 check cuda; err_has 'no Kokkos headers'
    config=$PRUMO_CACHE/roots/$(roots)/usr/include/kokkos/KokkosCore_config.h
    mkdir -p "${config%/*}"
    echo '#define KOKKOS_ENABLE_OPENMP' > "$config"
    FAKE_NVCC=broken dev 3 check cuda; err_has 'unsupported GNU version'
    dev 0 check cuda; err_has 'compiles for cuda'
    holds [ -f "$(echo "$scratch"/source/build/check-cuda-*/libdevice.a)" ]
    dev 0 check cuda; err_lacks 'Building'
    echo 'not C++' > "$scratch/source/tests/device_compilation/device.cpp"
    dev 1 check cuda; err_has 'The build failed'
    dev 1 test; err_has 'The build failed'
    dev 0 test -R first; quiet # the check is part of a full test run only
    echo '#define KOKKOS_ENABLE_CUDA' > "$config"
    dev 3 check cuda; err_has 'is built for a GPU'
}

test_check_device_without_its_compiler() {
    make_project
    inside_dev 'type() { return 1; }; device_at_hand() { find_device_compiler "$1" || echo "$lacking"; }
        CUDA_HOME=/none ROCM_PATH=/none; for device in cuda hip; do device_at_hand $device; done'
    out_has 'there is no nvcc, neither on the PATH nor in /none/bin'
    out_has 'there is no hipcc'
    inside_dev 'type() { return 1; }; CUDA_HOME=/none ROCM_PATH=/none place=host; check_devices_at_hand'
    err_has 'check cuda: skipped, there is no nvcc'
    err_has 'check hip: skipped, there is no hipcc'
    times bwrap 0
}

test_fuzz() {
    [[ -x /usr/bin/clang++-21 ]] || return 0 # it is looked for in the root, where the stand-ins are not
    local corpus=$scratch/source/bench/prumo/tests/fuzz/corpus log
    mkdir -p "$corpus"/{bad,good}
    sed -i 's/"name": "cuda"/"name": "fuzz"/' "$scratch/source/CMakePresets.json"
    printf 'add_executable(fuzz-%s fuzz.cpp)\n' bad good >> "$scratch/source/CMakeLists.txt"
    cat > "$scratch/source/fuzz.cpp" << 'END'
#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::puts(argv[i]);
  std::puts("#2\tINITED cov: 12 ft: 13\nstat::number_of_executed_units: 34");
  return std::strstr(argv[0], "bad") != nullptr ? 77 : 0;
}
END
    dev 1 fuzz --seconds 1
    err_has 'bad ended with 77'
    err_has 'These fuzzers found something, see above: bad.'
    err_has 'good: 34 inputs tried' # it is run although the first one found something
    err_has '12 places of the code reached'
    dev 0 fuzz --jobs 2 good -- -only_ascii=1
    err_has 'No fuzzer found anything'
    log=$(echo "$scratch"/source/build/fuzz-*/fuzz/good/log)
    holds grep -qx -e -max_total_time=3600 "$log"
    holds grep -qx -e -only_ascii=1 "$log"
    dev 2 fuzz ugly; err_has 'The fuzzers are: bad good'
    dev 2 fuzz --seconds 1h; err_has "not '1h'"
    dev 2 fuzz --jobs 0; err_has "not '0'"
}

test_build_folders() {
    make_project
    inside_dev 'preset=openmp; for toolchain in one two; do choose_build; echo "${build##*/}"; done
        cpu_facts() { echo another; }; choose_build; echo "${build##*/}"; choose_build; echo "${build##*/}"'
    holds [ "$(sort -u "$scratch/out" | wc -l)" -eq 3 ]
    holds grep -qE '^openmp-[0-9a-f]{8}$' "$scratch/out"
}

test_preset_follows_kokkos() {
    make_project
    sed -n '/^default_preset() {/,/^}/p' "$scratch/source/dev" > "$scratch/source/scripts/check.bash"
    installed_kokkos "$scratch/gpu" 5.0.0 '"CUDA;OPENMP"'
    installed_kokkos "$scratch/cpu" 5.0.0 'OPENMP'
    inside_dev 'place=host; for p in gpu cpu; do kokkos_dir=$here/../$p/lib/cmake/Kokkos; default_preset; done'
    holds [ "$(paste -sd' ' "$scratch/out")" = 'cuda openmp' ]
}

test_versions() {
    inside_dev 'for v in 4.5.99 4.6 4.6.00 4.10.1 5.2.2 6 6.0.0 10.1; do version_in $v 4.6 6 && echo $v; done'
    holds [ "$(paste -sd' ' "$scratch/out")" = '4.6 4.6.00 4.10.1 5.2.2' ]
}

test_package_list() {
    local name
    "$repository/scripts/list-packages" > "$scratch/out"
    for name in g++ cmake ninja-build libkokkos-dev libgtest-dev; do holds grep -qx -- "$name" "$scratch/out"; done
    ! grep -qvE '^[a-z0-9][a-z0-9+.-]+$' "$scratch/out" || complain 'a line is no package name'
}
