# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Chooses and makes the Debian sid root in the user's cache. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # other programs expand the dollars in single quotes; ./dev sets here and cache
#
#   $cache/lock                         held while a root is made
#   $cache/making.XXXXXX/               a root that is being made; the next holder of the lock removes what is left of it
#   $cache/roots/sid-ARCH-HASH-DATE/    finished roots; they are only ever renamed into this folder
#   $cache/making.log                   the output of the last attempt to make a root
#   $cache/failed-HASH                  the time of the last failure, so that not every start tries again
#
#   $cache/builds/                      builds of sources that cannot be written, see build.bash
#
# HASH is the hash of the package list. Each user of a root holds a shared lock on its folder. Such a root is not removed.
# A root has its mark and the list of its files in etc/prumo. The list shows whether it is damaged.

root_recipe=1 # increase this if roots must be made again although the package list is the same
public_mirror=http://deb.debian.org/debian
root=    # the chosen root
failure= # why there is none, one reason a line

root_key() {
    local arch
    arch=$(uname -m)
    printf 'sid-%s-%s' "$arch" "$({ echo "$root_recipe"; "$here/scripts/list-packages"; } | hash8)"
}

# newest_root PREFIX: sets root to the newest root that can be used and whose name begins with PREFIX, and holds its lock.
newest_root() {
    local -a candidates=("$cache/roots/$1"-*) # names end in the date, so the last is the newest
    local i
    for ((i = ${#candidates[@]} - 1; i >= 0; i--)); do
        if use_root "${candidates[i]}"; then return; fi
    done
    root=
    return 1
}

# use_root DIR: sets root to a finished and whole root, and holds its lock until another root is used. Otherwise returns 1.
use_root() {
    [[ -f $1/etc/prumo/root ]] || return
    refuse_foreign "$cache" "$cache/roots" "$1" "$1"/{etc,etc/prumo,etc/prumo/root,usr,usr/bin,usr/lib}
    [[ -z ${in_use:-} ]] || exec {in_use}<&-
    exec {in_use}< "$1"
    if flock -s -n "$in_use" && root_is_whole "$1"; then # without the lock, another ./dev is about to remove it
        root=$1
        return
    fi
    exec {in_use}<&-
    in_use=
    return 1
}

# Prints a line for each file of the root in DIR: its name, and for programs, libraries and settings mode and size, too. This
# takes less than 0.1 s. Headers and documents are named only, because asking for their sizes takes longer than that.
root_contents() {
    (cd "$1" && find usr etc var/lib/dpkg -path etc/prumo -prune -o -type d -printf '%p %m\n' -o \
        \( -path 'usr/include/*' -o -path 'usr/share/*' -o -path 'var/*' \) -printf '%p\n' -o -printf '%p %m %s\n') |
        LC_ALL=C sort
}

# root_is_whole DIR: whether everything is there that was there when the root was made. Says so if not.
root_is_whole() {
    local list=$1/etc/prumo/contents lost
    if [[ ! -s $list ]]; then
        complain_of_root "$1" "it lacks the list of its files."
        return 1
    fi
    lost=$(root_contents "$1" 2> /dev/null | LC_ALL=C comm -23 "$list" - | sed 's/\( [0-7]*\( [0-9]*\)\{0,1\}\)$//')
    [[ -n $lost ]] || return 0
    complain_of_root "$1" "$(wc -l <<< "$lost") of its files are missing or changed, such as ${lost%%$'\n'*}."
    return 1
}

complain_of_root() {
    [[ ${complained_of:-} == "$1" ]] || say "The root ${1##*/} is damaged: $2"
    complained_of=$1
}

# Sets root to one that has the package list, and makes it if needed. Ends ./dev if there is no usable root.
need_root() {
    local key failed
    key=$(root_key) failed=$cache/failed-${key##*-}
    if newest_root "$key"; then return; fi
    if recently_failed "$failed" && newest_root "sid-$(uname -m)"; then return; fi
    if make_root "$key"; then return; fi
    if [[ -d $cache ]]; then date > "$failed" 2> /dev/null || true; fi
    if newest_root "sid-$(uname -m)"; then
        say "$failure" "Using the last good root, ${root##*/}. ./dev tries again in an hour;" \
            "'./dev root new' tries again now."
        return
    fi
    die 3 "$failure"
}

recently_failed() { [[ -n $(find "$1" -mmin -60 2> /dev/null) ]]; }

# make_root KEY [again]: makes a root while it holds the lock, and sets root. If it fails, it sets failure and returns 1.
make_root() {
    local key=$1 again=${2:-} lock
    make_cache || return
    have flock || fail "flock is missing: install util-linux." || return
    exec {lock}> "$cache/lock"
    if ! flock -n "$lock"; then
        say "Another ./dev is making the root; waiting for it (1-3 minutes)."
        flock "$lock"
        again=
    fi
    if [[ -z $again ]] && newest_root "$key"; then
        exec {lock}>&-
        return
    fi
    remove_tree "$cache"/making.* # left by a ./dev that was interrupted; it no longer runs, because we have its lock
    local making mask
    making=$(mktemp -d "$cache/making.XXXXXX") || fail "Cannot write to $cache." || return
    mask=$(umask)
    umask 022 # others may not write to the root
    if fill_root "$making" && finish_root "$making" "$key"; then
        umask "$mask"
        exec {lock}>&-
        return
    fi
    umask "$mask"
    remove_tree "$making"
    exec {lock}>&-
    root=
    return 1
}

# fail LINE...: sets failure and returns 1, so that 'COMMAND || fail WHY || return' returns 1.
fail() {
    failure=$(printf '%s\n' "$@")
    return 1
}

# fill_root DIR: installs Debian sid with the package list there.
fill_root() {
    local making=$1 mirror began=$SECONDS
    need_tools && need_space && need_namespaces || return
    say "Making a Debian sid root with compiler, CMake and Kokkos in $cache. This happens once, and takes 1-3 minutes and 1.3 GB."
    for mirror in $(mirrors); do
        say "  from $mirror"
        if bootstrap "$making" "$mirror"; then
            say "  unpacked after $((SECONDS - began)) s"
            used_mirror=$mirror
            return
        fi
        explain_log "$mirror"
        say "  this mirror failed${failure:+: ${failure%%$'\n'*}}"
        find "$making" -mindepth 1 -maxdepth 1 -exec rm -rf --one-file-system {} + 2> /dev/null || true
    done
    return 1
}

# Prints the Debian mirror that this machine's apt uses, then the public one.
mirrors() {
    if [[ -n ${PRUMO_MIRROR:-} ]]; then
        echo "$PRUMO_MIRROR"
        return
    fi
    {
        if have apt-get; then
            # The main archive has the label 'Debian'; security and others have labels of their own. Snapshots are left
            # out, because they have no sid or an old one, and so are methods such as mirror+file:.
            apt-get indextargets --format '$(LABEL)|$(SITE)' 'Created-By: Packages' 2> /dev/null |
                sed -n 's/^Debian|\(https\{0,1\}:.*\)/\1/p' | grep -v '/snapshot\.' | head -1
        fi
        echo "$public_mirror"
    } | awk '{ sub("/+$", "") } !seen[$0]++'
}

# bootstrap DIR MIRROR: runs mmdebstrap. The steps appear on stderr, the full output goes to making.log.
bootstrap() {
    local making=$1 mirror=$2 packages proxy temporary
    packages=$("$here/scripts/list-packages" | paste -sd,)
    local -a command=(mmdebstrap --variant=apt "--include=$packages"
        --aptopt='Acquire::Check-Valid-Until "false"' # a mirror of sid may be more than a week old
        --aptopt='Acquire::Retries "3"' --aptopt='Acquire::http::Timeout "30"'
        --aptopt='APT::Install-Recommends "false"'
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*'
        --dpkgopt='path-exclude=/usr/share/locale/*'
        --dpkgopt=force-unsafe-io) # an unfinished root is removed anyway, and a finished one is synced at the end
    proxy=$(apt_proxy)
    [[ -z $proxy ]] || command+=("--aptopt=Acquire::http::Proxy \"$proxy\"")
    sweep_temporary
    temporary=$(mktemp -d "$(temporary)XXXXXX") && chmod 1777 "$temporary" || return
    command=(env LC_ALL=C "TMPDIR=$temporary" "${command[@]}")
    if [[ $EUID -eq 0 ]]; then
        # mmdebstrap mounts /proc and more in the folder. In namespaces of its own, these mounts end with it.
        supervised logged unshare --mount --pid --fork --kill-child --mount-proc \
            "${command[@]}" --mode=root sid "$making" "$mirror"
    else
        # An ordinary user can neither make device nodes nor remove files of mapped users. With tar, all files become the user's.
        supervised logged unpacked "$making" "${command[@]}" --mode=unshare --format=tar sid - "$mirror"
    fi
}

logged() { "$@" 2>&1 < /dev/null | tee "$cache/making.log" | show_steps; }

unpacked() {
    local making=$1
    shift
    "$@" | tar -x -C "$making" --exclude='./dev/*' --delay-directory-restore
}

# mmdebstrap's temporary files. For an ordinary user they belong to mapped users, and only mmdebstrap can remove them.
temporary() { echo "${TMPDIR:-/tmp}/prumo-root-$EUID-$(hash8 <<< "$cache")."; }
sweep_temporary() {
    local dir
    for dir in "$(temporary)"*; do
        [[ -d $dir ]] || continue
        [[ $EUID -eq 0 ]] || mmdebstrap --unshare-helper rm -rf "$dir"/* > /dev/null 2>&1 || true
        rm -rf --one-file-system "$dir" 2> /dev/null || true
    done
}

# supervised COMMAND...: runs it in a process group of its own, and ends that group when ./dev ends, even if ./dev is killed.
# Otherwise it would run on and hold the lock for minutes. INT comes first, because mmdebstrap then removes its temporary files.
supervised() {
    local group watch status=0
    set -m
    "$@" &
    group=$!
    { tail --pid=$$ -f /dev/null && stop_group "$group" && sweep_temporary; } > /dev/null 2>&1 &
    watch=$!
    set +m
    disown "$watch"
    trap 'say "Interrupted: cleaning up."; stop_group "$group"; sweep_temporary; remove_tree "$making"; exit 130' INT TERM HUP
    wait "$group" || status=$?
    trap - INT TERM HUP
    sweep_temporary
    kill -KILL -- "-$watch" 2> /dev/null || true
    return "$status"
}

stop_group() {
    local i
    kill -INT -- "-$1" 2> /dev/null || return 0
    for ((i = 0; i < 20; i++)); do
        sleep 0.2
        kill -0 -- "-$1" 2> /dev/null || return 0
    done
    kill -KILL -- "-$1" 2> /dev/null || true
    sleep 0.2
}

apt_proxy() {
    local proxy=
    if have apt-config; then eval "$(apt-config shell proxy Acquire::http::Proxy 2> /dev/null)"; fi
    echo "$proxy"
}

show_steps() {
    sed -un -e 's/^I: running apt-get update.*/  reading the list of packages/p' \
        -e 's/^I: downloading packages.*/  downloading the base system/p' \
        -e 's/^I: installing essential.*/  installing the base system/p' \
        -e 's/^I: installing remaining.*/  downloading and installing the toolchain and Kokkos (the longest step)/p' |
        sed -u 's/^/dev: /' >&2
}

# finish_root DIR KEY: repairs the root, tests it, records its versions and moves it to its place. Then it removes older ones.
finish_root() {
    local making=$1 key=$2 name lib problem
    name=$key-$(date -u +%Y%m%dT%H%M%S)
    # Debian's CMake files for Kokkos name archives that the package does not have. Empty archives are enough.
    lib=$(dirname "$(find "$making/usr/lib" -name 'libkokkoscore.so' -print -quit)")
    while IFS= read -r problem; do
        [[ -e $lib/$problem ]] || printf '!<arch>\n' > "$lib/$problem"
    done < <(grep -rhos --include='*.cmake' 'libkokkos[a-z]*\.a' "$lib/cmake/Kokkos" | sort -u)
    touch "$making/etc/resolv.conf" "$making/etc/hosts" # the machine's files are mounted over these
    mkdir -p "$making/etc/prumo"
    say "  testing it"
    if ! problem=$(run_in_root "$making" bash -ec "$root_test" 2>&1); then
        fail "The new root does not work:" "$problem"
        return
    fi
    run_in_root "$making" dpkg-query -W -f '${Package} ${Version}\n' > "$making/etc/prumo/versions" &&
        root_contents "$making" > "$making/etc/prumo/contents" &&
        { echo "name $name"; echo "mirror $used_mirror"; echo "made $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } \
            > "$making/etc/prumo/root" &&
        { sync -f "$making" 2> /dev/null || true; } && # so that a power cut leaves no half-written root
        chmod 755 "$making" && mv -T "$making" "$cache/roots/$name" ||
        fail "Could not finish the root in $cache: $(disk_state "$cache")" || return
    use_root "$cache/roots/$name" || fail "The new root $cache/roots/$name cannot be used." || return
    rm -f "$cache"/failed-*
    say "  ready: $root"
    remove_old_roots
}

# Tests the compiler, OpenMP and the tools that a build needs. It takes a second.
root_test='
dir=$(mktemp -d); trap "rm -rf $dir" EXIT
printf "#include <omp.h>\n#include <cstdio>\nint main(){int n=0;\n#pragma omp parallel reduction(+:n)\nn+=1;\n" > $dir/t.cpp
printf "std::printf(\"%%d threads\\\\n\", n); return n < 1;}\n" >> $dir/t.cpp
g++ -std=c++20 -fopenmp $dir/t.cpp -o $dir/t; $dir/t
cmake --version; ninja --version; ls /usr/include/kokkos/Kokkos_Core.hpp /usr/include/Kokkos_Core.hpp 2> /dev/null || test $? = 2'

# Removes every other root, unless somebody uses it.
remove_old_roots() {
    local old lock
    for old in "$cache"/roots/*; do
        [[ -d $old && $old != "$root" ]] || continue
        exec {lock}< "$old"
        if flock -n -x "$lock"; then
            say "  removing the older ${old##*/}"
            rm -f "$old/etc/prumo/root" # without this file it is no root, even if we are interrupted now
            remove_tree "$old"
        fi
        exec {lock}<&-
    done
}

# Removes folders and everything in them, but nothing on other mounts.
remove_tree() {
    local dir
    for dir in "$@"; do
        [[ -d $dir ]] || continue
        [[ $EUID -eq 0 ]] || chmod -R u+rwX "$dir" 2> /dev/null || true # root needs no chmod, and it would change files on mounts, too
        rm -rf --one-file-system "$dir" || say "Some files in $dir could not be removed."
    done
}

describe_root() {
    printf 'root    %s\n' "$root"
    sed -n -e 's/^mirror/mirror /p' -e 's/^made/made   /p' "$root/etc/prumo/root"
    sed -nE 's/^(g\+\+|cmake|libkokkos-dev|libopenblas-openmp-dev) /        &/p' "$root/etc/prumo/versions"
    printf 'all %s packages: %s\n' "$(wc -l < "$root/etc/prumo/versions")" "$root/etc/prumo/versions"
}
