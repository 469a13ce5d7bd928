# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Debian sid root in the user's cache: which one to use, how one is made. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # dollars for others in single quotes; here and cache are set by ./dev
#
#   $cache/lock                         held while a root is made
#   $cache/making.XXXXXX/               a root under way; a leftover is removed by the next one to hold the lock
#   $cache/roots/sid-ARCH-HASH-DATE/    good roots: a rename puts them here, nothing else does
#   $cache/making.log                   what the last making said
#   $cache/failed-HASH                  when it failed last, so that not every start tries again
#
# HASH is the package list's. A root in use holds a shared lock on its folder, and is not removed.

root_recipe=1 # count this up when roots have to be made again although the package list is the same
public_mirror=http://deb.debian.org/debian
root=    # the chosen root
failure= # why there is none, a line a reason

root_key() {
    local arch
    arch=$(uname -m)
    printf 'sid-%s-%s' "$arch" "$({ echo "$root_recipe"; "$here/scripts/list-packages"; } | hash8)"
}

# newest_root PREFIX: sets root to the newest whole root whose name begins so.
newest_root() {
    local candidate
    root=
    for candidate in "$cache/roots/$1"-*; do # names end in the date, so the last is the newest
        [[ -f $candidate/etc/prumo/root ]] && root=$candidate
    done
    [[ -n $root ]]
}

