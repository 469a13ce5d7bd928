# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev fuzz: runs the fuzzers of the front-end. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # ./dev reads preset, and sets here and build

# Prints the fuzzers: the folders of inputs.
fuzzers() { (cd "$here/bench/prumo/tests/fuzz/corpus" && printf '%s\n' *); }

# verb_fuzz [--seconds N] [--jobs N] [TARGET...] [-- OPTION...]
verb_fuzz() {
    local seconds=3600 jobs target
    local -a targets=() options=()
    jobs=$(cores)
    while [[ $# -gt 0 ]]; do
        case $1 in
            --seconds) [[ $# -gt 1 ]] || wrong "--seconds needs a number."; seconds=$2; shift ;;
            --seconds=*) seconds=${1#*=} ;;
            --jobs) [[ $# -gt 1 ]] || wrong "--jobs needs a number."; jobs=$2; shift ;;
            --jobs=*) jobs=${1#*=} ;;
            --) shift; options=("$@"); break ;;
            -*) wrong "fuzz has no option $1." ;;
            *) targets+=("$1") ;;
        esac
        shift
    done
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || wrong "--seconds needs a number of seconds, not '$seconds'."
    [[ $jobs =~ ^[1-9][0-9]*$ ]] || wrong "--jobs needs a number of fuzzers, not '$jobs'."
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
    run_fuzzers
}

# run_fuzzers: runs the targets, several at a time. One that finds something does not end the others.
run_fuzzers() {
    local target process
    local -a processes=() found=()
    say "Fuzzing ${targets[*]}, each for $seconds s and $jobs at a time. Their output is in $build/fuzz/TARGET/log."
    trap 'end_fuzzers; exit 130' INT
    trap 'end_fuzzers; exit 143' TERM HUP
    for target in "${targets[@]}"; do
        while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do sleep 0.5; done
        run_fuzzer "$target" &
        processes+=($!)
    done
    local i
    for ((i = 0; i < ${#targets[@]}; i++)); do
        wait "${processes[i]}" || found+=("${targets[i]}")
    done
    trap - INT TERM HUP
    [[ ${#found[@]} -eq 0 ]] || die 1 "These fuzzers found something, see above: ${found[*]}." \
        "After the mend, put the inputs into bench/prumo/tests/fuzz/corpus/TARGET, so that tests run them."
    say "No fuzzer found anything."
}

end_fuzzers() {
    local -a running=()
    read -r -d '' -a running < <(jobs -rp && printf '\0') || true
    [[ ${#running[@]} -eq 0 ]] || kill "${running[@]}" 2> /dev/null || true # bwrap ends the fuzzers with them
}

# run_fuzzer TARGET: starts from the inputs in the tree and those of earlier runs, and keeps new ones in the build folder. An
# input that takes 20 seconds counts as a hang.
run_fuzzer() {
    local folder=$build/fuzz/$1 status=0
    mkdir -p "$folder/found" "$folder/inputs"
    # The time is taken inside, because bwrap does not hand it on.
    inside bash -c 'TIMEFORMAT=%0U; time "$@" > "$0" 2>&1' "$folder/log" "$build/bin/fuzz-$1" "-max_total_time=$seconds" -timeout=20 \
        -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 "-artifact_prefix=$folder/found/" \
        "${options[@]+"${options[@]}"}" "$folder/inputs" "$here/bench/prumo/tests/fuzz/corpus/$1" \
        2> "$folder/processor_seconds" || status=$?
    if [[ $status -ne 0 ]]; then
        say "$1 ended with $status. The input is in $folder/found, unless it needs none. The end of its output:"
        tail -n 40 "$folder/log" >&2
        return 1
    fi
    say "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log") inputs tried" \
        "in $(tail -n 1 "$folder/processor_seconds") s of a processor, $(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$folder/log" | tail -n 1) places of the code reached."
}
