# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Chooses, configures and builds the build folders. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154  # here, place, preset and others are set by ./dev

# Sets build. Each preset, toolchain and CPU has a folder of its own, because programs built with -march=native for one CPU
# crash on another. CI has another folder, too: its warnings are errors, and changed flags would rebuild everything.
choose_build() {
    local key
    [[ -f $here/CMakePresets.json ]] || die 3 "There is no CMakePresets.json in $here: is prumo's source complete?"
    has_preset "$preset" || die 2 "There is no preset '$preset'. The presets are: $(presets)."
    key=$({ echo "$toolchain"; cpu_facts; } | hash8)
    build=$(build_folders)/$preset${CI:+-ci}-$key
}

# Prints the folder in which build folders are made. A source that cannot be written, such as another user's, is built in the
# cache.
build_folders() {
    local inside=$here/build
    if [[ -n ${PRUMO_BUILD_DIR:-} ]]; then
        echo "$PRUMO_BUILD_DIR"
    elif [[ -w $inside || (! -e $inside && -w $here) ]]; then
        echo "$inside"
    else
        echo "$cache/builds/${here##*/}-$(hash8 <<< "$here")"
    fi
}

has_preset() { grep -qs "\"name\": *\"$1\"" "$here/CMakePresets.json"; }

# lock_build, unlock_build: one ./dev at a time configures and builds in a folder.
lock_build() {
    mkdir -p "$build" 2> /dev/null || die 3 "Cannot write to $build: set PRUMO_BUILD_DIR to a folder that you own."
    have flock || return 0 # macOS
    exec {build_lock}> "$build/.dev-lock"
    flock -n "$build_lock" && return
    say "Another ./dev is building in ${build#"$PWD"/}; waiting for it."
    flock "$build_lock"
}
unlock_build() { [[ -z ${build_lock:-} ]] || exec {build_lock}>&-; }

# configure [ARGUMENT...]: configures unless that was done with the same arguments. CMake notices later changes of its files by
# itself.
configure() {
    local -a args=(-S "$here" --preset "$preset" -B "$build" "$@")
    [[ -z ${kokkos_prefix:-} ]] || args+=("-DKokkos_ROOT=$kokkos_prefix")
    if [[ -n ${CI:-} ]]; then args+=(-DPRUMO_WARNINGS_AS_ERRORS=ON); fi
    if [[ ${PRUMO_CCACHE:-0} == 1 ]]; then args+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    if configured_with "${args[@]}"; then return; fi
    run_cmake "preset '$preset'" "${args[@]}"
    note_gpus
}

configured_with() {
    local made=$build/.configured-by-dev
    [[ -f $build/build.ninja && -f $made && $(cat "$made") == "$*" ]]
}

# run_cmake WHAT ARGUMENT...
run_cmake() {
    local what=$1 made=$build/.configured-by-dev
    shift
    # The cache would keep arguments of an earlier configuration that this one does not have.
    rm -f "$build/CMakeCache.txt" "$made" 2> /dev/null || true
    say "Configuring ${build#"$PWD"/} (takes about 5 s)."
    if ! inside cmake "$@" > "$build/configure.log" 2>&1; then
        cat "$build/configure.log" >&2
        die 1 "CMake could not configure $what."
    fi
    echo "$*" > "$made"
}

presets() { sed -n 's/.*"name": *"\([^"]*\)".*/\1/p' "$here/CMakePresets.json" | sort -u | grep -vx base | paste -sd' '; }

# build_targets TARGET...: prints nothing if nothing is to do. Its messages go to stderr, because stdout is the program's.
build_targets() {
    local jobs status=0
    if inside ninja -C "$build" -n "$@" 2> /dev/null | grep -q 'no work to do'; then return; fi
    jobs=$(jobs_at_once)
    say "Building in ${build#"$PWD"/} with $jobs jobs (a first build takes minutes on 2 cores, a change seconds)."
    inside ninja -C "$build" -j "$jobs" "$@" >&2 || status=$?
    case $status in
        0) ;;
        130 | 143) exit "$status" ;;
        *) die 1 "The build failed; the errors are above." ;;
    esac
}

# Prints the front-end and every worker that this preset builds.
programs() { inside ninja -C "$build" -t targets all | sed -nE 's#^(bin/prumo(-worker-[^/:]*)?): .*#\1#p'; }

# Says so if the machine has a GPU that this build cannot use.
note_gpus() {
    case $preset in cuda* | hip*) return ;; esac
    if [[ -e /dev/nvidia0 ]]; then
        say "There is an NVIDIA GPU, but this build is for the CPU only. With a Kokkos built for CUDA, use ./dev --kokkos PREFIX ..."
    elif [[ -e /dev/kfd ]]; then
        say "There is an AMD GPU, but this build is for the CPU only. With a Kokkos built for HIP, use ./dev --kokkos PREFIX ..."
    fi
}
