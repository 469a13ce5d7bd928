#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what <prumo/prumo.hpp> defines for the preprocessor, beyond what <Kokkos_Core.hpp> defines.

usage: check_macros.py COMPILE_COMMANDS SOURCE [FLAG...]

SOURCE is a source of the build that includes the header; the compiler is run with its flags and these. Every macro begins
with PRUMO_, apart from names with a leading underscore, which belong to the standard library; there are few; and no header
of a processor's intrinsics is read.
"""
import re
import sys

from compile_command import Compiler

MOST = 40
INTRINSICS = re.compile(r"/(\w*intrin|arm_neon|arm_sve|arm_acle|altivec)\.h$")


def preprocessed(compiler, option, header, flags):
    printed, status = compiler.run("-x", "c++", "-E", option, *flags, "-", text=f"#include <{header}>\n")
    if status != 0:
        sys.exit(f"<{header}> does not compile:\n{printed}")
    return printed


def macros_of(compiler, header, flags):
    return set(re.findall(r"^#define (\w+)", preprocessed(compiler, "-dM", header, flags), re.MULTILINE))


def intrinsics_of(compiler, header, flags):
    files = preprocessed(compiler, "-M", header, flags).replace("\\\n", " ").split()
    return {name for name in files if INTRINSICS.search(name)}


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    compiler, flags = Compiler(arguments[0], arguments[1]), arguments[2:]
    ours, theirs = "prumo/prumo.hpp", "Kokkos_Core.hpp"
    faults = [f"<{ours}> includes {name}" for name in
              sorted(intrinsics_of(compiler, ours, flags) - intrinsics_of(compiler, theirs, flags))]
    added = sorted(name for name in macros_of(compiler, ours, flags) - macros_of(compiler, theirs, flags)
                   if not name.startswith("_"))
    faults += [f"<{ours}> defines {name}, which does not begin with PRUMO_" for name in added
               if not name.startswith("PRUMO_")]
    if len(added) > MOST:
        faults.append(f"<{ours}> defines {len(added)} macros, more than {MOST}: {' '.join(added)}")
    print("\n".join(faults) if faults else f"{len(added)} macros: {' '.join(added)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
