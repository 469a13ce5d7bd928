#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what no compiler does: licence lines, forbidden words, which layer includes which, and the size of folders.

usage: check_tree.py ROOT
       check_tree.py --self-test

Exit code 0: nothing found; 1: findings, a line each; 2: wrong usage.
"""
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
FOLDERS = ("core", "machine", "backends", "ops", "nets", "bench", "tests", "cmake", "examples", "scripts", "dev", "docs")
CPP = (".hpp", ".cpp", ".h", ".c", ".cu", ".hip", ".inc", ".in")
SOURCES = CPP + (".cmake", ".py", ".bash", ".sh")

# Nothing but Kokkos and vendor libraries below the programs.
PROGRAM_LIBRARIES = re.compile(r"^(CLI/|nlohmann/|fmt/|spdlog/|boost/)")
LAMBDA = re.compile(r"\bKOKKOS_(CLASS_)?LAMBDA\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# All that the front-end prints passes one function, which keeps control characters from the terminal.
PRINTS = re.compile(r"\b(fmt::print|std::(cout|cerr|f?printf|puts|fputs|fwrite))\b")
PRINTER = "bench/prumo/terminal/standard_output.cpp"
# A folder may include the public headers of the layers before it and of itself.
LAYERS = ("core", "backends", "ops", "nets/description", "nets")
# What a net is, as data. Who has no Kokkos includes it, too.
DATA_LAYER = "nets/description"
# Beside backends and ops: what workers know of a machine, which operations do without.
BESIDE = ("machine",)
PROGRAMS = ("bench/files", "bench/data", "bench/protocol", "bench/serving", "bench/inference", "bench/worker",
            "bench/prumo")
# The same within the front-end.
FRONT_END = ("terminal", "statistics", "privacy", "results", "rates", "workers", "plan", "cases", "ceilings", "measure", "reports",
             "comparison", "comparison/report", "crossover", "inference", "training", "command_line/options", "command_line/verbs",
             "command_line/verbs/data", "command_line")
MOST_SOURCES = 25  # of one folder


def files_of(root):
    """What git tracks and what it would, or everything where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(root)) for folder in FOLDERS for path in sorted(root.glob(f"{folder}/**/*"))]
    return [name for name in listed if name.split("/")[0] in FOLDERS + ("CMakeLists.txt",) and (root / name).is_file()]


def without_comments(text):
    """The same lines with comments and strings blanked, so that only code is judged."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return token.sub(lambda found: "\n" * found.group().count("\n"), text)


def header_owners(files):
    """The layer of each public header: prumo/sum.hpp is the ops'."""
    owners = {}
    for name in files:
        parts = name.split("/")
        if "prumo" in parts[1:-1] and name.endswith(".hpp"):
            start = len(parts) - 2 - parts[-2::-1].index("prumo")
            whole_folder = parts[0] == "bench" or name.startswith(DATA_LAYER + "/")
            owners["/".join(parts[start:])] = "/".join(parts[:2]) if whole_folder else parts[0]
    owners.update({"prumo/prumo.hpp": "ops", "prumo/version.hpp": "core"})  # generated
    return owners


def forbidden_layers(name):
    """The layers whose headers the file may not include."""
    first = name.split("/")[0]
    without_kokkos = tuple(layer for layer in LAYERS if layer != DATA_LAYER) + BESIDE
    if name.startswith(DATA_LAYER + "/"):
        return without_kokkos + PROGRAMS
    if first in LAYERS:
        beside = () if name.endswith("_test.cpp") else BESIDE
        return LAYERS[LAYERS.index(first) + 1 :] + beside + PROGRAMS
    if first in BESIDE:
        return LAYERS[1:] + PROGRAMS
    if name.startswith("bench/prumo/"):
        return without_kokkos + ("bench/serving", "bench/inference", "bench/worker")
    if name.startswith("bench/data/"):
        return without_kokkos + ("bench/serving", "bench/inference", "bench/worker", "bench/prumo")
    if name.startswith("bench/files/"):
        return LAYERS + BESIDE + ("bench/data", "bench/protocol", "bench/serving", "bench/inference", "bench/worker",
                                  "bench/prumo")
    if name.startswith("bench/protocol/"):
        return LAYERS + BESIDE + ("bench/serving", "bench/inference", "bench/worker", "bench/prumo")
    if name.startswith("bench/serving/"):
        return LAYERS + BESIDE + ("bench/inference", "bench/worker", "bench/prumo")
    if name.startswith("bench/inference/"):
        return ("core", "backends", "ops", "machine", "bench/serving", "bench/worker", "bench/prumo")
    if name.startswith("bench/worker/"):
        return ("bench/prumo",)
    if first == "examples":
        return PROGRAMS
    return ()


def is_test(name):
    return "tests" in name.split("/")[:-1]


