#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the host's element-wise loops call no formula: one that is not compiled into its loop is computed number by
number, ten times as slow, and every other test passes.

usage: check_inlined_formulas.py OBJDUMP PROGRAM
       check_inlined_formulas.py --self-test

Exit code 0: none is called; 1: findings, a line each, or no loop to look at; 2: wrong usage.
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LOOP = "contiguous_host_kernel<"
CALLED = re.compile(r"\b(?:call|jmp)\w*\s+[0-9a-f]+ <(prumo::[\w:]*formula<[^()]*>::operator\(\)[^+]*)>")


def is_loop(function):
    """Loops over scalars that count flops may call what they like."""
    return LOOP in function and "counted<" not in function


def findings_in(lines):
    """The loops that were seen, and `loop calls formula` for each call out of one."""
    loops, findings = set(), set()
    function = ""
    for line in lines:
        begun = FUNCTION.match(line)
        if begun:
            function = begun.group(1)
            if is_loop(function):
                loops.add(function)
            continue
        called = CALLED.search(line) if is_loop(function) else None
        if called:
            kernel = function[function.index(LOOP):].split(" >")[0]
            findings.add(f"{kernel[:120]} calls {called.group(1)}")
    return loops, sorted(findings)


def self_test():
    kernel = "prumo::detail::contiguous_host_kernel<prumo::f_formula<{0}>, {0}, {0}>"
    call = "  4: call   2c0 <prumo::f_formula<float>::operator()(float) const [clone .isra.0]>"
    loop = f"0 <void run<{kernel.format('float')} >()>:"
    counting = f"0 <void run<{kernel.format('prumo::counted<float>')} >()>:"
    strided = "0 <void run<prumo::detail::strided_kernel<prumo::f_formula<float>, float> >()>:"
    within = "  4: jmp    12 <prumo::f_formula<float>::operator()(float) const+0x12>"
    assert findings_in([loop, "  4: ret", within]) == ({loop[3:-2]}, [])
    assert len(findings_in([loop, call])[1]) == 1
    assert findings_in([counting, call]) == findings_in([strided, call]) == (set(), [])


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    command = [arguments[0], "-d", "-C", "--no-show-raw-insn", arguments[1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listing:
        loops, findings = findings_in(listing.stdout)
    if listing.returncode != 0 or not loops:
        print(f"{' '.join(command)}: no loop was found in what it printed", file=sys.stderr)
        return 1
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(loops)} loops")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
