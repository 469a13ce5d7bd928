# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev check format | tidy, ./dev format. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # an inner shell expands some dollars; ./dev sets here and build

# tracked PATTERN...: prints the files that git tracks, separated by NUL.
tracked() { (cd "$here" && inside git -c safe.directory='*' ls-files -z -- "$@"); }

# tool NAME: prints the path of the root's version, or else of the host's.
tool() { inside bash -c "type -P $1-21 || type -P $1" || die 3 "There is no $1 on this machine. The Debian root has one: ./dev --root ..."; }

format_sources() {
    local clang_format
    clang_format=$(tool clang-format)
    # xargs runs where clang-format is: in the root, or on the host.
    tracked '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh' '*.hip' '*.inl' |
        (cd "$here" && inside xargs -0 -r -n 16 -P "$(cores)" "$clang_format" "$@")
}

check_format() {
    format_sources --dry-run -Werror || die 1 "Some files are not formatted; ./dev format formats them."
    say "Every file is formatted."
}

check_tidy() {
    local clang_tidy
    clang_tidy=$(tool clang-tidy)
    choose_build
    # clang-tidy needs the flags of each file, so here no folder is compiled as one.
    build+=-tidy
    lock_build
    configure -DPRUMO_FOLDERS_AT_ONCE=OFF
    unlock_build
    # Only files that this preset compiles, because clang-tidy needs their flags.
    local -a files=()
    local file
    while IFS= read -r -d '' file; do
        if grep -qF "\"$here/$file\"" "$build/compile_commands.json"; then files+=("$here/$file"); fi
    done < <(tracked '*.cpp')
    [[ ${#files[@]} -gt 0 ]] || die 1 "There is nothing to check: $build/compile_commands.json names no tracked file."
    # The flags are those of g++. It defaults to C++20, and its omp.h is where clang does not look.
    local -a flags=(--extra-arg-before=-std=c++20 --extra-arg=-Wno-unknown-warning-option)
    flags+=("--extra-arg=-idirafter$(inside bash -c 'dirname "$(g++ -print-file-name=include/omp.h)"')")
    # clang rejects these flags of g++'s optimiser and memory.
    mkdir -p "$build/tidy"
    sed -E 's/ (-fno-thread-jumps|-fschedule-insns|-fsched-pressure|--param=[^ ]*)//g' "$build/compile_commands.json" \
        >"$build/tidy/compile_commands.json"
    say "Running clang-tidy on ${#files[@]} files, $(cores) at a time (about 10 s a file)."
    printf '%s\0' "${files[@]}" |
        inside xargs -0 -n 1 -P "$(cores)" "$clang_tidy" -p "$build/tidy" --quiet "${flags[@]}" "$@" ||
        die 1 "clang-tidy found something; its findings are above."
}
