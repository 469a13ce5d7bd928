#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small disk that can fail, for whoever may make namespaces: no privilege is needed, and nobody else sees it.

    small_disk.py run FOLDER COMMAND...   runs the command with an empty disk of 4 MiB at FOLDER
    small_disk.py fill|free FOLDER        makes it full; makes room again
    small_disk.py protect|unprotect FOLDER   makes it read-only, and writable again
    small_disk.py remove|restore FOLDER   takes the disk and its folder away; makes an empty folder in its place

The exit code of `run` is that of the command, or 77 if there can be no such disk here.
"""
import ctypes
import os
import subprocess
import sys

SIZE = 4 << 20  # bytes
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    words = [it.encode() if isinstance(it, str) else it for it in arguments]
    if getattr(libc, name)(*words) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags, options=None):
    call("mount", source, target, kind, ctypes.c_ulong(flags), options)


def make_disk(folder):
    user, group = os.geteuid(), os.getegid()
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", folder, "tmpfs", 0, f"size={SIZE}")


def fill(folder):
    try:
        with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
            for _ in range(2 * SIZE // 4096):  # never more, whatever disk this is
                file.write(bytes(4096))
    except OSError:
        pass


def protect(folder):
    # The kernel alone makes a disk read-only on which a file is open for writing. So another mount of it covers this one.
    mount(folder, folder, None, MS_BIND)
    mount(None, folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY)


def remove(folder):
    call("umount2", folder, MNT_DETACH)
    os.rmdir(folder)


def run(folder, *command):
    try:
        make_disk(folder)
    except OSError as refusal:
        print(refusal, file=sys.stderr)
        return 77
    return subprocess.run(command).returncode


ACTIONS = {"run": run, "fill": fill, "free": lambda folder: os.remove(os.path.join(folder, "filler")), "protect": protect,
           "unprotect": lambda folder: call("umount2", folder, 0), "remove": remove, "restore": os.mkdir}

if __name__ == "__main__":
    sys.exit(ACTIONS[sys.argv[1]](*sys.argv[2:]))
