# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ./dev check format | tidy, ./dev format. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # dollars for an inner shell; here and build are set by ./dev

# tracked PATTERN...: files that git knows, NUL between them.
tracked() { (cd "$here" && inside git -c safe.directory='*' ls-files -z -- "$@"); }

# tool NAME: the version that the root has, or what the host calls it.
tool() { inside bash -c "type -P $1-21 || type -P $1" || die 3 "There is no $1 on this machine; ./dev --root ... has one."; }

format_sources() {
    local clang_format
    clang_format=$(tool clang-format)
    # One -- ends git's options, the files follow; xargs runs within the root as well.
    tracked '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh' '*.hip' '*.inl' |
        (cd "$here" && inside xargs -0 -r -n 16 -P "$(cores)" "$clang_format" "$@")
}

check_format() {
    format_sources --dry-run -Werror || die 1 "Some files are not formatted; ./dev format does it."
    say "Every file is formatted."
}

check_tidy() {
    local clang_tidy
    clang_tidy=$(tool clang-tidy)
    choose_build
    lock_build
    configure
    unlock_build
    # Only what this preset compiles: tidy knows no flags for the others.
    local -a files=()
    local file
    while IFS= read -r -d '' file; do
        if grep -qF "\"$here/$file\"" "$build/compile_commands.json"; then files+=("$here/$file"); fi
    done < <(tracked '*.cpp')
    [[ ${#files[@]} -gt 0 ]] || die 1 "Nothing to look at: $build/compile_commands.json names no tracked file."
    # The flags are g++'s, which says C++20 by saying nothing and has omp.h where clang does not look.
    local -a flags=(--extra-arg-before=-std=c++20 --extra-arg=-Wno-unknown-warning-option)
    flags+=("--extra-arg=-idirafter$(inside bash -c 'dirname "$(g++ -print-file-name=include/omp.h)"')")
    # Flags of g++'s optimiser alone, which clang calls errors.
    mkdir -p "$build/tidy"
    sed 's/ -fno-thread-jumps//g; s/ -fschedule-insns//g; s/ -fsched-pressure//g' "$build/compile_commands.json" \
        >"$build/tidy/compile_commands.json"
    say "clang-tidy on ${#files[@]} files, $(cores) at once (some 10 s a file)."
    printf '%s\0' "${files[@]}" |
        inside xargs -0 -n 1 -P "$(cores)" "$clang_tidy" -p "$build/tidy" --quiet "${flags[@]}" "$@" ||
        die 1 "clang-tidy found something; it stands above."
}