# Sets root to one that fits the package list, making it if need be. Ends ./dev where nothing can be had.
need_root() {
    local key failed
    key=$(root_key) failed=$cache/failed-${key##*-}
    if newest_root "$key"; then return; fi
    if recently_failed "$failed" && newest_root "sid-$(uname -m)"; then return; fi
    if make_root "$key"; then return; fi
    if [[ -d $cache ]]; then date > "$failed" 2> /dev/null || true; fi
    if newest_root "sid-$(uname -m)"; then
        say "$failure" "Going on with the last good root, ${root##*/}; './dev root new' tries again" \
            "(by itself this happens again in an hour)."
        return
    fi
    die 3 "$failure"
}

recently_failed() { [[ -n $(find "$1" -mmin -60 2> /dev/null) ]]; }

# make_root KEY [again]: makes a root under the lock and sets root; on failure sets failure and returns 1.
make_root() {
    local key=$1 again=${2:-} lock
    mkdir -p "$cache/roots" 2> /dev/null || fail "Cannot write to $cache: set PRUMO_CACHE to a folder that you own." || return
    have flock || fail "flock is missing: install util-linux." || return
    exec {lock}> "$cache/lock"
    if ! flock -n "$lock"; then
        say "Another ./dev is making the root: waiting for it (1-3 minutes)."
        flock "$lock"
        again=
    fi
    if [[ -z $again ]] && newest_root "$key"; then
        exec {lock}>&-
        return
    fi
    remove_tree "$cache"/making.* # of one that was interrupted: its lock is gone, so is its maker
    local making
    making=$(mktemp -d "$cache/making.XXXXXX") || fail "Cannot write to $cache." || return
    if fill_root "$making" && finish_root "$making" "$key"; then
        exec {lock}>&-
        return
    fi
    remove_tree "$making"
    exec {lock}>&-
    root=
    return 1
}

# fail LINE...: always false, so that 'cmd || fail why || return' reads as it acts.
fail() {
    failure=$(printf '%s\n' "$@")
    return 1
}

# fill_root DIR: Debian sid with the package list.
fill_root() {
    local making=$1 mirror began=$SECONDS
    need_tools && need_space && need_namespaces || return
    say "Making a Debian sid root with compiler, CMake and Kokkos in $cache (once; 1-3 minutes, 1.2 GB)."
    for mirror in $(mirrors); do
        say "  from $mirror"
        if bootstrap "$making" "$mirror"; then
            say "  unpacked after $((SECONDS - began)) s"
            used_mirror=$mirror
            return
        fi
        explain_log "$mirror"
        say "  that did not work${failure:+: ${failure%%$'\n'*}}"
        find "$making" -mindepth 1 -maxdepth 1 -exec rm -rf --one-file-system {} + 2> /dev/null || true
    done
    return 1
}

# The mirror that this machine's apt takes Debian from, then the public one.
mirrors() {
    if [[ -n ${PRUMO_MIRROR:-} ]]; then
        echo "$PRUMO_MIRROR"
        return
    fi
    {
        if have apt-get; then
            # 'Debian' as the label is the main archive; security and others are labelled so. No repository of
            # the day (snapshot): it has no sid, or an old one. mirror+file: and the like are left out.
            apt-get indextargets --format '$(LABEL)|$(SITE)' 'Created-By: Packages' 2> /dev/null |
                sed -n 's/^Debian|\(https\{0,1\}:.*\)/\1/p' | grep -v '/snapshot\.' | head -1
        fi
        echo "$public_mirror"
    } | awk '{ sub("/+$", "") } !seen[$0]++'
}

# bootstrap DIR MIRROR: the steps appear on stderr, the whole story goes to making.log.
bootstrap() {
    local making=$1 mirror=$2 packages proxy temporary
    packages=$("$here/scripts/list-packages" | paste -sd,)
    local -a command=(mmdebstrap --variant=apt "--include=$packages"
        --aptopt='Acquire::Check-Valid-Until "false"' # mirrors of sid may lag behind by more than a week
        --aptopt='Acquire::Retries "3"' --aptopt='Acquire::http::Timeout "30"'
        --aptopt='APT::Install-Recommends "false"'
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*'
        --dpkgopt='path-exclude=/usr/share/locale/*'
        --dpkgopt=force-unsafe-io) # a root that is cut short is thrown away; a whole one is synced at the end
    proxy=$(apt_proxy)
    [[ -z $proxy ]] || command+=("--aptopt=Acquire::http::Proxy \"$proxy\"")
    sweep_temporary
    temporary=$(mktemp -d "$(temporary)XXXXXX") && chmod 1777 "$temporary" || return
    command=(env LC_ALL=C "TMPDIR=$temporary" "${command[@]}")
    if [[ $EUID -eq 0 ]]; then
        # mmdebstrap mounts /proc and more in the folder: in namespaces of its own, they go when it goes.
        supervised logged unshare --mount --pid --fork --kill-child --mount-proc \
            "${command[@]}" --mode=root sid "$making" "$mirror"
    else
        # An ordinary user cannot make device nodes, nor remove files of mapped users: tar makes all of it his.
        supervised logged unpacked "$making" "${command[@]}" --mode=unshare --format=tar sid - "$mirror"
    fi
}

logged() { "$@" 2>&1 < /dev/null | tee "$cache/making.log" | show_steps; }

unpacked() {
    local making=$1
    shift
    "$@" | tar -x -C "$making" --exclude='./dev/*' --delay-directory-restore
}

# mmdebstrap's temporary files, for an ordinary user those of mapped users, which only it can remove.
temporary() { echo "${TMPDIR:-/tmp}/prumo-root-$EUID-$(hash8 <<< "$cache")."; }
sweep_temporary() {
    local dir
    for dir in "$(temporary)"*; do
        [[ -d $dir ]] || continue
        [[ $EUID -eq 0 ]] || mmdebstrap --unshare-helper rm -rf "$dir"/* > /dev/null 2>&1 || true
        rm -rf --one-file-system "$dir" 2> /dev/null || true
    done
}

# supervised COMMAND...: runs it in a process group of its own and ends that with us, even if we are killed:
# what went on would hold the lock for minutes. INT first, on which mmdebstrap removes its temporary files.
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

# finish_root DIR KEY: repairs, records, tests; then it is a good one and older ones can go.
finish_root() {
    local making=$1 key=$2 name lib problem
    name=$key-$(date -u +%Y%m%dT%H%M%S)
    # Debian's CMake files for Kokkos name archives that the package lacks; empty ones will do.
    lib=$(dirname "$(find "$making/usr/lib" -name 'libkokkoscore.so' -print -quit)")
    while IFS= read -r problem; do
        [[ -e $lib/$problem ]] || printf '!<arch>\n' > "$lib/$problem"
    done < <(grep -rhos --include='*.cmake' 'libkokkos[a-z]*\.a' "$lib/cmake/Kokkos" | sort -u)
    touch "$making/etc/resolv.conf" "$making/etc/hosts" # the machine's are bound over them
    mkdir -p "$making/etc/prumo"
    say "  testing it"
    if ! problem=$(run_in_root "$making" bash -ec "$root_test" 2>&1); then
        fail "The new root does not work:" "$problem"
        return
    fi
    run_in_root "$making" dpkg-query -W -f '${Package} ${Version}\n' > "$making/etc/prumo/versions" &&
        { echo "name $name"; echo "mirror $used_mirror"; echo "made $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } \
            > "$making/etc/prumo/root" &&
        { sync -f "$making" 2> /dev/null || true; } && # a power cut must not leave a half-written one
        chmod 755 "$making" && mv -T "$making" "$cache/roots/$name" ||
        fail "Could not finish the root in $cache: $(disk_state "$cache")" || return
    root=$cache/roots/$name
    rm -f "$cache"/failed-*
    say "  ready: $root"
    remove_old_roots
}

# Compiler, OpenMP and the tools that a build needs, in a second.
root_test='
dir=$(mktemp -d); trap "rm -rf $dir" EXIT
printf "#include <omp.h>\n#include <cstdio>\nint main(){int n=0;\n#pragma omp parallel reduction(+:n)\nn+=1;\n" > $dir/t.cpp
printf "std::printf(\"%%d threads\\\\n\", n); return n < 1;}\n" >> $dir/t.cpp
g++ -std=c++20 -fopenmp $dir/t.cpp -o $dir/t; $dir/t
cmake --version; ninja --version; ls /usr/include/kokkos/Kokkos_Core.hpp /usr/include/Kokkos_Core.hpp 2> /dev/null || test $? = 2'

# Every other root, unless somebody is inside it.
remove_old_roots() {
    local old lock
    for old in "$cache"/roots/*; do
        [[ -d $old && $old != "$root" ]] || continue
        exec {lock}< "$old"
        if flock -n -x "$lock"; then
            say "  removing the older ${old##*/}"
            rm -f "$old/etc/prumo/root" # from here on it is no root, even if we are stopped
            remove_tree "$old"
        fi
        exec {lock}<&-
    done
}

# Removes folders with all that is in them, mounts excepted.
remove_tree() {
    local dir
    for dir in "$@"; do
        [[ -d $dir ]] || continue
        [[ $EUID -eq 0 ]] || chmod -R u+rwX "$dir" 2> /dev/null || true # never through a mount
        rm -rf --one-file-system "$dir" || say "Could not remove all of $dir."
    done
}

describe_root() {
    printf 'root    %s\n' "$root"
    sed -n -e 's/^mirror/mirror /p' -e 's/^made/made   /p' "$root/etc/prumo/root"
    sed -nE 's/^(g\+\+|cmake|libkokkos-dev|libopenblas-openmp-dev) /        &/p' "$root/etc/prumo/versions"
    printf 'all %s packages: %s\n' "$(wc -l < "$root/etc/prumo/versions")" "$root/etc/prumo/versions"
}
