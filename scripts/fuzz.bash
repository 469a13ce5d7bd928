# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev fuzz: runs the fuzzers of the front-end. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # ./dev reads preset, and sets here and build

# Prints the fuzzers: the folders of inputs.
fuzzers() { (cd "$here/bench/prumo/tests/fuzz/corpus" && printf '%s\n' *); }

# verb_fuzz [--seconds N] [TARGET...]
verb_fuzz() {
    local seconds=3600 target
    local -a targets=()
    while [[ $# -gt 0 ]]; do
        case $1 in
            --seconds) [[ $# -gt 1 ]] || wrong "--seconds needs a number."; seconds=$2; shift ;;
            --seconds=*) seconds=${1#*=} ;;
            -*) wrong "fuzz has no option $1." ;;
            *) targets+=("$1") ;;
        esac
        shift
    done
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || wrong "--seconds needs a number of seconds, not '$seconds'."
    for target in "${targets[@]+"${targets[@]}"}"; do
        fuzzers | grep -qxF -e "$target" || wrong "There is no fuzzer '$target'. The fuzzers are: $(fuzzers | paste -sd' ')."
    done
    if [[ ${#targets[@]} -eq 0 ]]; then read -r -d '' -a targets < <(fuzzers && printf '\0') || true; fi
    preset=fuzz
    choose_place
    inside sh -c 'command -v clang++-21' > /dev/null || die 3 "The fuzzers need clang++-21. The Debian root has it: ./dev --root fuzz"
    choose_build
    lock_build
    configure
    build_targets "${targets[@]/#/fuzz-}"
    unlock_build
    for target in "${targets[@]}"; do run_fuzzer "$target" "$seconds"; done
    say "No fuzzer found anything."
}

# run_fuzzer TARGET SECONDS: starts from the inputs in the tree and those of earlier runs, and keeps new ones in the build
# folder. An input that takes 20 seconds counts as a hang.
run_fuzzer() {
    local found=$build/fuzz/$1/found inputs=$build/fuzz/$1/inputs
    mkdir -p "$found" "$inputs"
    say "Fuzzing $1 for $2 s."
    inside "$build/bin/fuzz-$1" "-max_total_time=$2" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
        "-artifact_prefix=$found/" "$inputs" "$here/bench/prumo/tests/fuzz/corpus/$1" ||
        die 1 "The fuzzer $1 found something. The input is in $found; the report is above." \
            "After the mend, put the input into bench/prumo/tests/fuzz/corpus/$1, so that tests run it."
}
