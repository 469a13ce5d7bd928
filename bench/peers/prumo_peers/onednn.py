# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for the program ``prumo-worker-onednn`` where prumo was built without oneDNN: it tells how to get it."""

from prumo_peers.common import program


def install_command():
    return "sudo apt-get install libdnnl-dev (or oneDNN 3 in CMAKE_PREFIX_PATH), then configure and build prumo again"


if __name__ == "__main__":
    program.refuse("onednn", "prumo was built without oneDNN", install_command())
