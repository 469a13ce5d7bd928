# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cases of dev_test.bash: signals for ./dev alone and for its process group.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # other shells expand some dollars; dev_test.bash sets scratch and others

# A command that lists the signals that it gets, and ends with 5 half a second after the first.
write_listener() {
    cat > "$scratch/listener" << 'END'
for signal in INT TERM HUP; do trap "echo $signal >> '$1'; got=1" $signal; done
got=; touch "$1" "$1.ready"
for ((i = 0; i < 200; i++)); do sleep 0.1; [[ -z $got ]] || break; done
sleep 0.5
exit 5
END
}

# start_listener [COMMAND...]: starts ./dev with the listener in a session and process group of its own, and waits until it
# listens. Sets started to the process of ./dev.
start_listener() {
    local i
    rm -f "$scratch"/got "$scratch"/got.ready
    # Without exec, a shell in the background would have the listener ignore Ctrl-C.
    setsid env --default-signal=INT "$@" "$scratch/source/dev" shell bash "$scratch/listener" "$scratch/got" \
        > "$scratch/out" 2> "$scratch/err" < /dev/null &
    started=$!
    for ((i = 0; i < 100; i++)); do [[ -f $scratch/got.ready ]] && break; sleep 0.1; done
}

# arrived_once SIGNAL STATUS: complains unless the command got this one signal and ./dev ended with the status.
arrived_once() {
    local status=0
    wait "$started" || status=$?
    [[ $status -eq $2 ]] || complain "after $1, ./dev ended with $status, not $2"
    [[ $(paste -sd' ' "$scratch/got") == "$1" ]] || complain "the command got '$(paste -sd' ' "$scratch/got")', not one $1"
}

test_signals_for_dev_alone() {
    dev 0 shell true
    write_listener
    local signal
    for signal in INT TERM HUP; do
        start_listener
        kill -s "$signal" "$started"
        arrived_once "$signal" 5
    done
}

test_signals_for_the_group() {
    dev 0 shell true
    write_listener
    local signal
    for signal in INT TERM HUP; do
        start_listener
        kill -s "$signal" -- "-$started"
        arrived_once "$signal" 5
    done
}

test_signals_of_timeout() {
    dev 0 shell true
    write_listener
    start_listener timeout 3
    arrived_once TERM 124 # timeout's own exit code
}

test_ignored_signals_stay_ignored() {
    dev 0 shell true
    write_listener
    start_listener nohup
    kill -HUP -- "-$started"
    sleep 0.3
    kill -TERM -- "-$started"
    arrived_once TERM 5
}
