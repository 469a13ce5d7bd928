# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program around a peer: its options, and what it says where its framework is missing.

Nothing here needs more than Python itself.
"""

import importlib
import os
import sys

from prumo_peers import __version__


ROOT_MARK = "/etc/prumo/root"  # there inside the Debian that ./dev makes


def install_command(packages):
    """The command that makes packages importable for the workers that prumo starts."""
    prefix = "./dev shell " if os.path.exists(ROOT_MARK) else ""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # prumo ignores it, too
        cache = os.path.join("~", ".cache")
    folder = os.path.join(cache, "prumo", "python")
    return f"{prefix}python3 -m venv {folder} && {prefix}{folder}/bin/python3 -m pip install {packages}"


def refuse(peer, why, command):
    """Ends the program with exit code 3 and one line that holds the command to install what a peer needs."""
    print(f"prumo_peers.{peer}: {why}: {command}".replace("\n", " "), file=sys.stderr)
    raise SystemExit(3)


def require(peer, packages, modules):
    """Imports what a peer needs, before anything else of it does, and refuses where a module is missing."""
    for module in modules:
        try:
            importlib.import_module(module)
            continue
        except ImportError as problem:
            missing = isinstance(problem, ModuleNotFoundError) and problem.name == module
            why = f"{module} is not installed" if missing else f"{module} cannot be imported ({problem})"
        refuse(peer, why, install_command(packages))


def run(framework, description):
    """Answers requests by a framework, a class whose making may fail with ImportError or RuntimeError where it has no
    device; returns the exit code."""
    from prumo_peers.common import protocol, worker

    name = f"prumo_peers.{framework.name}"
    for argument in sys.argv[1:]:
        if argument in ("--help", "-h"):
            print(f"{name} {__version__}: a worker of prumo\n\n{description}\n\n"
                  f"prumo starts it by --peers {framework.name}. Alone it reads requests from standard input, one\n"
                  'JSON object a line, and answers each with a line; docs/protocol.md describes them. For example:\n\n'
                  '  {"request": "hello"}\n')
            return 0
        if argument == "--version":
            print(f"{name} {__version__}")
            return 0
        print(f"{name}: there is no option '{argument}'; see --help", file=sys.stderr)
        return 2
    channel = protocol.Channel()
    if sys.stdin.isatty():
        print(f"{name}: type requests, one JSON object a line; the end of input (Ctrl-D) ends it.", file=sys.stderr)
    try:
        answering = worker.Worker(framework())
    except (ImportError, RuntimeError) as problem:
        print(f"{name}: {problem}".replace("\n", " "), file=sys.stderr)
        return 3
    return protocol.serve(answering, channel)
