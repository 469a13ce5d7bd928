# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What making a root asks of the machine, and what to tell people where it is not there. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # failure is read, cache set by ./dev

# mmdebstrap, bubblewrap and friends, installed through apt where that is allowed.
need_tools() {
    [[ $(uname -s) == Linux ]] || fail "A Debian root needs Linux. Here, install Kokkos (4.6 to 5.x), CMake, Ninja and the libraries in" \
        "scripts/packages, then: ./dev --kokkos PREFIX ..." || return
    local -a missing=()
    have mmdebstrap || missing+=(mmdebstrap)
    have bwrap || missing+=(bubblewrap)
    if [[ $EUID -ne 0 ]] && ! have newuidmap; then missing+=(uidmap); fi
    if have apt-get && ! compgen -G '/usr/share/keyrings/debian-archive-*' > /dev/null; then
        missing+=(debian-archive-keyring)
    fi
    if [[ ${#missing[@]} -gt 0 ]]; then install_tools "${missing[@]}" || return; fi
    [[ $EUID -eq 0 ]] || need_subuids
}

install_tools() {
    local -a as_root=()
    local log=$cache/apt.log
    if ! have apt-get; then
        fail "Missing here: $*. Install them with the system's package manager (names as in Debian)," \
            "or give a Kokkos (4.6 to 5.x) of your own and use the host's compiler: ./dev --kokkos PREFIX ..."
        return
    fi
    if [[ $EUID -ne 0 ]]; then
        if ! have sudo || ! sudo -n true 2> /dev/null; then
            fail "Missing here: $*. Type this, or ask who administers the machine to, and start again:" \
                "    sudo apt-get install $*"
            return
        fi
        as_root=(sudo -n)
    fi
    say "Installing $* with apt (about 10 s)."
    local -a get=("${as_root[@]+"${as_root[@]}"}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120)
    if ! "${get[@]}" install -y --no-install-recommends "$@" < /dev/null > "$log" 2>&1; then
        "${get[@]}" update < /dev/null > "$log" 2>&1 || true
        if ! "${get[@]}" install -y --no-install-recommends "$@" < /dev/null >> "$log" 2>&1; then
            fail "apt could not install $*:" "$(tail -n 5 "$log")" "The whole story: $log"
            return
        fi
    fi
}

# An ordinary user's root has files of several users, so it takes a range of user ids.
need_subuids() {
    local user
    user=$(id -un)
    if { grep -qE "^($user|$EUID):" /etc/subuid && grep -qE "^($user|$EUID):" /etc/subgid; } 2> /dev/null; then return; fi
    if have getsubids && getsubids "$user" > /dev/null 2>&1 && getsubids -g "$user" > /dev/null 2>&1; then return; fi
    fail "$user has no range of subordinate user ids in /etc/subuid and /etc/subgid. Type this, or ask who" \
        "administers the machine to, and start again:" \
        "    sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $user"
}

# Room for the root; mmdebstrap of an ordinary user works in the folder for temporary files first.
need_space() {
    local -a places=("$cache")
    [[ $EUID -eq 0 ]] || places+=("${TMPDIR:-/tmp}")
    local place free
    for place in "${places[@]}"; do
        free=$(df -Pk "$place" | awk 'NR == 2 { print $4 }')
        if [[ ${free:-0} -lt ${PRUMO_ROOT_KB:-2500000} ]]; then
            fail "Too little room to make a root: $(disk_state "$place"); 2.5 GB are needed." \
                "Make room there, or name another folder: PRUMO_CACHE=/path for the root, TMPDIR=/path for temporary files."
            return
        fi
    done
}

disk_state() { df -Ph "$1" | awk -v place="$1" 'NR == 2 { print $4 " free in " place " (on " $6 ")" }'; }

# Entering a root takes namespaces, which some systems and most containers refuse.
need_namespaces() {
    local said hint
    if said=$(bwrap --ro-bind / / true 2>&1); then return; fi
    if [[ $(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2> /dev/null) == 1 ]]; then
        hint="sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    elif [[ $(cat /proc/sys/kernel/unprivileged_userns_clone 2> /dev/null) == 0 ]]; then
        hint="sudo sysctl kernel.unprivileged_userns_clone=1"
    elif [[ $(cat /proc/sys/user/max_user_namespaces 2> /dev/null) == 0 ]]; then
        hint="sudo sysctl user.max_user_namespaces=15000"
    else
        hint="in a container, start it with --security-opt seccomp=unconfined --cap-add SYS_ADMIN, or build the Containerfile"
    fi
    fail "bubblewrap may not enter a root on this machine: ${said:-no reason given}." "What may help: $hint" \
        "Without a root: install what scripts/packages lists (Debian sid has all of it), or ./dev --kokkos PREFIX ..."
}

# explain_log MIRROR: sets failure to what making.log tells.
explain_log() {
    local log=$cache/making.log why
    if [[ $(df -Pk "$cache" | awk 'NR == 2 { print $4 }') -lt 10000 ]] || grep -qi 'no space left' "$log"; then
        why="The disk is full: $(disk_state "$cache"), $(disk_state "${TMPDIR:-/tmp}"). Make room, or set PRUMO_CACHE, TMPDIR."
    elif grep -qiE 'could not resolve|temporary failure resolving|could not connect|connection (failed|refused|timed out)|network is unreachable' "$log"; then
        why="The network or the mirror $1 does not answer. Set http_proxy if you need one, or PRUMO_MIRROR=URL to another mirror."
    elif grep -qiE 'NO_PUBKEY|not signed|GPG error|verification' "$log"; then
        why="The signature of sid could not be checked: install or update debian-archive-keyring (Debian 12's or newer will do)."
    elif grep -qiE 'unmet dependencies|unable to (locate|satisfy)|no installation candidate|held broken' "$log"; then
        why="Debian sid cannot install the package list today. Take an earlier day: PRUMO_MIRROR=http://snapshot.debian.org/archive/debian/YYYYMMDDT000000Z"
        why+=$'\n'$(grep -m 3 '^E:' "$log" || true)
    elif grep -qiE 'newuidmap|newgidmap|subuid|unshare|namespace' "$log"; then
        why="This machine refuses user namespaces to $(id -un): see /etc/subuid, and sysctl user.max_user_namespaces."
    elif grep -qiE '404|does not have a release file|failed to fetch' "$log"; then
        why="The mirror $1 does not have all of sid. Set PRUMO_MIRROR=URL to another one."
    else
        why="mmdebstrap failed; its last words:"$'\n'"$(tail -n 5 "$log")"
    fi
    failure="Making the root failed. $why"$'\n'"The whole story: $log"
}
