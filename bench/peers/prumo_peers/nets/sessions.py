# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The requests about nets of docs/protocol.md, for a framework that can run them: ``open``, ``check``, ``time``,
``evaluate`` and ``close``. What a framework computes is its own; see torch_session.py."""

import dataclasses
import math
import time

import numpy as np

from prumo_peers.common import protocol, rounding
from prumo_peers.common.protocol import RequestError, usage
from prumo_peers.nets import description, files
from prumo_peers.nets.training import TrainingSession, read_setup, read_training

USUAL_BUDGET = 3e7
TRAINING_DTYPES = ("f32", "f64")


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a session was opened with."""
    net: description.Net
    dtype: str
    batch: int
    mode: str
    implementation: str
    transferred: bool
    pinned: bool
    images: np.ndarray            # bytes [n, channels, rows, columns]
    labels: np.ndarray
    weights: dict                 # numpy's arrays by name


class Sessions:
    """``framework`` has ``net_implementations``, ``net_modes(device)``, and ``open_net(device, choice)``, which returns a
    session: ``dispatch``, ``clock``, ``footprint``, ``check(level, budget, images)``, ``time(level, step, seconds)``,
    ``evaluate()`` and ``close()``."""

    def __init__(self, framework, devices):
        self._framework, self._devices = framework, devices
        self._open = {}
        self._last_id = 0

    def describe(self):
        modes = dict.fromkeys(mode for it in self._devices.values() for mode in self._framework.net_modes(it))
        told = [{"workload": "inference", "dtypes": list(self._framework.dtypes),
                 "implementations": list(self._framework.net_implementations), "compute_modes": list(modes)}]
        ways = dict.fromkeys(way for it in self._devices.values() for way in self._framework.training_implementations(it))
        if ways:
            told.append({"workload": "training", "dtypes": list(TRAINING_DTYPES), "implementations": list(ways),
                         "compute_modes": ["strict"]})
        return told

    def open(self, request, device):
        framework = self._framework
        workload = protocol.text(request, "workload")
        setup = read_setup(request)
        if workload == "training" and framework.training_implementations(device):
            return self._open_training(request, device, setup)
        dtype = protocol.text(request, "dtype")
        batch = protocol.whole_number(request, "batch", 1)
        paths = {name: protocol.text(request, name) for name in ("images", "labels", "weights")}
        transferred = protocol.one_of(request, "data", ("resident", "transferred")) == "transferred"
        host_memory = protocol.one_of(request, "host_memory", ("pinned", "pageable"))
        mode = protocol.text(request, "compute_mode", "strict")
        implementation = protocol.text(request, "implementation", framework.net_implementations[0])
        if workload != "inference":
            raise usage(f"the field 'workload' is '{workload}'; there is: inference")
        if implementation not in framework.net_implementations:
            raise usage(f"the field 'implementation' is '{implementation}'; there are: "
                        f"{', '.join(framework.net_implementations)}")
        if dtype not in framework.dtypes:
            raise RequestError("unsupported", f"{framework.name} has no type {dtype} of nets; there are: "
                                              f"{', '.join(framework.dtypes)}")
        if mode not in framework.net_modes(device) or (mode != "strict" and dtype != "f32"):
            raise RequestError("unsupported", f"{framework.name} has no compute mode '{mode}' of nets in {dtype} on "
                                              f"{device.id}")
        if transferred and not device.transfers:
            raise RequestError("skipped", "a host device has no transfers")
        if transferred and host_memory not in device.host_memory:
            raise RequestError("unsupported", f"{framework.name} has no {host_memory} memory for {device.id}")
        start = time.perf_counter()
        net = _parse(request)
        choice = Choice(net, dtype, batch, mode, implementation, transferred, host_memory == "pinned",
                        *_read(net, **paths))
        loaded = time.perf_counter()
        session = framework.open_net(device, choice)
        placed = time.perf_counter()
        self._last_id += 1
        self._open[self._last_id] = session
        size = rounding.BYTES[dtype]
        return {"session": self._last_id, "implementation": implementation, "clock": session.clock,
                "dispatch": session.dispatch, "images": len(choice.images), "classes": net.layers[-1].output[0],
                "parameters": sum(math.prod(it) for it in net.weights.values()), "footprint_bytes": session.footprint,
                "model": model_of(net.layers, net.input, batch, size),
                "steps": [{"name": it.name, "layers": [it.name], "model": model_of((it,), it.input, batch, size)}
                          for it in net.layers],
                "load_s": loaded - start, "place_s": placed - loaded}

    def _open_training(self, request, device, setup):
        framework, ways = self._framework, self._framework.training_implementations(device)
        for name in ("images", "labels", "weights"):
            protocol.text(request, name)
        dtype, batch = protocol.text(request, "dtype"), protocol.whole_number(request, "batch", 1)
        implementation = protocol.text(request, "implementation", ways[0])
        if implementation not in ways:
            known = any(implementation in framework.training_implementations(it) for it in self._devices.values())
            raise RequestError("unsupported" if known else "usage",
                               f"there is no implementation '{implementation}' of trainings on {device.id}; there are: "
                               f"{', '.join(ways)}")
        if dtype not in TRAINING_DTYPES:
            raise RequestError("unsupported", f"{framework.name} trains nets in {', '.join(TRAINING_DTYPES)}, and not in {dtype}")
        if setup is None:
            raise usage("the field 'training' is missing: it tells how the net is trained")
        start = time.perf_counter()
        net = _parse(request)
        choice = read_training(request, setup, _read, net,
                               {"dtype": dtype, "batch": batch, "implementation": implementation})
        loaded = time.perf_counter()
        session = framework.open_training(device, choice)
        placed = time.perf_counter()
        self._last_id += 1
        self._open[self._last_id] = session
        flops = batch * sum((2 if first else 3) * flops_of(it) for first, it in
                            _with_first(layer for layer in net.layers if layer.weights))
        parameters = sum(math.prod(it) for it in net.weights.values())
        return {"session": self._last_id, "implementation": implementation, "clock": session.clock,
                "dispatch": session.dispatch, "images": len(choice.images), "classes": net.layers[-1].output[0],
                "parameters": parameters, "footprint_bytes": session.footprint,
                "model": {"bytes": batch * math.prod(net.input) + 2 * parameters * rounding.BYTES[dtype], "flops": flops,
                          "elements": batch, "unit": "vector"},
                "steps": [], "steps_per_epoch": session.steps_per_epoch, "load_s": loaded - start, "place_s": placed - loaded}

    def advance(self, request):
        number = protocol.whole_number(request, "session")
        steps = protocol.whole_number(request, "steps", 1, None)
        seconds = protocol.number(request, "seconds", None)
        if seconds is not None and not 0 <= seconds <= 3600:
            raise usage(f"the field 'seconds' should be between 0 and 3600 and is {seconds}")
        return self._find_training(number).advance(steps, seconds)

    def save(self, request):
        number, path = protocol.whole_number(request, "session"), protocol.text(request, "path")
        content = protocol.one_of(request, "content", ("checkpoint", "weights"))
        protocol.text(request, "note", "")
        return self._find_training(number).save(path, content)

    def load(self, request):
        number, path = protocol.whole_number(request, "session"), protocol.text(request, "path")
        protocol.flag(request, "allow_mixed", False)
        return self._find_training(number).load(path)

    def _find_training(self, number):
        session = self._find(number)
        if not isinstance(session, TrainingSession):
            raise usage(f"session {number} runs a net and trains none")
        return session

    def check(self, request):
        session = protocol.whole_number(request, "session")
        level, _ = self._level(request)
        budget = protocol.number(request, "budget", USUAL_BUDGET)
        if budget <= 0:
            raise usage(f"the field 'budget' should be above 0 and is {budget}")
        images = protocol.field(request, "images", list, "a list of images", None)
        session = self._find(session)
        for it in images or ():
            if not isinstance(it, int) or isinstance(it, bool) or not 0 <= it < len(session.choice.images):
                raise usage(f"the field 'images' names image {it}, and there are {len(session.choice.images)} from 0 up")
        return session.check(level, budget, images)

    def time(self, request):
        session = protocol.whole_number(request, "session")
        level, step = self._level(request)
        seconds = protocol.number(request, "seconds")
        if not 0 <= seconds <= 3600:
            raise usage(f"the field 'seconds' should be between 0 and 3600 and is {seconds}")
        session = self._find(session)
        if isinstance(session, TrainingSession):
            raise usage("a training is not timed by 'time'; it advances")
        if level == "layer" and (step is None or step >= len(session.choice.net.layers)):
            raise usage(f"the field 'step' should be below {len(session.choice.net.layers)} for the level layer")
        if level == "net" and step is not None:
            raise usage("the field 'step' is for the level 'layer' alone")
        return session.time(level, step, seconds)

    def evaluate(self, request):
        return self._find(protocol.whole_number(request, "session")).evaluate()

    def close(self, request):
        number = protocol.whole_number(request, "session")
        session = self._find(number)
        del self._open[number]
        session.close()

    @staticmethod
    def _level(request):
        return protocol.one_of(request, "level", ("net", "layer")), protocol.whole_number(request, "step", 0, None)

    def _find(self, session):
        if session not in self._open:
            raise usage(f"there is no session {session}: it was never opened, or closed")
        return self._open[session]


