# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conversation of docs/protocol.md in JSON lines: reading the fields of requests, and one answer to each.

Whoever answers is an object with the methods ``hello``, ``device``, ``resolve``, ``prepare``, ``verify``, ``sample``
and ``release``; each takes the request as a dict and returns the answer's fields. ``kind_of`` names the kind of an
exception. worker.py has the one that all peers use.
"""

import json
import math
import os
import sys

PROTOCOL_VERSION = 1
LONGEST_LINE = 1 << 20
# What a worker can do, by the names of docs/protocol.md.
FEATURES = ("device", "resolve", "prepare", "verify", "count", "sample", "release")
# Of a worker that runs nets, which has the feature `workloads`.
WORKLOAD_REQUESTS = ("open", "check", "time", "evaluate", "advance", "save", "load", "close")
REQUESTS = ("hello", *FEATURES, "quit")


class RequestError(Exception):
    """A refusal; ``kind`` is one of the protocol's."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def usage(message):
    return RequestError("usage", message)


_REQUIRED = object()


def field(request, name, types, expected, default=_REQUIRED, inside=""):
    """The field of a request, checked; ``default`` where it is absent or null. ``inside`` names the object it is in."""
    value = request.get(name)
    name = inside + name
    if value is None:
        if default is _REQUIRED:
            raise usage(f"the field '{name}' is missing")
        return default
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        raise usage(f"the field '{name}' should be {expected} and is {json.dumps(value)[:80]}")
    return value


def text(request, name, default=_REQUIRED):
    return field(request, name, str, "a text", default)


def texts(request, name):
    """A list of texts; empty where it is absent."""
    values = field(request, name, list, "a list of texts", [])
    for value in values:
        if not isinstance(value, str):
            raise usage(f"the field '{name}' should hold texts and holds {json.dumps(value)[:80]}")
    return values


def flag(request, name, default):
    return field(request, name, bool, "true or false", default)


def number(request, name, default=_REQUIRED, inside=""):
    value = field(request, name, (int, float), "a number", default, inside)
    if isinstance(value, float) and not math.isfinite(value):
        raise usage(f"the field '{inside}{name}' should be a number and is {value}")
    return value


def whole_number(request, name, lowest=0, default=_REQUIRED, inside=""):
    value = number(request, name, default, inside)
    if value is default:
        return value
    if value != int(value) or value < lowest:
        raise usage(f"the field '{inside}{name}' should be a whole number of {lowest} or more and is {value}")
    return int(value)


def numbers(request, name):
    """An object of numbers by name; empty where it is absent."""
    values = field(request, name, dict, "an object of numbers by name", {})
    return {key: number(values, key, inside=f"{name}.") for key in values}


def extents(request):
    """The shape of a request."""
    values = field(request, "shape", dict, "an object of extents by axis", {})
    return {axis: whole_number(values, axis, inside="shape.") for axis in values}


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


def _dispatch(worker, request):
    name = text(request, "request")
    known = REQUESTS + WORKLOAD_REQUESTS if worker.runs_nets else REQUESTS
    if name not in known:
        raise usage(f"there is no request '{name}'; there are: {', '.join(known)}")
    if name == "quit":
        return {}
    if name == "count":
        return {"counted": None}  # counting is prumo's own
    if name == "hello":
        whole_number(request, "protocol", 0, PROTOCOL_VERSION)  # the front-end picks what both have from the features
        features = [*FEATURES, "workloads"] if worker.runs_nets else list(FEATURES)
        return {"protocol": PROTOCOL_VERSION, "features": features, **worker.hello(request)}
    return getattr(worker, name)(request) or {}


def answer(worker, line):
    """The answer to a line, and whether it was to quit."""
    request_id = None
    try:
        if len(line) > LONGEST_LINE:
            raise usage(f"the line is longer than {LONGEST_LINE} bytes")
        try:
            request = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as malformed:
            raise usage(f"the line is not JSON: {malformed}") from None
        if not isinstance(request, dict):
            raise usage("a request should be a JSON object on one line")
        request_id = request.get("id")
        fields = _dispatch(worker, request)
        return {"id": request_id, "ok": True, **fields}, request.get("request") == "quit"
    except RequestError as refused:
        kind, message = refused.kind, str(refused)
    except Exception as cause:  # a worker answers whatever happens
        kind = worker.kind_of(cause)
        message = str(cause) if kind == "memory" and str(cause) else f"{type(cause).__name__}: {cause}"
    return {"id": request_id, "ok": False, "error": {"kind": kind, "message": message}}, False


def serve(worker, channel):
    """Answers until ``quit`` or the end of input; returns the exit code."""
    quit_asked = False
    while not quit_asked:
        line = channel.read_line()
        if line is None:
            break
        if not line.strip():
            continue
        fields, quit_asked = answer(worker, line)
        try:
            channel.write_line(json.dumps(fields, allow_nan=False))
        except BrokenPipeError:
            return 1
    return 0