def check_includes(name, text, owners):
    first = name.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, header = found.group(1) == '"', found.group(2)
        if first in LAYERS + BESIDE and PROGRAM_LIBRARIES.match(header):
            yield f"{name}:{number}: {first}/ uses Kokkos and vendor libraries only, not <{header}>"
        if name.startswith("bench/prumo/") and not is_test(name):
            if re.match(r"(Kokkos_|cblas\.h|cuda|hip/|hwloc)", header):
                yield f"{name}:{number}: the front-end has no Kokkos and no vendor library, not <{header}>"
        owner = owners.get(header)
        if owner in forbidden_layers(name):
            yield f"{name}:{number}: {first}/ may not include <{header}>, which belongs to {owner}/"
        if quoted and header.startswith("../") and not is_test(name):
            yield f"{name}:{number}: \"{header}\" reaches into another folder; use its public header"


def check_file(root, name, owners):
    path = root / name
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        if path.suffix in SOURCES:
            yield f"{name}: is not UTF-8"
        return
    is_source = path.suffix in SOURCES or path.name in ("CMakeLists.txt", "dev") or text.startswith("#!")
    lines = text.splitlines() or [""]
    if is_source and LICENCE not in "\n".join(lines[: 2 if lines[0].startswith("#!") else 1]):
        yield f"{name}:1: the first line (after #!) is not '{LICENCE}'"
    if path.suffix not in CPP:
        return
    if path.suffix == ".hpp" and "#pragma once" not in text:
        yield f"{name}: a header without #pragma once"
    yield from check_includes(name, text, owners)
    if name.startswith("bench/prumo/") and not is_test(name) and name != PRINTER:
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if PRINTS.search(line):
                yield f"{name}:{number}: text for people is printed by print_output() and print_error() of terminal/standard_output.hpp"
    if name.split("/")[0] in LAYERS + BESIDE:
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if LAMBDA.search(line):
                yield f"{name}:{number}: kernels are named functors, not KOKKOS_LAMBDA (it ruins the host half of nvcc builds)"


def check_folder_sizes(files):
    sources = {}
    for name in files:
        if name.endswith(SOURCES):
            sources.setdefault(posixpath.dirname(name), []).append(name)
    for folder, names in sources.items():
        if len(names) > MOST_SOURCES:
            yield f"{folder}/ has {len(names)} sources of its own, more than {MOST_SOURCES}: split it by what they are for"


def include_root(name):
    """The folder in which compilers look for what a file includes of its own program or operation."""
    return "/".join(name.split("/")[:2])


def included_files(root, files):
    """Each include of a file of the tree by another one: (who includes, which line, what)."""
    known = set(files)
    public = {}
    # Each folder of these layers is in the include path of its own layer and of those above.
    searched = sorted({"/".join(name.split("/")[:2]) for name in files if name.split("/")[0] in LAYERS[1:] + BESIDE})
    for name in files:
        parts = name.split("/")
        if "prumo" in parts[1:-1] and name.endswith(".hpp"):
            public["/".join(parts[len(parts) - 2 - parts[-2::-1].index("prumo") :])] = name
    for name in files:
        if not name.endswith(CPP) or is_test(name):
            continue
        for number, line in enumerate((root / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            header = found.group(2)
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), header))
            through_path = [f"{include_root(name)}/{header}"]
            if name.split("/")[0] in LAYERS + BESIDE and found.group(1) == '"':
                through_path += [f"{folder}/{header}" for folder in searched]
            for path in (beside, *through_path, public.get(header)):
                if path in known:
                    yield name, number, path
                    break


def folder_of(name):
    """The folder that a file belongs to; `detail`, with what it holds, is a part of the folder that it lies in."""
    return re.sub(r"/detail(/.*)?$", "", posixpath.dirname(name))


def check_folder_order(root, files):
    """Folders of the front-end include those before them; nowhere do folders include each other in a circle."""
    included = {}  # by folder: the folders that it includes, with a place where it does
    for name, number, path in included_files(root, files):
        here, there = folder_of(name), folder_of(path)
        if here != there:
            included.setdefault(here, {}).setdefault(there, f"{name}:{number}")
        order = [posixpath.relpath(folder, "bench/prumo") for folder in (here, there)]
        if all(folder in FRONT_END for folder in order) and FRONT_END.index(order[1]) > FRONT_END.index(order[0]):
            yield f"{name}:{number}: {order[0]}/ stands before {order[1]}/ in the front-end and may not include it"
    for circle in circles_of(included):
        places = [included[here][there] for here, there in zip(circle, circle[1:])]
        yield f"{' -> '.join(circle)}: folders include each other in a circle, at {', '.join(places)}"
    for name in files:
        if not name.startswith("bench/prumo/") or not name.endswith(CPP) or is_test(name):
            continue
        inside = posixpath.relpath(posixpath.dirname(name), "bench/prumo")
        if inside not in FRONT_END + (".",):
            yield f"{name}: the folder {inside}/ has no place in the order of the front-end (FRONT_END in check_tree.py)"


