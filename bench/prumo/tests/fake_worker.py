#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A worker without any device: answers docs/protocol.md with times from a formula, and misbehaves when told to.

    fake_worker.py [--devices N] [--backend NAME] [--log FILE] [--memory BYTES] [--noise SHARE] [--steady-noise SHARE]
                   [--speed FACTOR] [--no-energy] [--slow-sustained FACTOR] [--throttle REASON] [--disturb OP=FACTOR] [--fault WHERE=WHAT]... [--once FILE]
                   [--loads N]
                   [--factor OP=FACTOR]... [--threads N] [--domains N,N,...] [--label NAME] [--starts FILE] [--by-start F1,F2,...] [--version-told TEXT]
                   [--always-recorded] [--nets] [--wrong-net] [--predict N] [--most-steps N] [--nan-at-step N] [--device-name NAME] [--protocol N] [--features NAME,...] [--newer] [--more-probes]

With --noise samples differ by up to SHARE, with --steady-noise whole requests do, evenly and without a trend.

With --slow-sustained, requests for 0.2 seconds and more take FACTOR times as long for each call, at a lower clock: the
device is at its power limit then.

With --backend cuda it is a GPU: its memory is its own, it has a tensor unit, events, a clock, a temperature and an energy
counter. Calls that it launches one by one take 4 us at least, and 0.5 us more where they are not the probe's. With
--always-recorded it is of before there were such calls.

On the host it works with OMP_NUM_THREADS threads, twice as fast with twice the number; with --threads,
always with that number. --domains are the numbers of cores of its NUMA domains, with two hardware threads a core; by
default there is one domain of at most two cores that this machine has.

Times are chosen by --factor, which slows an operation down, and --by-start: the first process of this label takes F1 times
as long, the second F2 times. --starts is the file in which the processes of all labels are listed as they start.

Without --features it is of before there were features; with them it answers the requests among them alone. With --newer it
says things that no front-end of today knows: a case of another kind, and a further field in each answer.

Without --more-probes it has the probes of the first workers alone. With them it can also probe writing and exponentials, each
in two ways of which the second is twice as fast. A softmax counts an exponential for each element, and takes a quarter longer
than these.

With --nets it runs and trains nets, as fake_nets.py and fake_training.py tell. With --wrong-net their results are wrong. With --predict N each image is of
class N.

With --loads N, the first N verifications take half a second each, like those of a peer that still loads its kernels.

