# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs commands in a root, together with the machine's own files. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154  # here and cache are set by ./dev
#
# The root provides /usr, /etc and the package database, read-only. All other folders are the machine's, at their own paths:
# the top-level folders, /tmp, and the caller's folder. So a path means the same inside and outside. /sys is there, too,
# because OpenMP and hwloc read the topology from it. This separates toolchains. It does not protect against malice.

# sandbox DIR: sets box to bwrap's arguments for the root in DIR.
sandbox() {
    local dir=$1 entry name top place
    box=(--die-with-parent --dev /dev --bind-try /dev/shm /dev/shm --proc /proc --ro-bind /sys /sys
        --tmpfs /run --bind /tmp /tmp --bind-try /var/tmp /var/tmp --ro-bind "$dir/var/lib/dpkg" /var/lib/dpkg
        --ro-bind "$dir/etc" /etc)
    for name in resolv.conf hosts passwd group; do box+=(--ro-bind-try "/etc/$name" "/etc/$name"); done
    for entry in "$dir"/usr/*; do
        name=${entry##*/}
        case $name in local | src) ;; *) box+=(--ro-bind "$entry" "/usr/$name") ;; esac
    done
    for entry in "$dir"/bin "$dir"/sbin "$dir"/lib*; do
        if [[ -L $entry ]]; then
            box+=(--symlink "$(readlink "$entry")" "/${entry##*/}")
        elif [[ -d $entry ]]; then
            box+=(--ro-bind "$entry" "/${entry##*/}")
        fi
    done
    for entry in /*; do
        case ${entry#/} in
            bin | sbin | lib* | usr | etc | var | boot | dev | proc | sys | run | tmp | lost+found) ;;
            *) if [[ -d $entry ]]; then box+=(--bind-try "$entry" "$entry"); fi ;;
        esac
    done
    # Folders that the loop above leaves out, such as a CI system's /var/lib/ci/work.
    for place in "$here" "$PWD" "$(pwd -P)" "$cache" "${TMPDIR:-/tmp}" "${HOME:-/}"; do
        top=${place#/} top=${top%%/*}
        case $top in
            usr | var | run | boot) if [[ -d $place ]]; then box+=(--bind "$place" "$place"); fi ;;
        esac
    done
    case $PWD/ in
        /etc/* | /bin/* | /sbin/* | /lib*/* | /usr/bin/* | /usr/lib*/* | /usr/share/* | /usr/include/*)
            die 2 "Start ./dev from a folder that does not belong to the system. The root has a $PWD of its own." ;;
    esac
    box+=(--chdir "$PWD")
}

# clean_environment ID: sets vars to the environment of a command in the root. The host's PATH, CC, LD_LIBRARY_PATH and the
# like are wrong there. OPENBLAS_CORETYPE was set for the host's library and would change the speed of the root's.
clean_environment() {
    local name
    vars=(PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 "PRUMO_ROOT_ID=$1")
    while IFS= read -r name; do
        case $name in
            PRUMO_ROOT_ID) ;;
            HOME | USER | LOGNAME | TERM | COLORTERM | COLUMNS | LINES | NO_COLOR | FORCE_COLOR | CLICOLOR* | TZ | TMPDIR | \
                CI | GITHUB_* | SLURM_* | CTEST_* | GTEST_* | NINJA_STATUS | CMAKE_BUILD_PARALLEL_LEVEL | CMAKE_COLOR_DIAGNOSTICS | \
                PRUMO_* | KOKKOS_* | OMP_* | GOMP_* | *_NUM_THREADS | *_VERBOSE | CCACHE_* | ?SAN_OPTIONS | UBSAN_OPTIONS | \
                XDG_CACHE_HOME | SOURCE_DATE_EPOCH | [Hh][Tt][Tt][Pp]*_[Pp][Rr][Oo][Xx][Yy] | [Aa][Ll][Ll]_[Pp][Rr][Oo][Xx][Yy] | \
                [Nn][Oo]_[Pp][Rr][Oo][Xx][Yy])
                vars+=("$name=${!name}") ;;
        esac
    done < <(compgen -e)
}

# run_in_root DIR COMMAND...
run_in_root() {
    local dir=$1
    local -a box vars
    shift
    sandbox "$dir"
    clean_environment "${dir##*/}"
    env -i "${vars[@]}" "$(type -P bwrap)" "${box[@]}" "$@"
}

# become_in_root DIR COMMAND...: the last thing that ./dev does. ./dev stays as the parent, because bwrap does not pass
# signals on. Staying as the parent also keeps a nohup'ed benchmark alive when the shell ends, because of '--die-with-parent'.
#
# The command gets each signal once, and can then finish its results file. A signal for the whole process group, such as that
# of Ctrl-C, reaches the command directly. One for ./dev alone is passed on. bwrap must ignore them all, because it has to
# live on to return the exit code.
become_in_root() {
    local dir=$1 monitor witness held status caught ignored signal heeded=
    local -a box vars
    shift
    sandbox "$dir"
    clean_environment "${dir##*/}"
    ignored=$(trap -p) # nohup and shells start programs with signals ignored, and the command shall ignore them, too
    for signal in INT QUIT TERM HUP; do
        # shellcheck disable=SC2064  # the name of the signal is what it is now
        trap "heed $signal" "$signal"
        [[ $ignored == *"'' SIG$signal"* ]] || heeded+=,$signal
    done
    call_witness
    (
        trap '' INT QUIT TERM HUP
        exec env -i "${vars[@]}" "$(type -P bwrap)" "${box[@]}" env ${heeded:+"--default-signal=${heeded#,}"} "$@"
    ) <&0 {held}>&- &
    monitor=$!
    while true; do # a signal ends wait before the command has ended
        caught="" status=0
        wait "$monitor" || status=$?
        [[ -n $caught ]] || break
    done
    exit "$status"
}

# Starts a process that only waits for the end of ./dev. A signal for the whole process group ends it. Until it is cat, it is a
# copy of this shell, which may swallow a signal; so it is waited for.
call_witness() {
    local name tries
    [[ -z ${held:-} ]] || exec {held}>&-
    # From 5.3 on, bash starts such a process with INT and QUIT ignored.
    local -a heeding=(env --default-signal=INT,QUIT)
    "${heeding[@]}" true 2> /dev/null || heeding=()
    exec {held}> >(ulimit -c 0 && exec "${heeding[@]+"${heeding[@]}"}" cat > /dev/null 2>&1)
    witness=$!
    for ((tries = 0; tries < 200; tries++)); do
        read -r name 2> /dev/null < "/proc/$witness/comm" || return 0
        [[ $name != cat ]] || return 0
        sleep 0.005
    done
}

# heed SIGNAL: passes a signal for ./dev alone on to the command.
heed() {
    caught=1
    sleep 0.02 # timeout(1) sends it to ./dev first, and then to the group
    if unharmed "$witness"; then pass_on "$1"; else call_witness; fi
}

# unharmed PROCESS: whether it is there, and no signal is about to end it.
unharmed() {
    local field value
    while read -r field value; do
        case $field$value in State:[ZX]* | SigPnd:*[1-9a-f]* | ShdPnd:*[1-9a-f]*) return 1 ;; esac
    done 2> /dev/null < "/proc/$1/status"
}

# pass_on SIGNAL: sends it to the processes that bwrap started in become_in_root.
pass_on() {
    local child
    local -a children=()
    read -r -a children 2> /dev/null < "/proc/$monitor/task/$monitor/children" || true
    for child in "${children[@]+"${children[@]}"}"; do
        kill -s "$1" "$child" 2> /dev/null || true
    done
}
