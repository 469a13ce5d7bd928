# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a peer: ``python3 FOLDER numpy``, where FOLDER holds this file and the package ``prumo_peers``.

Python searches FOLDER first then, and not the current folder, which ``python3 -m prumo_peers.numpy`` would search before
Python's own modules: a ``json.py`` there would be run.
"""

import runpy
import sys

if len(sys.argv) < 2:
    sys.exit("usage: python3 FOLDER PEER [OPTION]..., for example PEER = numpy")
runpy.run_module(f"prumo_peers.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