def _parse(request):
    """The net that a request describes."""
    document = protocol.field(request, "net", dict, "the content of a net's file")
    if document.get("schema") != "prumo.net/1":
        raise usage("the field 'net' describes no net: its schema is not 'prumo.net/1'")
    try:
        return description.parse(document)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise usage(f"the field 'net' describes no net: {type(wrong).__name__}: {wrong}") from None


def _with_first(layers):
    """Pairs of whether it is the first, and a layer."""
    return ((number == 0, it) for number, it in enumerate(layers))


def _read(net, images, labels, weights):
    """The three files, checked against the net and each other."""
    try:
        pixels, classes = files.read_idx(images), files.read_idx(labels)
        arrays, _ = files.read_safetensors(weights)
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise usage(str(wrong)) from None
    if pixels.ndim != 4 or pixels.shape[1:] != net.input:
        raise usage(f"{images}: holds images of {_extents(pixels.shape[1:])}, and the net {net.name} takes "
                    f"{_extents(net.input)}; name other images, or resize these by: prumo data resize")
    if classes.ndim != 1 or len(classes) != len(pixels) or not len(pixels):
        raise usage(f"{labels}: holds {len(classes)} labels, and {images} has {len(pixels)} images; name the files of one set")
    for name, shape in net.weights.items():
        if name not in arrays:
            raise usage(f"{weights}: array '{name}' is missing; name weights of the net {net.name}")
        if arrays[name].shape != tuple(shape):
            raise usage(f"{weights}: array '{name}' has the shape {list(arrays[name].shape)}, and the net has "
                        f"{list(shape)} there; name weights of the net {net.name}")
    return pixels, classes, {name: arrays[name] for name in net.weights}


