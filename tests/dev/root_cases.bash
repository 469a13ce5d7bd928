# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cases of dev_test.bash: making and choosing roots, and machines that cannot make one.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2086,SC2154  # other shells expand some dollars; dev_test.bash sets scratch and others

# ---- making and choosing roots -----------------------------------------------------------------------------

test_first_root() {
    dev 0 shell echo inside
    out_has inside
    err_has 'Making a Debian sid root'
    number_of_roots 1
    nothing_half_made
    local root
    root=$PRUMO_CACHE/roots/$(roots)
    holds [ -s "$root/etc/prumo/versions" ]
    holds grep -q '^mirror http://near.example/debian$' "$root/etc/prumo/root"
    holds [ "$(wc -c < "$root/usr/lib/cpu/libkokkosalgorithms.a")" -eq 8 ] # the archive that Debian's package lacks
    holds [ "$(wc -c < "$root/usr/lib/cpu/libkokkossimd.a")" -eq 0 ]       # an archive that is there stays as it is
    dev 0 shell true
    quiet
    times mmdebstrap 1
    dev 0 root
    out_has 'g++ 1.0'
}

test_half_made_root_is_not_used() {
    local key
    key=$(inside_dev root_key && cat "$scratch/out")
    mkdir -p "$PRUMO_CACHE/making.abcdef/usr/bin" "$PRUMO_CACHE/roots/$key-20990101T000000/etc"
    dev 0 shell true
    err_has 'Making a Debian sid root'
    nothing_half_made
    dev 0 root
    out_has "$key"
    ! grep -q 2099 "$scratch/out" || complain 'the half-made root is used'
    number_of_roots 1
}

test_failing_without_any_root() {
    FAKE_BOOTSTRAP='Could not resolve host near.example' dev 3 shell true
    err_has 'does not answer'
    err_has 'making.log'
    times mmdebstrap 2 # the machine's mirror, then the public one
    number_of_roots 0
    nothing_half_made
    dev 0 shell true # the next start tries again
    number_of_roots 1
}

test_last_good_root_is_kept() {
    dev 0 shell true
    local first
    first=$(roots)
    another_list
    FAKE_BOOTSTRAP='unmet dependencies' dev 0 shell echo inside
    out_has inside
    err_has "last good root, $first"
    err_has 'snapshot.debian.org'
    times mmdebstrap 3
    FAKE_BOOTSTRAP='unmet dependencies' dev 0 shell echo again
    out_has again
    times mmdebstrap 3 # not at every start
    holds [ "$(roots)" = "$first" ]
    dev 0 root new
    number_of_roots 1
    holds [ "$(roots)" != "$first" ]
}

test_broken_root_is_not_kept() {
    PRUMO_FAKE_BROKEN=1 dev 3 shell true
    err_has 'g++: broken'
    number_of_roots 0
    nothing_half_made
}

test_old_root_goes_unless_in_use() {
    dev 0 shell true
    local first lock
    first=$(roots)
    exec {lock}< "$PRUMO_CACHE/roots/$first"
    flock -s "$lock"
    another_list
    dev 0 shell true
    number_of_roots 2
    exec {lock}<&-
    sleep 1 # the names of roots have seconds
    dev 0 root new
    number_of_roots 1
}

test_two_at_once() {
    FAKE_SLEEP=1 "$scratch/source/dev" shell true > /dev/null 2>&1 &
    sleep 0.5
    dev 0 shell echo second
    wait
    out_has second
    err_has 'Another ./dev is making the root'
    times mmdebstrap 1
    number_of_roots 1
}

test_killed_while_making() {
    FAKE_SLEEP=30 "$scratch/source/dev" shell true > /dev/null 2>&1 &
    sleep 1
    kill -KILL $! && wait $! 2> /dev/null
    dev 0 shell echo next
    out_has next
    number_of_roots 1
    nothing_half_made
}

test_mirrors() {
    inside_dev mirrors
    holds [ "$(paste -sd' ' "$scratch/out")" = 'http://near.example/debian http://deb.debian.org/debian' ]
    PRUMO_MIRROR=http://mine.example/d inside_dev mirrors
    holds [ "$(cat "$scratch/out")" = 'http://mine.example/d' ]
}

# ---- machines that cannot make a root ----------------------------------------------------------------------

test_no_namespaces() {
    FAKE_NO_NAMESPACES=1 dev 3 shell true
    err_has 'No permissions to create new namespace'
    err_has 'What may help'
    times mmdebstrap 0
}

test_no_room() {
    PRUMO_ROOT_KB=999999999999 dev 3 shell true
    err_has 'too little room'
    err_has 'PRUMO_CACHE'
    times mmdebstrap 0
}

test_cache_cannot_be_written() {
    touch "$scratch/file"
    PRUMO_CACHE=$scratch/file/cache dev 3 shell true
    err_has 'Cannot write to'
}

test_missing_tools_are_named() {
    inside_dev 'mkdir -p "$cache"; have() { [[ $1 != mmdebstrap && $1 != bwrap ]] && type -P "$1" > /dev/null; }
        need_tools || echo "$failure"'
    out_has 'mmdebstrap bubblewrap'
    out_has 'apt' # the user is told what to type; root is told that apt failed
    inside_dev 'have() { false; }; need_tools || echo "$failure"'
    out_has 'package manager'
    inside_dev 'uname() { echo Darwin; }; need_tools || echo "$failure"'
    out_has '--kokkos PREFIX'
}

test_failures_are_explained() {
    mkdir -p "$PRUMO_CACHE"
    local line
    while IFS='|' read -r line expected; do
        echo "$line" > "$PRUMO_CACHE/making.log"
        inside_dev 'explain_log http://m.example; echo "$failure"'
        out_has "$expected"
    done << 'END'
E: Write error - write (28: No space left on device)|disk is full
Err:1 http://m.example sid InRelease Could not connect to m.example:80|http://m.example does not answer
W: GPG error: NO_PUBKEY 648ACFD622F3D138|debian-archive-keyring
 libkokkos-dev : unmet dependencies.|snapshot.debian.org
E: newuidmap 123 failed|user namespaces
E: Failed to fetch http://m.example/x.deb 404 Not Found|does not have all of sid
something else|something else
END
}
