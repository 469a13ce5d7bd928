#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a compiler makes vector code of formulas that take vectors: their loops compute nothing with scalar instructions
and call nothing. Such a loop is ten times as slow, and every other test passes.

usage: check_vector_loops.py COMPILE_COMMANDS SOURCE OBJDUMP COMPILER [FLAG...]
       check_vector_loops.py --self-test

SOURCE is compiled by COMPILER with the include directories and definitions of the build, and with these flags alone, for x86.

Exit code 0: all loops are vector code; 1: findings, a line each, or no loop to look at; 2: wrong usage.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "headers"))
from compile_command import Compiler  # noqa: E402

FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
LOOP = re.compile(r"contiguous_elements<(?P<elements>.*)>::write_(cached|streaming)\(|compute_rest<(?P<rest>.*)>\(")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*)$")
RELOCATION = re.compile(r"^\s*[0-9a-f]+: R_\S+\s+(.*)$")  # follows an instruction, and names what it really calls
LOCAL = re.compile(r"\.text([+-]0x[0-9a-f]+)$")
SCALAR = re.compile(r"v?(add|sub|mul|div|sqrt|min|max|n?f?n?m(add|sub)\d+|u?comi)s[sd]$")
MAY_CALL = re.compile(r"\b(copy_rest|compute_rest|write_cached)\b")


def findings_in(lines):
    """The loops that were seen, and `loop: instruction` for each scalar computation and call in them."""
    loops, findings, calls, functions = set(), set(), [], {}
    loop, in_text = None, True
    for line in lines:
        if line.startswith("Disassembly of section "):
            in_text = line == "Disassembly of section .text:"
        begun, moved = FUNCTION.match(line), RELOCATION.match(line)
        if begun:
            if in_text:
                functions[int(begun.group(1), 16)] = begun.group(2)
            named = LOOP.search(begun.group(2))
            loop = (named["elements"] or named["rest"]) if named else None
            if loop:
                loops.add(loop)
            continue
        if moved:
            if loop and calls and calls[-1][1] is None:
                calls[-1] = (loop, moved.group(1))
            continue
        if calls and calls[-1][1] is None:
            calls.pop()
        found = INSTRUCTION.match(line) if loop else None
        if not found:
            continue
        name, operands = found.groups()
        if SCALAR.match(name):
            findings.add(f"{loop}: {name} {operands}")
        elif name.startswith("call"):
            target = re.search(r"<(.*)>", operands)
            within = target and LOOP.search(target.group(1)) and "+0x" in target.group(1)
            calls.append((loop, None if within else target.group(1) if target else operands))
    for where, target in calls:
        local = LOCAL.match(target or "")  # the place is that of the displacement, four bytes before the next instruction
        name = functions.get(int(local.group(1), 16) + 4, target) if local else target
        if name and not MAY_CALL.search(name):
            findings.add(f"{where}: call {name}")
    return loops, sorted(findings)


def self_test():
    head = "0 <prumo::detail::avx2::contiguous_elements<f, float, float>::{}(long, long) const>:"
    cached, other = head.format("write_cached"), head.format("blocks")
    good = ["  4: vmulps %ymm0,%ymm1,%ymm1", "  8: vbroadcastss (%rax),%ymm0", "  c: call 20 <void copy_rest<float>(int)>"]
    assert findings_in([cached, *good]) == ({"f, float, float"}, [])
    rest = "0 <void prumo::detail::avx2::compute_rest<(prumo::detail::lane_order)0, float, f>(f, long) [clone .isra.0]>:"
    assert findings_in([rest, *good]) == ({"(prumo::detail::lane_order)0, float, f"}, [])
    itself = "  4: call 9 <prumo::detail::avx2::contiguous_elements<f, float, float>::write_cached(long, long) const+0x9>"
    place = "    5: R_X86_64_PLT32	{}-0x4"
    assert findings_in([cached, itself, place.format("void copy_rest<float>(float const*)")])[1] == []
    assert len(findings_in([cached, itself, place.format("expf")])[1]) == 1
    local = [cached, itself, "    5: R_X86_64_PLT32 .text+0xbc", "c0 <{}>:"]
    assert findings_in([*local[:3], local[3].format("copy_rest<float>(float const*) [clone .isra.0]")])[1] == []
    assert len(findings_in([*local[:3], local[3].format("f::operator()")])[1]) == 1
    for bad in ["mulss %xmm0,%xmm1", "vfmadd213sd %xmm0,%xmm1,%xmm2", "vfnmadd231ss %xmm0,%xmm1,%xmm2", "ucomiss %xmm0,%xmm1",
                "call 20 <f::operator()(float) const>", "call 30 <expf@plt>"]:
        assert len(findings_in([cached, *good, f"  10: {bad}"])[1]) == 1, bad
        assert findings_in([other, f"  10: {bad}"]) == (set(), []), bad


def compile_source(commands, source, compiler, flags, target):
    words = Compiler(commands, source).words
    kept, take_next = [], False
    for word in words[1:]:
        if take_next or word.startswith(("-I", "-D", "-isystem", "-std=", "-fopenmp")):
            kept.append(word)
        take_next = word in ("-isystem", "-I")
    # The build's g++ knows where its omp.h is; Clang does not look there.
    omp = subprocess.run([shutil.which("g++") or words[0], "-print-file-name=include/omp.h"], stdout=subprocess.PIPE, text=True,
                         check=False).stdout.strip()
    if os.path.isabs(omp):
        kept += ["-idirafter", os.path.dirname(omp)]
    command = [compiler, *kept, *flags, "-DNDEBUG", "-w", "-c", source, "-o", target]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}")


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    commands, source, objdump, compiler, *flags = arguments
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "loops.o")
        compile_source(commands, source, compiler, flags, target)
        listing = subprocess.run([objdump, "-dr", "-C", "--no-show-raw-insn", target], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
    loops, findings = findings_in(listing.splitlines())
    if not loops:
        print("no loop was found", file=sys.stderr)
        return 1
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(loops)} loops")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
