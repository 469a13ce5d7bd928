#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that headers include Kokkos, so that a source which begins with it compiles them as one that does not:
check_precompiled.py FOLDER... --without HEADER..."""
import re
import sys
from pathlib import Path


def unconditional_includes(text):
    """What is included whatever macros are defined."""
    depth = 0
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(if|endif|include)\w*\s*(?:[<\"]([^>\"]+))?", line)
        if not directive:
            continue
        depth += {"if": 1, "endif": -1}.get(directive[1], 0)
        if directive[1] == "include" and depth == 0:
            yield directive[2]


def includes_kokkos(header, headers, visited):
    if header == "Kokkos_Core.hpp":
        return True
    if header in visited or header not in headers:
        return False
    visited.add(header)
    return any(includes_kokkos(other, headers, visited) for other in headers[header])


def main(arguments):
    end = arguments.index("--without")
    folders, without = arguments[:end], set(arguments[end + 1 :])
    headers = {}
    for folder in folders:
        for path in Path(folder, "prumo").rglob("*.hpp"):
            name = str(path.relative_to(folder))
            headers[name] = list(unconditional_includes(path.read_text(encoding="utf-8")))
    faults = [
        f"<{header}> does not include Kokkos: name it in headers_without_kokkos in tests/headers/CMakeLists.txt"
        for header in sorted(headers)
        if header not in without and not includes_kokkos(header, headers, set())
    ]
    faults += [f"headers_without_kokkos names <{header}>, which is no header" for header in sorted(without - headers.keys())]
    print("\n".join(faults) or f"{len(headers) - len(without)} headers include Kokkos")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