def _extents(shape):
    channels, *sides = shape if len(shape) == 3 else (1, *shape)
    return f"{channels} channels of {' x '.join(map(str, sides))} pixels"


def taps_inside(extent, places, window, stride, padding):
    """How often a window meets a pixel of the image along one side: what lies in the padding does not count."""
    return sum(min(extent, at + window) - max(0, at)
               for at in range(-padding, places * stride - padding, stride))


def flops_of(layer):
    """Two for each product of a weight and a pixel of one image."""
    if not layer.weights:
        return 0
    weight = layer.weights[0][1]
    if layer.kind == "dense":
        return 2 * math.prod(weight)
    channels_in = weight[1] if layer.kind == "convolution" else 1
    sides = zip(layer.input[1:], layer.output[1:], layer.window, layer.stride, layer.padding)
    return 2 * layer.output[0] * channels_in * math.prod(taps_inside(*side) for side in sides)


def model_of(layers, shape, batch, size):
    """What layers need for a batch: their input, weights and output once."""
    weights = sum(math.prod(it) for layer in layers for _, it in layer.weights)
    moved = batch * (math.prod(shape) + math.prod(layers[-1].output)) + weights
    return {"bytes": moved * size, "flops": batch * sum(map(flops_of, layers)), "elements": batch, "unit": "vector"}
