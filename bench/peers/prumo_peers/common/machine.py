# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a worker has to know of the machine: memory that is left, caches, the processor, variables of the environment."""

import functools
import hashlib
import os
import pathlib

from prumo_peers.common.protocol import RequestError


def _read_number(path):
    try:
        with open(path, encoding="ascii") as stream:
            return int(stream.read())
    except (OSError, ValueError):
        return None


def _group_memory():
    """Bytes that the control groups of this process (version 2) leave; None without a limit."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as stream:
            group = next(line.split("::", 1)[1].strip() for line in stream if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    left = []
    folder = "/sys/fs/cgroup"
    for part in [""] + [it for it in group.split("/") if it]:
        folder = os.path.join(folder, part) if part else folder
        limit = _read_number(os.path.join(folder, "memory.max"))
        current = _read_number(os.path.join(folder, "memory.current"))
        if limit is not None and current is not None:
            left.append(max(0, limit - current))
    return min(left) if left else None


def available_memory():
    """Bytes that can be had without swapping; None where the system does not tell."""
    available = None
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    available = int(line.split()[1]) * 1024
    except OSError:
        return None
    group = _group_memory()
    return group if available is None else available if group is None else min(available, group)


def require_memory(what, needed, available=None):
    """Refuses what does not fit, before anything is allocated; ``available`` is the host's memory unless told."""
    available = available_memory() if available is None else available
    if available is None:
        return
    reserve = min(max(available // 16, 128 << 20), 1 << 30)
    usable = max(0, available - reserve)
    if needed > usable:
        raise RequestError("memory", f"{what} needs {needed} bytes of memory, but only {usable} bytes are available")


def _text_of(path):
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def last_level_caches(system, processors):
    """The bytes of all last-level caches that these processors use, from the folder ``/sys/devices/system/cpu``; 0 where
    the system does not tell."""
    last, caches = 0, {}
    for processor in processors:
        for folder in sorted((pathlib.Path(system) / f"cpu{processor}" / "cache").glob("index*")):
            level, size = _text_of(folder / "level"), _text_of(folder / "size").removesuffix("K")
            if _text_of(folder / "type") == "Instruction" or not (level.isdigit() and size.isdigit()):
                continue
            if int(level) > last:
                last, caches = int(level), {}
            if int(level) == last:
                caches[_text_of(folder / "shared_cpu_list")] = int(size) * 1024
    return sum(caches.values())


@functools.cache
def last_level_cache_bytes():
    """All last-level caches that the processors of this process use, as prumo's own workers tell them, so that arrays of
    cold cases are equally cold for all; 32 MiB where the system does not tell."""
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return last_level_caches("/sys/devices/system/cpu", processors) or 32 << 20


def whole_lines(size):
    """These bytes in whole lines of a cache."""
    return -(-size // 64) * 64


def cold_copies(footprint, cache_bytes, touched=None):
    """The number of copies that together are at least twice the last-level cache, if each brings ``touched`` bytes into
    it. They are more than the arrays have where these fill a part of a line. They are fewer where a call touches only a
    part of its arrays, as one that looks up a few rows of a large table: then there are as many copies as that part
    needs, or as fit into 2 GiB.
    """
    usual = max(1, -(-2 * cache_bytes // max(footprint, touched or 0))) if footprint else 1
    if not touched or touched >= footprint:
        return usual
    return max(usual, min(-(-2 * cache_bytes // touched), (2 << 30) // footprint))


def processor_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def environment_variables(names):
    """Those of these variables that are set, with their values."""
    return {name: os.environ[name] for name in names if name in os.environ}


def build_identity():
    """16 hexadecimal digits that change if the source of a peer changes. Frameworks tell their own versions."""
    sources = pathlib.Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for file in sorted(sources.rglob("*.py")):
        digest.update(str(file.relative_to(sources)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def processors():
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
