#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# dev_test.bash [CASE ...]: tests of ./dev, all of them if none is named. Each runs in a folder of its own, with a
# copy of dev and stand-ins for what needs network or privileges.
set -uo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=${tests%/tests/dev}
# shellcheck source=tests/dev/stand_ins.bash
source "$tests/stand_ins.bash"

# ---- the little that a test needs --------------------------------------------------------------------------

failed=0
complain() {
    printf '%s\n' "FAILED: $*" "--- stdout" "$(cat "$scratch/out")" "--- stderr" "$(cat "$scratch/err")" "--- calls" "$(cat "$calls")"
    failed=1
}
dev() { # dev STATUS ARGUMENTS...: runs ./dev, whose exit code must be STATUS
    local expected=$1 status=0
    shift
    "$scratch/source/dev" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
    [[ $status -eq $expected ]] || complain "./dev $* ended with $status, not $expected"
}
out_has() { grep -qF -- "$1" "$scratch/out" || complain "stdout lacks: $1"; }
err_has() { grep -qF -- "$1" "$scratch/err" || complain "stderr lacks: $1"; }
err_lacks() { ! grep -qF -- "$1" "$scratch/err" || complain "stderr has: $1"; }
quiet() { [[ ! -s $scratch/err ]] || complain "stderr is not empty"; }
calls_of() { grep -c "^$1 " "$calls"; }
times() { [[ $(calls_of "$1") -eq $2 ]] || complain "$1 was called $(calls_of "$1") times, not $2"; }
holds() { "$@" || complain "not so: $*"; }
roots() { find "$PRUMO_CACHE/roots" -mindepth 1 -maxdepth 1 -printf '%f\n' 2> /dev/null | sort; }
number_of_roots() { [[ $(roots | wc -l) -eq $1 ]] || complain "roots are: $(roots | paste -sd' '), not $1"; }
nothing_half_made() { ! compgen -G "$PRUMO_CACHE/making.*" | grep -qv '\.log$' || complain "a half-made root is left"; }
another_list() { echo "xz-utils" >> "$scratch/source/scripts/packages"; }
# ./dev's functions in a shell of their own: inside_dev 'COMMANDS'
inside_dev() {
    # shellcheck disable=SC2016
    bash -c 'here=$1 cache=$PRUMO_CACHE; for part in common root needs enter host build check; do
        source "$here/scripts/$part.bash"; done; '"$1" - "$scratch/source" > "$scratch/out" 2> "$scratch/err"
}

# ---- usage -------------------------------------------------------------------------------------------------

test_usage() {
    local how
    for how in '' --help -h help; do
        # shellcheck disable=SC2086
        dev 0 $how
        out_has 'usage: ./dev'
        out_has 'examples:'
        quiet
    done
}

