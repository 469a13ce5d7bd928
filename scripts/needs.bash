# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks what the machine must have for making a root, and says what to do if it is missing. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # ./dev reads failure and sets cache

# Looks for mmdebstrap, bubblewrap and what they need. Installs them through apt if that is allowed.
need_tools() {
    [[ $(uname -s) == Linux ]] || fail "A Debian root needs Linux. On this system, install Kokkos (4.6 to 5.x), CMake, Ninja and the libraries in" \
        "scripts/packages. Then run ./dev --kokkos PREFIX ..." || return
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
        fail "These packages are missing: $*. Install them with the system's package manager (the names are Debian's)," \
            "or use the host's compiler with a Kokkos (4.6 to 5.x) of your own: ./dev --kokkos PREFIX ..."
        return
    fi
    if [[ $EUID -ne 0 ]]; then
        if ! have sudo || ! sudo -n true 2> /dev/null; then
            fail "These packages are missing: $*. Run this command, or ask your administrator to, and start again:" \
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
            fail "apt could not install $*:" "$(tail -n 5 "$log")" "The full output is in $log"
            return
        fi
    fi
}

# A root has files of several users. An ordinary user therefore needs a range of user ids.
need_subuids() {
    local user
    user=$(id -un)
    if { grep -qE "^($user|$EUID):" /etc/subuid && grep -qE "^($user|$EUID):" /etc/subgid; } 2> /dev/null; then return; fi
    if have getsubids && getsubids "$user" > /dev/null 2>&1 && getsubids -g "$user" > /dev/null 2>&1; then return; fi
    fail "$user has no range of subordinate user ids in /etc/subuid and /etc/subgid. Run this command," \
        "or ask your administrator to, and start again:" \
        "    sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $user"
}

# Checks that the disk has room for the root. For an ordinary user, mmdebstrap also needs room in the temporary folder.
need_space() {
    local -a places=("$cache")
    [[ $EUID -eq 0 ]] || places+=("${TMPDIR:-/tmp}")
    local place free
    for place in "${places[@]}"; do
        free=$(df -Pk "$place" | awk 'NR == 2 { print $4 }')
        if [[ ${free:-0} -lt ${PRUMO_ROOT_KB:-2500000} ]]; then
            fail "There is too little room to make a root: $(disk_state "$place"); it needs 2.5 GB." \
                "Make room there, or name other folders: PRUMO_CACHE=/path for the root, TMPDIR=/path for temporary files."
            return
        fi
    done
}

disk_state() { df -Ph "$1" | awk -v place="$1" 'NR == 2 { print $4 " free in " place " (on " $6 ")" }'; }

# Entering a root needs namespaces. Some systems and most containers refuse them.
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
        hint="start the container with --security-opt seccomp=unconfined --cap-add SYS_ADMIN, or build the Containerfile"
    fi
    fail "bubblewrap cannot enter a root on this machine: ${said:-it gave no reason}." "What may help: $hint" \
        "You can do without a root: install what scripts/packages lists (Debian sid has all of it), or use ./dev --kokkos PREFIX ..."
}

# explain_log MIRROR: sets failure to the cause that making.log shows.
explain_log() {
    local log=$cache/making.log why
    if [[ $(df -Pk "$cache" | awk 'NR == 2 { print $4 }') -lt 10000 ]] || grep -qi 'no space left' "$log"; then
        why="The disk is full: $(disk_state "$cache"), $(disk_state "${TMPDIR:-/tmp}"). Make room, or set PRUMO_CACHE and TMPDIR."
    elif grep -qiE 'could not resolve|temporary failure resolving|could not connect|connection (failed|refused|timed out)|network is unreachable' "$log"; then
        why="The network or the mirror $1 does not answer. Set http_proxy if you need a proxy, or set PRUMO_MIRROR=URL for another mirror."
    elif grep -qiE 'NO_PUBKEY|not signed|GPG error|verification' "$log"; then
        why="The signature of sid could not be checked. Install or update debian-archive-keyring, from Debian 12 or newer."
    elif grep -qiE 'unmet dependencies|unable to (locate|satisfy)|no installation candidate|held broken' "$log"; then
        why="Debian sid cannot install the package list today. Use an earlier day: PRUMO_MIRROR=http://snapshot.debian.org/archive/debian/YYYYMMDDT000000Z"
        why+=$'\n'$(grep -m 3 '^E:' "$log" || true)
    elif grep -qiE 'newuidmap|newgidmap|subuid|unshare|namespace' "$log"; then
        why="This machine refuses user namespaces to $(id -un). Look at /etc/subuid and at sysctl user.max_user_namespaces."
    elif grep -qiE '404|does not have a release file|failed to fetch' "$log"; then
        why="The mirror $1 does not have all of sid. Set PRUMO_MIRROR=URL for another mirror."
    else
        why="mmdebstrap failed. Its last lines:"$'\n'"$(tail -n 5 "$log")"
    fi
    failure="Making the root failed. $why"$'\n'"The full output is in $log"
}
