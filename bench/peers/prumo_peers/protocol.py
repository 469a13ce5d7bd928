# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker's side of docs/protocol.md: a conversation in JSON lines, batches of calls, memory limits.

An adaptor of a framework is an object with the methods ``hello``, ``device``, ``resolve``, ``prepare``, ``verify``,
``sample`` and ``release``; each takes the request as a dict and returns the answer's fields.
"""

import json
import math
import os
import sys
import time

PROTOCOL_VERSION = 1
LONGEST_LINE = 1 << 20
REQUESTS = ("hello", "device", "resolve", "prepare", "verify", "count", "sample", "release", "quit")


class RequestError(Exception):
    """A refusal; ``kind`` is one of the protocol's."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def usage(message):
    return RequestError("usage", message)


_REQUIRED = object()


def field(request, name, types, expected, default=_REQUIRED):
    """The field of a request, checked; ``default`` where it is absent or null."""
    value = request.get(name)
    if value is None:
        if default is _REQUIRED:
            raise usage(f"the field '{name}' is missing")
        return default
    if not isinstance(value, types) or isinstance(value, bool):
        raise usage(f"the field '{name}' should be {expected} and is {json.dumps(value)[:80]}")
    return value


def text(request, name, default=_REQUIRED):
    return field(request, name, str, "a text", default)


def number(request, name, default=_REQUIRED):
    value = field(request, name, (int, float), "a number", default)
    if isinstance(value, float) and not math.isfinite(value):
        raise usage(f"the field '{name}' should be a number and is {value}")
    return value


def whole_number(request, name, lowest=0, default=_REQUIRED):
    value = number(request, name, default)
    if value is default:
        return value
    if value != int(value) or value < lowest:
        raise usage(f"the field '{name}' should be a whole number of {lowest} or more and is {value}")
    return int(value)


def numbers(request, name):
    """An object of numbers by name; empty where it is absent."""
    values = field(request, name, dict, "an object of numbers by name", {})
    return {key: number(values, key) for key in values}


def extents(request):
    """The shape of a request."""
    values = field(request, "shape", dict, "an object of extents by axis", {})
    return {axis: whole_number(values, axis) for axis in values}


def one_of(request, name, allowed):
    """A text out of a few; the first one where it is absent."""
    value = text(request, name, allowed[0])
    if value not in allowed:
        listed = " or ".join(f"'{it}'" for it in allowed)
        raise usage(f"the field '{name}' should be {listed} and is {json.dumps(value)}")
    return value


class Channel:
    """Keeps the real standard output for answers alone: file descriptor 1 goes to standard error from now on."""

    def __init__(self):
        sys.stdout.flush()
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        self._requests = sys.stdin.buffer

    def read_line(self):
        """The next line as bytes; None at the end of input."""
        line = self._requests.readline(LONGEST_LINE + 2)
        if not line:
            return None
        if len(line) > LONGEST_LINE + 1:
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = self._requests.readline(LONGEST_LINE)
        return line.rstrip(b"\r\n")

    def write_line(self, line):
        self._answers.write(line + "\n")
        self._answers.flush()


def _dispatch(adaptor, request):
    name = text(request, "request")
    if name not in REQUESTS:
        raise usage(f"there is no request '{name}'; there are: {', '.join(REQUESTS)}")
    if name == "quit":
        return {}
    if name == "count":
        return {"counted": None}  # counting is prumo's own
    if name == "hello":
        version = whole_number(request, "protocol", 0, PROTOCOL_VERSION)
        if version != PROTOCOL_VERSION:
            raise usage(f"this worker speaks version {PROTOCOL_VERSION} of the protocol, not {version}")
        return {"protocol": PROTOCOL_VERSION, **adaptor.hello(request)}
    return getattr(adaptor, name)(request) or {}


def answer(adaptor, line):
    """The answer to a line, and whether it was to quit."""
    request_id = None
    try:
        if len(line) > LONGEST_LINE:
            raise usage(f"the line is longer than {LONGEST_LINE} bytes")
        try:
            request = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as malformed:
            raise usage(f"the line is no JSON: {malformed}") from None
        if not isinstance(request, dict):
            raise usage("a request is a JSON object in one line")
        request_id = request.get("id")
        fields = _dispatch(adaptor, request)
        return {"id": request_id, "ok": True, **fields}, request.get("request") == "quit"
    except RequestError as refused:
        kind, message = refused.kind, str(refused)
    except MemoryError as cause:
        kind, message = "memory", str(cause) or "memory could not be had"
    except Exception as cause:  # a worker answers whatever happens
        kind, message = "failed", f"{type(cause).__name__}: {cause}"
    return {"id": request_id, "ok": False, "error": {"kind": kind, "message": message}}, False