test_wrong_use() {
    dev 2 benhc; err_has "no verb 'benhc'"
    dev 2 --fast bench; err_has 'no option --fast'
    dev 2 --preset; err_has '--preset wants'
    dev 2 --kokkos; err_has '--kokkos wants'
    dev 2 --root; err_has 'verb is missing'
    dev 2 --kokkos /usr --root test; err_has 'exclude each other'
    dev 2 check; err_has 'format, tidy'
    dev 2 check everything; err_has 'everything'
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

# ---- making and choosing roots -----------------------------------------------------------------------------

test_first_root() {
    dev 0 shell echo inside
    out_has inside
    err_has 'Making a Debian sid root'
    number_of_roots 1
    nothing_half_made
    local root
    root=$PRUMO_CACHE/roots/$(roots)
    holds [ -s "$root/etc/prumo/versions" ]
    holds grep -q '^mirror http://near.example/debian$' "$root/etc/prumo/root"
    holds [ "$(wc -c < "$root/usr/lib/cpu/libkokkosalgorithms.a")" -eq 8 ] # the archive that Debian forgot
    holds [ "$(wc -c < "$root/usr/lib/cpu/libkokkossimd.a")" -eq 0 ]       # what is there stays as it is
    dev 0 shell true
    quiet
    times mmdebstrap 1
    dev 0 root
    out_has 'g++ 1.0'
}

test_half_made_root_is_not_used() {
    local key
    key=$(inside_dev root_key && cat "$scratch/out")
    mkdir -p "$PRUMO_CACHE/making.abcdef/usr/bin" "$PRUMO_CACHE/roots/$key-20990101T000000/etc"
    dev 0 shell true
    err_has 'Making a Debian sid root'
    nothing_half_made
    dev 0 root
    out_has "$key"
    ! grep -q 2099 "$scratch/out" || complain 'the half-made root is used'
    number_of_roots 1
}

test_failing_without_any_root() {
    FAKE_BOOTSTRAP='Could not resolve host near.example' dev 3 shell true
    err_has 'does not answer'
    err_has 'making.log'
    times mmdebstrap 2 # the machine's mirror, then the public one
    number_of_roots 0
    nothing_half_made
    dev 0 shell true # and the next start tries again
    number_of_roots 1
}

test_last_good_root_is_kept() {
    dev 0 shell true
    local first
    first=$(roots)
    another_list
    FAKE_BOOTSTRAP='unmet dependencies' dev 0 shell echo inside
    out_has inside
    err_has "last good root, $first"
    err_has 'snapshot.debian.org'
    times mmdebstrap 3
    FAKE_BOOTSTRAP='unmet dependencies' dev 0 shell echo again
    out_has again
    times mmdebstrap 3 # not at every start
    holds [ "$(roots)" = "$first" ]
    dev 0 root new
    number_of_roots 1
    holds [ "$(roots)" != "$first" ]
}

test_broken_root_is_not_kept() {
    PRUMO_FAKE_BROKEN=1 dev 3 shell true
    err_has 'g++: broken'
    number_of_roots 0
    nothing_half_made
}

test_old_root_goes_unless_in_use() {
    dev 0 shell true
    local first lock
    first=$(roots)
    exec {lock}< "$PRUMO_CACHE/roots/$first"
    flock -s "$lock"
    another_list
    dev 0 shell true
    number_of_roots 2
    exec {lock}<&-
    sleep 1 # names are by the second
    dev 0 root new
    number_of_roots 1
}

test_two_at_once() {
    FAKE_SLEEP=1 "$scratch/source/dev" shell true > /dev/null 2>&1 &
    sleep 0.5
    dev 0 shell echo second
    wait
    out_has second
    err_has 'Another ./dev is making the root'
    times mmdebstrap 1
    number_of_roots 1
}

test_killed_while_making() {
    FAKE_SLEEP=30 "$scratch/source/dev" shell true > /dev/null 2>&1 &
    sleep 1
    kill -KILL $! && wait $! 2> /dev/null
    dev 0 shell echo next
    out_has next
    number_of_roots 1
    nothing_half_made
}

test_mirrors() {
    inside_dev mirrors
    holds [ "$(paste -sd' ' "$scratch/out")" = 'http://near.example/debian http://deb.debian.org/debian' ]
    PRUMO_MIRROR=http://mine.example/d inside_dev mirrors
    holds [ "$(cat "$scratch/out")" = 'http://mine.example/d' ]
}

# ---- machines that cannot ----------------------------------------------------------------------------------

test_no_namespaces() {
    FAKE_NO_NAMESPACES=1 dev 3 shell true
    err_has 'No permissions to create new namespace'
    err_has 'What may help'
    times mmdebstrap 0
}

test_no_room() {
    PRUMO_ROOT_KB=999999999999 dev 3 shell true
    err_has 'Too little room'
    err_has 'PRUMO_CACHE'
    times mmdebstrap 0
}

test_cache_cannot_be_written() {
    touch "$scratch/file"
    PRUMO_CACHE=$scratch/file/cache dev 3 shell true
    err_has 'Cannot write to'
}

test_missing_tools_are_named() {
    # shellcheck disable=SC2016
    inside_dev 'mkdir -p "$cache"; have() { [[ $1 != mmdebstrap && $1 != bwrap ]] && type -P "$1" > /dev/null; }
        need_tools || echo "$failure"'
    out_has 'mmdebstrap bubblewrap'
    out_has 'apt' # what to type as a user; that apt failed as root
    # shellcheck disable=SC2016
    inside_dev 'have() { false; }; need_tools || echo "$failure"'
    out_has 'package manager'
    # shellcheck disable=SC2016
    inside_dev 'uname() { echo Darwin; }; need_tools || echo "$failure"'
    out_has '--kokkos PREFIX'
}

test_failures_are_explained() {
    mkdir -p "$PRUMO_CACHE"
    local line
    while IFS='|' read -r line expected; do
        echo "$line" > "$PRUMO_CACHE/making.log"
        # shellcheck disable=SC2016
        inside_dev 'explain_log http://m.example; echo "$failure"'
        out_has "$expected"
    done << 'END'
E: Write error - write (28: No space left on device)|disk is full
Err:1 http://m.example sid InRelease Could not connect to m.example:80|http://m.example does not answer
W: GPG error: NO_PUBKEY 648ACFD622F3D138|debian-archive-keyring
 libkokkos-dev : unmet dependencies.|snapshot.debian.org
E: newuidmap 123 failed|user namespaces
E: Failed to fetch http://m.example/x.deb 404 Not Found|does not have all of sid
something else|something else
END
}

# ---- what runs inside --------------------------------------------------------------------------------------

test_environment() {
    LD_LIBRARY_PATH=/host CC=/host/cc CXX=/host/c++ CFLAGS=-host OPENBLAS_CORETYPE=host OMP_NUM_THREADS=3 PRUMO_VERBOSE=dispatch \
        KOKKOS_NUM_THREADS=2 CI=1 https_proxy=http://p 'PRUMO_TEXT=two words' dev 0 shell env
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

test_terminate_reaches_the_command() {
    dev 0 shell true
    # shellcheck disable=SC2016
    "$scratch/source/dev" shell bash -c 'trap "echo ended > $0; exit 5" TERM; echo > $0.ready; while :; do sleep 0.1; done' \
        "$scratch/flag" > "$scratch/out" 2>&1 &
    local i status=0
    for ((i = 0; i < 50; i++)); do [[ -f $scratch/flag.ready ]] && break; sleep 0.1; done
    kill -TERM $!
    wait $! || status=$?
    # The stand-in for bwrap becomes the command, which therefore is the process that ./dev started: there is none below.
    holds [ "$status" -eq 5 ] || holds [ "$status" -eq 143 ]
}

# ---- building ----------------------------------------------------------------------------------------------

test_build_and_run() {
    make_project
    dev 0 bench --quick 0
    holds [ "$(cat "$scratch/out")" = 'prumo bind=close bench --quick 0' ] # and nothing else
    err_has 'Configuring'
    err_has 'Building'
    dev 3 prumo 'two words' 3
    out_has 'two words'
    quiet
    OMP_PROC_BIND=spread dev 0 bench 0
    out_has 'bind=spread'
    rm -f "$scratch/err.2"
    dev 0 clean
    holds [ ! -d "$scratch/source/build" ]
}

test_test_verb() {
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

test_build_folders() {
    make_project
    # shellcheck disable=SC2016
    inside_dev 'preset=openmp; for toolchain in one two; do choose_build; echo "${build##*/}"; done
        cpu_facts() { echo another; }; choose_build; echo "${build##*/}"; choose_build; echo "${build##*/}"'
    holds [ "$(sort -u "$scratch/out" | wc -l)" -eq 3 ]
    holds grep -qE '^openmp-[0-9a-f]{8}$' "$scratch/out"
}

test_preset_follows_kokkos() {
    make_project
    # shellcheck disable=SC2016
    sed -n '/^default_preset() {/,/^}/p' "$scratch/source/dev" > "$scratch/source/scripts/check.bash"
    installed_kokkos "$scratch/gpu" 5.0.0 '"CUDA;OPENMP"'
    installed_kokkos "$scratch/cpu" 5.0.0 'OPENMP'
    # shellcheck disable=SC2016
    inside_dev 'place=host; for p in gpu cpu; do kokkos_dir=$here/../$p/lib/cmake/Kokkos; default_preset; done'
    holds [ "$(paste -sd' ' "$scratch/out")" = 'cuda openmp' ]
}

test_versions() {
    # shellcheck disable=SC2016
    inside_dev 'for v in 4.5.99 4.6 4.6.00 4.10.1 5.2.2 6 6.0.0 10.1; do version_in $v 4.6 6 && echo $v; done'
    holds [ "$(paste -sd' ' "$scratch/out")" = '4.6 4.6.00 4.10.1 5.2.2' ]
}

test_package_list() {
    local name
    "$repository/scripts/list-packages" > "$scratch/out"
    for name in g++ cmake ninja-build libkokkos-dev libgtest-dev; do holds grep -qx -- "$name" "$scratch/out"; done
    ! grep -qvE '^[a-z0-9][a-z0-9+.-]+$' "$scratch/out" || complain 'something is no package name'
}

# ---- run ---------------------------------------------------------------------------------------------------

run_case() {
    scratch=$(mktemp -d)
    calls=$scratch/calls
    touch "$calls" "$scratch/out" "$scratch/err"
    mkdir "$scratch/source"
    cp -r "$repository/dev" "$repository/scripts" "$scratch/source/"
    make_stand_ins
    make_project
    local name
    for name in $(compgen -e | grep -E '^(PRUMO|Kokkos|CMAKE|OMP)_'; echo CI CXX CC MAKEFLAGS); do unset "$name"; done
    export PRUMO_CACHE=$scratch/cache PATH=$scratch/bin:$PATH PRUMO_ROOT_MARK=$scratch/none PRUMO_NO_HOST=1 PRUMO_ROOT_KB=1000
    cd "$scratch" || exit
    "test_$1"
    cd / && rm -rf "$scratch"
    return "$failed"
}

if [[ $# -eq 0 ]]; then
    mapfile -t cases < <(sed -n 's/^test_\([a-z_]*\)().*/\1/p' "${BASH_SOURCE[0]}")
else
    cases=("$@")
fi
status=0
for case in "${cases[@]}"; do
    if (run_case "$case"); then echo "passed  $case"; else echo "failed  $case"; status=1; fi
done
exit "$status"
