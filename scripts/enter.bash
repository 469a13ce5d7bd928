# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Running commands inside a root, with the machine's files around it. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154  # here and cache are set by ./dev
#
# The root gives /usr, /etc and the package database, read-only. All else is the machine's at its own path:
# every top-level folder, /tmp, the caller's folder, so that paths mean the same inside and outside. /sys too:
# without it OpenMP and hwloc see no topology. This keeps toolchains apart; it is no wall against malice.

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
    # Places that the loop above leaves out, such as a CI system's /var/lib/ci/work.
    for place in "$here" "$PWD" "$(pwd -P)" "$cache" "${TMPDIR:-/tmp}" "${HOME:-/}"; do
        top=${place#/} top=${top%%/*}
        case $top in
            usr | var | run | boot) if [[ -d $place ]]; then box+=(--bind "$place" "$place"); fi ;;
        esac
    done
    case $PWD/ in
        /etc/* | /bin/* | /sbin/* | /lib*/* | /usr/bin/* | /usr/lib*/* | /usr/share/* | /usr/include/*)
            die 2 "Start ./dev from a folder that is not the system's: $PWD looks different inside the root." ;;
    esac
    box+=(--chdir "$PWD")
}

# clean_environment ID: sets vars to what a command in the root gets; the host's PATH, CC, LD_LIBRARY_PATH and
# the like would not fit there, and an OPENBLAS_CORETYPE set for the host's library would make its numbers another's.
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

# become_in_root DIR COMMAND...: the last thing ./dev does. It stays as the parent, because bwrap passes no
# signals on: TERM and HUP go to the command, which can finish its results file. Ctrl-C reaches it by itself; an
# INT where there is no terminal came to us alone.
# Without a parent of its own, '--die-with-parent' would end a nohup'ed benchmark when the shell ends.
become_in_root() {
    local dir=$1 monitor status caught
    local -a box vars
    shift
    sandbox "$dir"
    clean_environment "${dir##*/}"
    trap 'caught=1; [[ -t 0 || -t 2 ]] || pass_on INT' INT
    trap 'caught=1' QUIT
    trap 'caught=1; pass_on TERM' TERM
    trap 'caught=1; pass_on HUP' HUP
    # bash lets a job in the background ignore Ctrl-C: right for bwrap, which must live to tell the exit code.
    env -i "${vars[@]}" "$(type -P bwrap)" "${box[@]}" env --default-signal=INT,QUIT "$@" <&0 &
    monitor=$!
    while true; do # a signal ends wait early
        caught="" status=0
        wait "$monitor" || status=$?
        [[ -n $caught ]] || break
    done
    exit "$status"
}

# pass_on SIGNAL: to the processes that bwrap started in become_in_root.
pass_on() {
    local child
    local -a children=()
    read -r -a children 2> /dev/null < "/proc/$monitor/task/$monitor/children" || true
    for child in "${children[@]+"${children[@]}"}"; do
        kill -s "$1" "$child" 2> /dev/null || true
    done
}
