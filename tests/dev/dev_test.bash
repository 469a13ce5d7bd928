#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# dev_test.bash [CASE ...]: runs the tests of ./dev, or only those named. Each runs in a folder of its own, with a copy of
# ./dev and with stand-ins for programs that need the network or privileges.
# shellcheck disable=SC2317  # the cases call most functions here
set -uo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=${tests%/tests/dev}
# shellcheck source=tests/dev/stand_ins.bash
source "$tests/stand_ins.bash"
# shellcheck source=tests/dev/use_cases.bash
source "$tests/use_cases.bash"
# shellcheck source=tests/dev/signal_cases.bash
source "$tests/signal_cases.bash"
# shellcheck source=tests/dev/cache_cases.bash
source "$tests/cache_cases.bash"
# shellcheck source=tests/dev/root_cases.bash
source "$tests/root_cases.bash"

# ---- functions that the cases use --------------------------------------------------------------------------

failed=0
complain() {
    printf '%s\n' "FAILED: $*" "--- stdout" "$(cat "$scratch/out")" "--- stderr" "$(cat "$scratch/err")" "--- calls" "$(cut -c1-150 "$calls")"
    failed=1
}
dev() { # dev STATUS ARGUMENTS...: runs ./dev and complains unless its exit code is STATUS
    local expected=$1 status=0
    shift
    "$scratch/source/dev" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
    [[ $status -eq $expected ]] || complain "./dev $* ended with $status, not $expected"
}
out_has() { grep -qF -- "$1" "$scratch/out" || complain "stdout lacks: $1"; }
err_has() { grep -qF -- "$1" "$scratch/err" || complain "stderr lacks: $1"; }
err_lacks() { ! grep -qF -- "$1" "$scratch/err" || complain "stderr has: $1"; }
quiet() { [[ ! -s $scratch/err ]] || complain "stderr is not empty"; }
calls_of() { grep "^$1 " "$calls" | grep -vc -- --unshare-helper; } # a helper of ordinary users for removing files
times() { [[ $(calls_of "$1") -eq $2 ]] || complain "$1 was called $(calls_of "$1") times, not $2"; }
holds() { "$@" || complain "this is false: $*"; }
roots() { find "$PRUMO_CACHE/roots" -mindepth 1 -maxdepth 1 -printf '%f\n' 2> /dev/null | sort; }
number_of_roots() { [[ $(roots | wc -l) -eq $1 ]] || complain "roots are: $(roots | paste -sd' '), not $1"; }
nothing_half_made() { ! compgen -G "$PRUMO_CACHE/making.*" | grep -qv '\.log$' || complain "a half-made root is left"; }
another_list() { echo "xz-utils" >> "$scratch/source/scripts/packages"; }
# inside_dev 'COMMANDS': runs them in a shell that has ./dev's functions.
inside_dev() {
    # shellcheck disable=SC2016
    bash -c 'here=$1 cache=$PRUMO_CACHE; for part in common cache root needs enter host build check device; do
        source "$here/scripts/$part.bash"; done; '"$1" - "$scratch/source" > "$scratch/out" 2> "$scratch/err"
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
    mapfile -t cases < <(declare -F | sed -n 's/^declare -f test_//p')
else
    cases=("$@")
fi
status=0
for case in "${cases[@]}"; do
    if (run_case "$case"); then echo "passed  $case"; else echo "failed  $case"; status=1; fi
done
exit "$status"