def serve(adaptor, channel):
    """Answers until ``quit`` or the end of input; returns the exit code."""
    quit_asked = False
    while not quit_asked:
        line = channel.read_line()
        if line is None:
            break
        if not line.strip():
            continue
        fields, quit_asked = answer(adaptor, line)
        try:
            channel.write_line(json.dumps(fields, allow_nan=False))
        except BrokenPipeError:
            return 1
    return 0


class Sampler:
    """Times calls in batches of a millisecond or more, as the C++ workers do."""

    MARGIN = 1.25
    LARGEST_BATCH = 1 << 24

    def __init__(self, call, fence, copies, least_interval=1e-3):
        self._call = call
        self._fence = fence
        self._copies = max(1, copies)
        self._least = least_interval
        self._next = 0
        self.batch = 0

    def _interval(self, calls):
        call, copies, copy = self._call, self._copies, self._next
        start = time.perf_counter()
        for _ in range(calls):
            call(copy)
            copy += 1
            if copy == copies:
                copy = 0
        self._fence()
        elapsed = time.perf_counter() - start
        self._next = copy
        return max(elapsed, 1e-9)

    def _calibrate(self):
        self._interval(1)
        self.batch = 1
        while self.batch < self.LARGEST_BATCH:
            elapsed = self._interval(self.batch)
            wanted = self.MARGIN * self._least / elapsed
            if elapsed >= self._least:
                self.batch = max(1, math.ceil(self.batch * wanted))
                return
            self.batch = math.ceil(self.batch * min(10.0, max(2.0, wanted)))

    def sample(self, seconds):
        """Seconds of a call in each interval, at least one, and the calls in an interval."""
        if self.batch == 0:
            self._calibrate()
        batch = self.batch
        intervals = []
        start = time.perf_counter()
        while True:
            intervals.append(self._interval(batch))
            if time.perf_counter() - start >= seconds:
                break
        shortest = min(intervals)
        if shortest < self._least:
            self.batch = min(self.LARGEST_BATCH, math.ceil(batch * self.MARGIN * self._least / shortest))
        return [elapsed / batch for elapsed in intervals], batch


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


def require_memory(what, needed):
    """Refuses what does not fit, before anything is allocated."""
    available = available_memory()
    if available is None:
        return
    reserve = min(max(available // 16, 128 << 20), 1 << 30)
    usable = max(0, available - reserve)
    if needed > usable:
        raise RequestError("memory", f"{what} needs {needed} bytes of memory; available are {usable} bytes")


def last_level_cache_bytes():
    """The largest cache that a core reaches; 32 MiB where the system does not tell."""
    for name in ("SC_LEVEL3_CACHE_SIZE", "SC_LEVEL2_CACHE_SIZE"):
        try:
            size = os.sysconf(name)
        except (ValueError, OSError):
            continue
        if size > 0:
            return size
    return 32 << 20


def cold_copies(footprint):
    """So many copies that all together are at least twice the last-level cache."""
    return max(1, -(-2 * last_level_cache_bytes() // footprint)) if footprint else 1


def processor_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def environment_that_matters():
    """Variables that change what libraries of threads and mathematics do."""
    prefixes = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD",
                "NPY_", "PYTHONMALLOC")
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(prefixes)}


def run_program(name, version, description, make_adaptor):
    """The program around an adaptor: options, and exit code 3 with one line where the framework is missing."""
    for argument in sys.argv[1:]:
        if argument in ("--help", "-h"):
            print(f"{name} {version}: a worker of prumo\n\n{description}\n\n"
                  "prumo starts it by --worker. Alone it reads requests from standard input, one JSON object a line, and\n"
                  'answers each with a line; docs/protocol.md describes them. For example:\n\n  {"request": "hello"}\n')
            return 0
        if argument == "--version":
            print(f"{name} {version}")
            return 0
        print(f"{name}: there is no option '{argument}'; see --help", file=sys.stderr)
        return 2
    channel = Channel()
    if sys.stdin.isatty():
        print(f"{name}: type requests, one JSON object a line; the end of input (Ctrl-D) ends it.", file=sys.stderr)
    try:
        adaptor = make_adaptor()
    except ImportError as missing:
        print(f"{name}: {missing}", file=sys.stderr)
        return 3
    return serve(adaptor, channel)
