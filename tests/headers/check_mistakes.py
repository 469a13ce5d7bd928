#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the compiler tells of users' mistakes in prumo's words, and briefly.

usage: check_mistakes.py COMPILE_COMMANDS SOURCE MISTAKES

MISTAKES is a file with a part for each `MISTAKE == number  // what the compiler has to say`. The compiler is run with the
flags of SOURCE, a source of the build.
"""
import concurrent.futures
import re
import sys
import tempfile

from compile_command import Compiler

MOST_LINES = 45


def fault_of(compiler, header, file, number, expected):
    """What is wrong with the compiler's words for a mistake, or an empty string."""
    printed, status = compiler.run("-fsyntax-only", f"-DMISTAKE={number}", "-fdiagnostics-color=never", "-include", header,
                                   file)
    lines = printed.count("\n")
    if (status != 0) != (number != 0):
        return f"mistake {number} compiles" if number != 0 else f"without a mistake, the file does not compile:\n{printed}"
    if number != 0 and expected not in printed:
        return f"mistake {number}: '{expected}' is not in what the compiler says:\n{printed}"
    if number != 0 and lines > MOST_LINES:
        return f"mistake {number}: the compiler says {lines} lines, more than {MOST_LINES}:\n{printed}"
    return ""


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    compiler, file = Compiler(arguments[0], arguments[1]), arguments[2]
    with open(file, encoding="utf-8") as text:
        mistakes = [(int(number), expected) for number, expected in
                    re.findall(r"MISTAKE == (\d+)  // (.*)", text.read())]
    if [number for number, _ in mistakes] != list(range(1, len(mistakes) + 1)):
        sys.exit(f"{file}: the mistakes are not numbered from 1")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        # Precompiled: to read Kokkos takes nearly all of the time.
        header = f"{folder}/all.hpp"
        with open(header, "w", encoding="utf-8") as text:
            text.write("#include <prumo/prumo.hpp>\n")
        printed, status = compiler.run("-x", "c++-header", header, "-o", f"{header}.gch")
        if status != 0:
            sys.exit(f"<prumo/prumo.hpp> does not compile:\n{printed}")
        faults = list(pool.map(lambda mistake: fault_of(compiler, header, file, *mistake), [(0, "")] + mistakes))
    print("\n".join(fault for fault in faults if fault) or f"{len(mistakes)} mistakes are told briefly")
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
