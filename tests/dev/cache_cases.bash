# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cases of dev_test.bash: where the cache folder is, who may write to it, damaged roots, and sources of other users.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # other shells expand some dollars; dev_test.bash sets scratch and others

# ---- where the cache is ------------------------------------------------------------------------------------

# cache_of [NAME=VALUE...]: prints the cache folder that ./dev chooses in this environment, or what it complains of.
cache_of() {
    env -i "PATH=$PATH" "$@" bash -c 'here=$1; for part in common cache; do source "$here/scripts/$part.bash"; done
        choose_cache; echo "$cache" "${HOME-}"' - "$scratch/source" > "$scratch/out" 2>&1
}

test_cache_folder() {
    local home
    home=$(getent passwd "$EUID" | cut -d: -f6)
    cache_of PRUMO_CACHE=/somewhere HOME=/h; out_has '/somewhere /h'
    cache_of XDG_CACHE_HOME=/xdg HOME=/h; out_has '/xdg/prumo /h'
    cache_of HOME=/h; out_has '/h/.cache/prumo /h'
    cache_of XDG_CACHE_HOME=relative HOME=/h; out_has '/h/.cache/prumo /h'
    cache_of HOME=; out_has "$home/.cache/prumo $home"
    cache_of; out_has "$home/.cache/prumo $home"
    cache_of HOME=relative; out_has "$home/.cache/prumo $home"
    cache_of PRUMO_CACHE=relative HOME=/h; out_has "PRUMO_CACHE should be an absolute path, and is 'relative'"
}

test_cache_of_a_user_without_home() {
    can_change_user || return 0
    setpriv --reuid 54321 --regid 54321 --clear-groups env -i "PATH=$PATH" bash -c 'here=$1
        for part in common cache; do source "$here/scripts/$part.bash"; done; choose_cache; echo "$cache"' \
        - "$repository" > "$scratch/out" 2> "$scratch/err" && complain 'it has a cache'
    err_has 'HOME is not set, and the user database names no home folder'
    err_has 'PRUMO_CACHE or XDG_CACHE_HOME'
}

# Whether this test may start processes of other users.
can_change_user() { [[ $EUID -eq 0 ]] && setpriv --reuid 54321 --regid 54321 --clear-groups test -r "$repository/dev" 2> /dev/null; }

# ---- who may write to it -----------------------------------------------------------------------------------

test_nothing_is_run_from_a_folder_that_others_can_write_to() {
    dev 0 shell true
    local root place
    root=$PRUMO_CACHE/roots/$(roots)
    for place in "$PRUMO_CACHE" "$PRUMO_CACHE/roots" "$root" "$root/usr/bin" "$root/etc"; do
        for mode in 757 775; do
            chmod "$mode" "$place"
            : > "$calls"
            dev 3 shell true
            err_has "Another user could have changed $place: it belongs to"
            times bwrap 0
            chmod 755 "$place"
        done
    done
    dev 0 shell true
    quiet
}

test_nothing_is_run_from_a_folder_of_another_user() {
    [[ $EUID -eq 0 ]] || return 0
    dev 0 shell true
    local root place
    root=$PRUMO_CACHE/roots/$(roots)
    for place in "$PRUMO_CACHE" "$PRUMO_CACHE/roots" "$root" "$root/usr/bin" "$root/etc/prumo/root"; do
        chown 54321 "$place"
        : > "$calls"
        dev 3 shell true
        err_has "Another user could have changed $place: it belongs to 54321"
        times bwrap 0
        times mmdebstrap 0
        chown 0 "$place"
    done
}

test_others_cannot_write_to_a_new_cache() {
    (umask 000; dev 0 shell true)
    holds [ -z "$(find "$PRUMO_CACHE" "$PRUMO_CACHE/roots" -maxdepth 0 -perm /022)" ]
}

# ---- damaged roots -----------------------------------------------------------------------------------------

# damaged_root_is_made_anew WHAT: complains unless ./dev notices the damage to the only root, names it, and makes a new one.
damaged_root_is_made_anew() {
    : > "$calls"
    dev 0 shell echo inside
    out_has inside
    err_has "is damaged: $1"
    times mmdebstrap 1
    number_of_roots 1
    dev 0 shell true
    quiet
}

test_damaged_root() {
    dev 0 shell true
    sleep 1 # the names of roots have seconds
    rm "$PRUMO_CACHE"/roots/*/usr/lib/cpu/libkokkossimd.a
    damaged_root_is_made_anew '1 of its files are missing or changed, such as usr/lib/cpu/libkokkossimd.a'
    sleep 1
    echo cut > "$(echo "$PRUMO_CACHE"/roots/*/usr/lib/cpu/libkokkosalgorithms.a)"
    damaged_root_is_made_anew '1 of its files are missing or changed, such as usr/lib/cpu/libkokkosalgorithms.a'
    sleep 1
    rm -r "$PRUMO_CACHE"/roots/*/usr/{bin,include}
    damaged_root_is_made_anew '2 of its files are missing or changed, such as usr/bin'
    sleep 1
    rm "$PRUMO_CACHE"/roots/*/etc/prumo/contents
    damaged_root_is_made_anew 'it lacks the list of its files'
    sleep 1
    mkdir "$PRUMO_CACHE/roots/$(roots)/usr/include/added"
    dev 0 shell true # what was added does no harm
    quiet
}

test_damaged_root_that_cannot_be_made_anew() {
    dev 0 shell true
    rm -r "$PRUMO_CACHE"/roots/*/usr/include
    FAKE_BOOTSTRAP='Could not resolve host near.example' dev 3 shell true
    err_has 'is damaged: 1 of its files'
    err_has 'does not answer'
    holds [ "$(grep -c 'is damaged' "$scratch/err")" -eq 1 ]
}

# ---- sources of other users, and folders that cannot be written --------------------------------------------

test_source_that_cannot_be_written_is_built_in_the_cache() {
    make_project
    chmod -R a-w "$scratch/source"
    local -a as=()
    if [[ -w $scratch/source ]]; then # root can write to it in spite of its mode
        can_change_user || return 0
        chmod 755 "$scratch"
        mkdir -m 700 "$PRUMO_CACHE" && chown 54321 "$PRUMO_CACHE" && chmod 666 "$calls" || return
        as=(setpriv --reuid 54321 --regid 54321 --clear-groups)
    fi
    "${as[@]+"${as[@]}"}" "$scratch/source/dev" bench 0 > "$scratch/out" 2> "$scratch/err"
    out_has 'prumo bind=none'
    holds [ -x "$(echo "$PRUMO_CACHE"/builds/source-*/openmp-*/bin/prumo)" ]
    "${as[@]+"${as[@]}"}" "$scratch/source/dev" clean > "$scratch/out" 2> "$scratch/err"
    err_has 'Removing'
    holds [ ! -e "$(echo "$PRUMO_CACHE"/builds/source-*)" ]
    chmod -R u+w "$scratch/source"
}

test_paths_with_spaces_and_umlauts() {
    make_project
    mv "$scratch/source" "$scratch/Süße Straße"
    ln -s "Süße Straße" "$scratch/source"
    export PRUMO_CACHE="$scratch/ein Ort für Würze"
    dev 0 bench 0
    out_has 'prumo bind=none bench 0'
    dev 0 test -R first
    out_has '100% tests passed'
    holds [ -d "$scratch/Süße Straße/build" ]
    dev 0 clean
    holds [ ! -d "$scratch/Süße Straße/build" ]
}