def circles_of(arrows):
    """One circle for each place where a walk along the arrows comes back to where it has been."""
    done = set()

    def walk(folder, path):
        if folder in path:
            yield path[path.index(folder) :] + [folder]
        elif folder not in done:
            for following in arrows.get(folder, ()):
                yield from walk(following, path + [folder])
            done.add(folder)

    for folder in arrows:
        yield from walk(folder, [])


def check_tree(root):
    files = files_of(root)
    owners = header_owners(files)
    findings = [finding for name in files for finding in check_file(root, name, owners)]
    findings += check_folder_sizes(files)
    findings += check_folder_order(root, files)
    return findings, len(files)


def self_test():
    """A tree with one fault of each kind, and one without."""
    line = f"// {LICENCE}\n"
    clean = {
        "core/prumo/a.hpp": line + "#pragma once\n// no KOKKOS_LAMBDA here\n",
        "ops/sum/prumo/sum.hpp": line + "#pragma once\n#include <prumo/a.hpp>\n",
        "backends/host/b.cpp": line + '#include <prumo/a.hpp>\n#include "b.hpp"\n',
        "machine/prumo/machine/facts.hpp": line + "#pragma once\n#include <prumo/a.hpp>\n",
        "bench/worker/w.cpp": line + "#include <prumo/machine/facts.hpp>\n",
        "bench/prumo/main.cpp": line + "#include <CLI/CLI.hpp>\n",
        "bench/protocol/prumo/protocol/messages.hpp": line + "#pragma once\n",
        "bench/serving/prumo/serving/server.hpp": line + "#pragma once\n#include <prumo/protocol/messages.hpp>\n",
        "bench/prumo/terminal/t.hpp": line + "#pragma once\n",
        "bench/prumo/workers/w.hpp": line + '#pragma once\n#include "terminal/t.hpp"\n#include <prumo/protocol/messages.hpp>\n',
        "ops/sum/detail/d.hpp": line + "#pragma once\n",
        "ops/sum/sum_problem.hpp": line + "#pragma once\n",
        "ops/near/near.hpp": line + '#pragma once\n#include "sum_problem.hpp"\n',
        **{f"bench/prumo/plan/{number}.cpp": line for number in range(MOST_SOURCES)},
        **{f"bench/prumo/plan/tests/{number}.cpp": line for number in range(MOST_SOURCES)},
    }
    faults = {
        "core/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "backends/host/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "ops/w.cpp": (line + "#include <prumo/machine/facts.hpp>\n", "belongs to machine"),
        "machine/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "ops/x.cpp": (line + "#include <nlohmann/json.hpp>\n", "vendor libraries only"),
        "ops/y.cpp": (line + "auto f = KOKKOS_LAMBDA(int) {};\n", "named functors"),
        "ops/z.cpp": (line + '#include "../sum/detail.hpp"\n', "another folder"),
        "bench/prumo/x.cpp": (line + "#include <Kokkos_Core.hpp>\n", "front-end"),
        "bench/prumo/y.cpp": (line + "#include <prumo/a.hpp>\n", "belongs to core"),
        "bench/prumo/z.cpp": (line + "#include <prumo/serving/server.hpp>\n", "belongs to bench/serving"),
        "bench/prumo/plan.cpp": (line + "void f() { std::cout << 1; }\n", "print_output"),
        "bench/prumo/statistics/x.cpp": (line + '#include "workers/w.hpp"\n', "stands before workers/"),
        "bench/prumo/plan/x.cpp": (line, "26 sources of its own"),
        "bench/prumo/plan/tests/x.cpp": (line, "26 sources of its own"),
        "bench/prumo/attic/x.cpp": (line, "no place in the order"),
        "bench/peers/prumo/p.hpp": (line + '#pragma once\n#include "near/q.hpp"\n', "in a circle"),
        "ops/sum/x.cpp": (line + '#include "near.hpp"\n', "in a circle"),
        "ops/sum/problem/p.hpp": (line + '#pragma once\n#include "host/q.hpp"\n', "in a circle"),
        "core/y.cpp": ("int x;\n", "SPDX"),
        "core/prumo/y.hpp": (line, "pragma once"),
        "core/CMakeLists.txt": ("add_library(x)\n", "SPDX"),
    }
    # The files that the faults above need beside them.
    other_halves = {
        "bench/peers/prumo/p.hpp": {"bench/peers/prumo/near/q.hpp": "#pragma once\n#include <prumo/p.hpp>\n"},
        "ops/sum/problem/p.hpp": {"ops/sum/host/q.hpp": '#pragma once\n#include "problem/p.hpp"\n'},
    }
    for name, (text, expected) in {"": ("", ""), **faults}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            beside = {path: line + content for path, content in other_halves.get(name, {}).items()}
            for path, content in {**clean, **beside, **({name: text} if name else {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            findings, _ = check_tree(root)
        right = len(findings) == 1 and expected in findings[0] if name else not findings
        if not right:
            print(f"self-test: {name or 'the clean tree'}: found {findings}")
            return 1
    print(f"{len(faults)} kinds of fault are found")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    findings, count = check_tree(Path(sys.argv[1]))
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {count} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
