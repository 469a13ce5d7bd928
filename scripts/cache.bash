# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The user's cache folder: where it is, and whether what is in it can be trusted. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # ./dev and its other parts read cache and failure

# Sets cache. Without PRUMO_CACHE it is where the XDG base directory specification says. There is no default that other users
# can write to, such as /tmp, because programs from the cache are run.
choose_cache() {
    case ${HOME:-} in
        /*) ;;
        *) # The user database has it, too. Programs that ./dev starts look for it as well.
            HOME=$(unset HOME; printf '%s' ~) # bash prints / if there is none
            if [[ $HOME == / ]]; then unset HOME; else export HOME; fi
            ;;
    esac
    if [[ -n ${PRUMO_CACHE:-} ]]; then
        [[ $PRUMO_CACHE == /* ]] || die 2 "PRUMO_CACHE should be an absolute path, and is '$PRUMO_CACHE'."
        cache=$PRUMO_CACHE
    elif [[ ${XDG_CACHE_HOME:-} == /* ]]; then # the specification says to ignore relative paths
        cache=$XDG_CACHE_HOME/prumo
    elif [[ -n ${HOME:-} ]]; then
        cache=$HOME/.cache/prumo
    else
        die 3 "There is no place for the cache: HOME is not set, and the user database names no home folder." \
            "Set PRUMO_CACHE or XDG_CACHE_HOME to the absolute path of a folder that you own."
    fi
    if [[ -e $cache ]]; then refuse_foreign "$cache"; fi
}

# Makes the cache folder, which nobody else may read. If that is impossible, it sets failure and returns 1.
make_cache() {
    if ! (umask 077 && mkdir -p "$cache/roots") 2> /dev/null; then
        fail "Cannot write to $cache: set PRUMO_CACHE to a folder that you own."
    fi
}

# refuse_foreign PATH...: ends ./dev if one of them belongs to a user other than root, or if others may write to it. They could
# have put anything there for us to run.
refuse_foreign() {
    local path
    path=$(find -H "$@" -maxdepth 0 \( ! -user "$EUID" ! -user 0 -o -perm -020 -o -perm -002 \) -print -quit) || true
    [[ -n $path ]] || return 0
    # shellcheck disable=SC2012  # find of macOS prints no owners
    die 3 "Another user could have changed $path: $(ls -Lld "$path" | awk '{ print "it belongs to " $3 " and its mode is " $1 }')." \
        "./dev runs programs only from folders that belong to you or root and that nobody else can write to." \
        "Remove it, or set PRUMO_CACHE to a folder of your own. If only you have used it, chmod go-w is enough."
}