fake_faults.py tells what WHERE and WHAT of a fault are. With --once, faults happen only while FILE does not exist; the first
creates it.
"""
import argparse
import json
import math
import os
import sys
import time

from fake_faults import Faults, play
from fake_nets import NetRefusal, Nets, evenly

BYTES = {"f32": 4, "f64": 8, "f16": 2}
LAUNCH = 2e-6
SINGLE_LAUNCH, SINGLE_CALL = 4e-6, 4.5e-6
LINK = {"pinned": 2e10, "pageable": 5e9}  # bytes a second
MAX_CLOCK, CLOCK = 1980.0, 1485.0  # MHz of the GPU; the second under load
LIMITED_CLOCK = 1200.0  # at its power limit
EXPONENTIAL = 1e-9  # seconds


def make_cases(gpu, more_probes):
    common = {"dtypes": ["f32", "f64"], "layouts": ["right", "left"], "compute_modes": ["strict"], "parameters": []}
    elements = [{"name": "n", "description": "elements"}]
    cases = []
    for op, arrays, default in (("add", 3, True), ("mul", 3, True), ("scale", 2, True), ("negate", 2, False),
                               ("fill", 1, False), ("sum", 2, False)):
        cases.append(dict(common, op=op, kind="op", description="fake " + op, default=default, axes=elements,
                          implementations=["kernel"], arrays=arrays))
    cases[2]["parameters"] = [{"name": "alpha", "description": "the factor", "default": 2}]
    cases.append(dict(common, op="softmax", kind="op", description="fake softmax", default=True,
                      axes=[{"name": "rows", "description": "rows"},
                            {"name": "columns", "description": "columns", "default": 1024}],
                      implementations=["kernel"], arrays=2))
    cases.append(dict(common, op="gemm", kind="op", description="fake product", default=True,
                      axes=[{"name": a, "description": "extent " + a} for a in "mnk"],
                      parameters=[{"name": "alpha", "description": "factor", "default": 1},
                                  {"name": "trans_b", "description": "1 where B is stored transposed", "default": 0}],
                      implementations=["library", "portable"], arrays=3))
    if gpu:
        cases[-1]["dtypes"] = ["f32", "f64", "f16"]
    else:
        cases[-1]["missing_dtypes"] = {"f16": "this processor multiplies none"}
    for op, arrays in (("copy", 2), ("triad", 3), ("read", 2), ("fma", 2), ("launch", 1)):
        cases.append(dict(common, op=op, kind="probe", description="fake " + op, default=False, axes=elements,
                          implementations=["kernel"], arrays=arrays))
    if more_probes:
        cases.append(dict(common, op="write", kind="probe", description="fake write", default=False, axes=elements,
                          implementations=["slow_way", "kernel"], arrays=1))
        cases.append(dict(common, op="exp_rate", kind="probe", description="fake exponentials", default=False, axes=elements,
                          implementations=["slow_way", "kernel"], arrays=1))
    return cases


class Refusal(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Worker:
    def __init__(self, options):
        self.options = options
        self.host = options.backend in ("fake", "openmp") or options.backend.endswith("-cpu")
        self.threads = options.threads or int(os.environ.get("OMP_NUM_THREADS", 2))
        self.cases = make_cases(not self.host, options.more_probes)
        for case in self.cases:
            case["parameters"] = [it for it in case["parameters"] if it["name"] not in options.without_parameters]
        self.prepared = {}
        self.nets = Nets(self.host, options) if options.nets else None
        self.faults = Faults(options.faults, options.once)
        self.next_case = 1
        self.draws = 0
        self.factor_of_start = self.count_start()

    def count_start(self):
        """Lists this process among those that started; what its times are multiplied with."""
        if not self.options.starts:
            return 1.0
        with open(self.options.starts, "a+", encoding="utf-8") as starts:
            starts.seek(0)
            earlier = starts.read().split().count(self.options.label)
            starts.write(self.options.label + "\n")
        factors = [float(factor) for factor in self.options.by_start.split(",")]
        return factors[earlier % len(factors)]

    # --- answers -------------------------------------------------------------------------------------------------
    def hello(self, request):
        if request.get("protocol") != 1:
            raise Refusal("usage", "unknown protocol")
        names = self.options.features
        if self.nets and names is None:
            names = "device,resolve,prepare,verify,count,sample,release,workloads"
        features = {} if names is None else {"features": names.split(",")}
        newer = [dict(self.cases[0], op="train", kind="pipeline")] if self.options.newer else []
        return {"protocol": self.options.protocol, **features,
                "worker": {"name": "fake", "version": self.options.version_told, "backend": self.options.backend,
                           "versions": {"python": "3", "blas": self.options.blas}, "build": self.build(), "pid": os.getpid(),
                           "environment": {name: os.environ[name] for name in request.get("variables") or () if name in os.environ},
                           "warnings": []},
                "devices": [{"id": f"{self.options.backend}:{i}", "backend": self.options.backend,
                             "name": self.options.device_name, "threads": self.threads if self.host else None}
                            for i in range(self.options.devices)],
                "cases": self.cases + newer, **({"workloads": self.nets.WORKLOADS} if self.nets else {})}

    def build(self):
        return {"type": "none", "flags": "", **({"id": self.options.build} if self.options.build else {})}

    def numa_domains(self):
        """Numbers go round the domains, as firmware likes to give them; second threads of cores come last."""
        if not self.options.domains:
            usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0, 1]
            return [{"node": 0, "cores": [[cpu] for cpu in usable[:2]]}]
        sizes = [int(cores) for cores in self.options.domains.split(",")]
        order = sorted((core, domain) for domain, cores in enumerate(sizes) for core in range(cores))
        number = {place: cpu for cpu, place in enumerate(order)}
        return [{"node": domain, "cores": [[number[core, domain], number[core, domain] + len(order)]
                                           for core in range(cores)]} for domain, cores in enumerate(sizes)]

    def device(self, request):
        peaks = [{"unit": "vector", "dtype": t, "accumulator": None, "value": v, "clock": "measured",
                  "clock_mhz": 3000.0, "source": "made up"} for t, v in (("f32", 4e11), ("f64", 2e11))]
        if not self.host:
            peaks = [{"unit": unit, "dtype": dtype, "accumulator": accumulator, "value": value, "clock": "max",
                      "clock_mhz": MAX_CLOCK, "source": "made up"}
                     for unit, dtype, accumulator, value in
                     (("vector", "f32", None, 4e11), ("vector", "f64", None, 2e11), ("vector", "f16", None, 5e11),
                      ("tensor", "f16", "f32", 8e11), ("tensor", "f16", "f16", 1.6e12))]
            peaks.append({"unit": "memory", "dtype": None, "accumulator": None, "value": 3e10, "clock": "max",
                          "clock_mhz": 3200.0, "source": "made up"})
        return {"device": {"id": request["device"], "backend": self.options.backend,
                           "name": self.options.device_name, "threads": self.threads if self.host else None,
                           "facts": {"memory_bytes": self.options.memory, "memory_available_bytes": None,
                                     "clock_measured_mhz": 3000.0 if self.host else None,
                                     "clock_max_mhz": None if self.host else MAX_CLOCK, "cache_llc_bytes": 4 << 20,
                                     "driver_version": self.options.driver, "power_limit_w": self.options.power_limit,
                                     "numa_domains": self.numa_domains() if self.host else None},
                           "peaks": peaks}}

    def describe(self, op):
        for case in self.cases:
            if case["op"] == op:
                return case
        raise Refusal("usage", f"there is no operation '{op}'")

    def resolve(self, request):
        case = self.describe(request["op"])
        width = BYTES[request["dtype"]]
        size = request.get("bytes_per_array")
        shape = dict(request.get("shape") or {})
        names = [axis["name"] for axis in case["axes"]]
        if any(name not in shape for name in names) and size is None:
            raise Refusal("usage", f"{case['op']} needs a size or all of its axes: {', '.join(names)}")
        if names == ["n"]:
            shape.setdefault("n", (size or 0) // width)
            elements = shape["n"]
        elif "rows" in names:
            shape.setdefault("columns", 1024)
            shape.setdefault("rows", (size or 0) // width // shape["columns"])
            elements = shape["rows"] * shape["columns"]
        else:
            side = math.isqrt((size or 0) // width)
            for name in names:
                shape.setdefault(name, side)
            elements = shape["m"] * shape["n"]
        bytes_per_array = size if size is not None else elements * width
        product = case["op"] == "gemm"
        flops = 2 * elements * shape["k"] if product else elements * (1000 if case["op"] == "fma" else 1)
        parameters = {p["name"]: p["default"] for p in case["parameters"]}
        for name, value in (request.get("parameters") or {}).items():
            if name not in parameters:
                raise Refusal("usage", f"there is no {case['op']} parameter '{name}'")
            parameters[name] = value
        streams = 1 if case["op"] in ("sum", "read") else case["arrays"]
        return {"shape": shape, "bytes_per_array": bytes_per_array, "footprint_bytes": bytes_per_array * streams,
                "parameters": parameters,
                "model": {"bytes": bytes_per_array * streams, "flops": flops, "elements": elements,
                          "unit": "tensor" if product else "vector"}}

    def prepare(self, request):
        if request["data"] == "transferred" and self.host:
            raise Refusal("skipped", "a host device has no transfers")
        resolved = self.resolve(request)
        held = sum(p["footprint"] for p in self.prepared.values())
        if self.options.memory and held + resolved["footprint_bytes"] > self.options.memory:
            raise Refusal("memory", f"needs {resolved['footprint_bytes']} bytes, {self.options.memory - held} available")
        case = self.describe(request["op"])
        implementation = request.get("implementation") or case["implementations"][0]
        if implementation not in case["implementations"]:
            raise Refusal("usage", f"{case['op']} has no implementation '{implementation}'")
        number = self.next_case
        self.next_case += 1
        model = resolved["model"]
        seconds = max(model["bytes"] / 2e10, model["flops"] / 2e11) * {"portable": 4, "slow_way": 2}.get(implementation, 1)
        if self.options.more_probes and case["op"] == "softmax":
            seconds = max(seconds, 1.25 * EXPONENTIAL * model["elements"])
        if case["op"] == "exp_rate":
            seconds = EXPONENTIAL * model["elements"] * (2 if implementation == "slow_way" else 1)
        seconds = LAUNCH if case["op"] == "launch" else max(seconds / self.options.speed, LAUNCH)
        single = request.get("dispatch") == "single" and not self.options.always_recorded
        if single and not self.host:
            seconds = max(seconds, SINGLE_LAUNCH if case["op"] == "launch" else SINGLE_CALL)
        seconds *= self.factor_of_start * (2 / self.threads if self.host else 1)
        for op, factor in self.options.factors:
            if op == case["op"]:
                seconds *= float(factor)
        self.prepared[number] = {"op": case["op"], "seconds": seconds, "footprint": resolved["footprint_bytes"],
                                 "data": request["data"], "device": request["device"], "samples": 0,
                                 "host_memory": request["host_memory"], "bytes_per_array": resolved["bytes_per_array"]}
        answer = {"case": number, "implementation": implementation, "copies": 2,
                  "footprint_bytes": resolved["footprint_bytes"] * 2, "clock": "wall" if self.host else "device",
                  "unit": "vector" if implementation == "portable" else None}
        if not self.options.always_recorded:
            answer["dispatch"] = "single" if single or self.host else "recorded"
        return answer

    def verify(self, request):
        return {"verified": True, "error": 0.25, "error_bound": 0.5, "checked": 100, "method": "all", "message": ""}

    def count(self, request):
        resolved = self.resolve(dict(request, bytes_per_array=None))
        total = resolved["model"]["flops"]
        source = "kernel" if total <= request["limit"] else "closed_form"
        counted = {"counted": {"add": total, "total": total, "source": source}}
        if request["op"] == "gemm":
            counted["implementation"] = "portable"
        if request["op"] == "softmax" and self.options.more_probes:
            counted["counted"]["exp"] = resolved["model"]["elements"]
        return counted

    def sample(self, request):
        case = self.prepared[request["case"]]
        case["samples"] += 1
        times = []
        for _ in range(5):
            self.draws += 1
            times.append(case["seconds"] * (1 + self.options.noise * math.sin(self.draws)))
        times = [t * (1 + self.options.steady_noise * evenly(case["samples"])) for t in times]
        for op, factor in self.options.disturb:
            if op == case["op"] and case["samples"] % 2 == 0:
                times = [t * float(factor) for t in times]
        limited = self.options.slow_sustained > 1 and request["seconds"] >= 0.2
        if limited:
            times = [t * self.options.slow_sustained for t in times]
        batch = max(1, math.ceil(1e-3 / case["seconds"]))
        if self.host:
            return {"samples": times, "wall": times, "batch": batch, "transfer": None, "clock_mhz": None,
                    "energy_j": None, "temperature_c": None, "throttle": []}
        transfer = None
        if case["data"] == "transferred":
            inputs, output = 2 * case["bytes_per_array"], case["bytes_per_array"]
            rate = LINK[case["host_memory"]]
            transfer = {"h2d": [inputs / rate] * 5, "d2h": [output / rate] * 5, "h2d_bytes": inputs, "d2h_bytes": output}
            times = [t + (inputs + output) / rate for t in times]
        # 0.5 J a call, of a counter that advances in long steps; the temperature rises.
        energy = 0.5 * batch * len(times) if request["seconds"] >= 1 and not self.options.no_energy else None
        return {"samples": times, "wall": [t + 5e-6 for t in times], "batch": batch, "transfer": transfer,
                "clock_mhz": LIMITED_CLOCK if limited else CLOCK, "energy_j": energy,
                "power_w": energy and energy / (batch * sum(times)), "temperature_c": 50.0 + case["samples"],
                "throttle": [self.options.throttle] if self.options.throttle else []}

    def release(self, request):
        del self.prepared[request["case"]]
        return {}

    def op_of(self, request):
        if "op" in request:
            return request["op"]
        return self.prepared.get(request.get("case"), {}).get("op", "")

    # --- the loop ------------------------------------------------------------------------------------------------
    def answer(self, request):
        handlers = {"hello": self.hello, "device": self.device, "resolve": self.resolve, "prepare": self.prepare,
                    "verify": self.verify, "count": self.count, "sample": self.sample, "release": self.release,
                    "quit": lambda _: {}, **(self.nets.requests() if self.nets else {})}
        name = request["request"]
        lacking = self.options.features is not None and name not in ("hello", "quit", *self.options.features.split(","))
        if name not in handlers or lacking:
            raise Refusal("usage", f"there is no request '{name}'")
        return dict(handlers[name](request), ok=True, **({"mood": "good"} if self.options.newer else {}))

    def serve(self):
        for line in sys.stdin:
            request = json.loads(line)
            what = self.faults.fault_for(request["request"], self.op_of(request))
            try:
                answer = self.answer(request)
            except (Refusal, NetRefusal) as refusal:
                answer = {"ok": False, "error": {"kind": refusal.kind, "message": str(refusal)}}
            answer["id"] = request["id"]
            if self.options.log:
                with open(self.options.log, "a", encoding="utf-8") as log:
                    case = self.op_of(request), self.prepared.get(request.get("case"), {}).get("device", "")
                    budget = f"budget={request['budget']:.0f}" if request.get("budget") else ""
                    long = "long" if request.get("seconds", 0) > 0.7 else ""
                    log.write(f"{request['request']} {' '.join(case)} {budget}{long}".strip() + "\n")
            if request["request"] == "verify" and self.options.loads > 0:
                self.options.loads -= 1
                time.sleep(0.5)
            if self.options.delay and request["request"] in ("sample", "time"):
                time.sleep(self.options.delay)
            text = (what and play(what, answer)) or json.dumps(answer)
            print(text, flush=True)
            if request["request"] == "quit":
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--backend", default="fake")
    parser.add_argument("--protocol", type=int, default=1)
    parser.add_argument("--features", help="the names in its greeting")
    parser.add_argument("--newer", action="store_true", help="it says more than a front-end of today knows")
    parser.add_argument("--more-probes", action="store_true", help="it has the probes that came later, too")
    parser.add_argument("--memory", type=int, default=None)
    parser.add_argument("--noise", type=float, default=0.001)
    parser.add_argument("--steady-noise", type=float, default=0)
    parser.add_argument("--speed", type=float, default=1, help="the factor by which it is faster than usual, launches excepted")
    parser.add_argument("--delay", type=float, default=0, help="seconds a sample request takes")
    parser.add_argument("--loads", type=int, default=0, help="the number of verifications that load kernels")
    parser.add_argument("--slow-sustained", type=float, default=1.0, help="how much longer calls take in long requests")
    parser.add_argument("--no-energy", action="store_true", help="the GPU has no counter of energy")
    parser.add_argument("--throttle", help="why the GPU slows itself down")
    parser.add_argument("--disturb", action="append", default=[], type=lambda t: tuple(t.split("=", 1)),
                        help="every second answer for samples of an operation takes this many times as long")
    parser.add_argument("--factor", dest="factors", action="append", default=[], type=lambda t: tuple(t.split("=", 1)),
                        help="how many times as long as usual an operation takes")
    parser.add_argument("--threads", type=int, help="how many there are, whatever the environment says")
    parser.add_argument("--domains", help="cores of each NUMA domain")
    parser.add_argument("--label", default="fake", help="how this worker is called in the list of starts")
    parser.add_argument("--starts", help="file in which processes are listed as they start")
    parser.add_argument("--by-start", default="1", help="factors of the times of the first, second, ... process")
    parser.add_argument("--build", help="what tells its build from others")
    parser.add_argument("--blas", help="the version of its BLAS")
    parser.add_argument("--driver", help="the version of its driver")
    parser.add_argument("--power-limit", type=float, help="watts")
    parser.add_argument("--version-told", default="1.2.3", help="the version in its greeting")
    parser.add_argument("--without-parameter", dest="without_parameters", action="append", default=[],
                        help="a parameter that this release has not got yet")
    parser.add_argument("--nets", action="store_true", help="it runs nets")
    parser.add_argument("--wrong-net", action="store_true", help="its nets are wrong")
    parser.add_argument("--predict", type=int, help="the class of every image")
    parser.add_argument("--most-steps", type=int, help="steps that a request about a training makes at most")
    parser.add_argument("--nan-at-step", type=int, help="the step of a training from which on its loss is no number")
    parser.add_argument("--always-recorded", action="store_true", help="it knows no single calls")
    parser.add_argument("--device-name", default="A device that is not there",
                        type=lambda text: text.encode().decode("unicode_escape"), help="may hold \\x1b, \\u202e, ...")
    parser.add_argument("--log")
    parser.add_argument("--once")
    parser.add_argument("--fault", dest="faults", action="append", default=[], type=lambda t: tuple(t.split("=", 1)))
    Worker(parser.parse_args()).serve()


if __name__ == "__main__":
    main()
