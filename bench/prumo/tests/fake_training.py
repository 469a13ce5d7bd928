# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripted worker's trainings. A step takes a microsecond an image. The weights are those that the training began with, but
for the first one, which is a digest of all steps so far. Loss and accuracy follow from the number of epochs: 85.3 % after the
first, then 94.6, 98.0, 99.3 and 99.8 %. A checkpoint is a JSON file.
"""
import gzip
import hashlib
import json
import math
import os
import struct
import time

PER_IMAGE = 1e-6  # seconds


class NetRefusal(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def read_labels(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise NetRefusal("usage", f"{path}: {error.strerror}") from None
    return list((gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)[8:])


class Training:
    def __init__(self, request, options):
        self.options = options
        self.setup = request["training"]
        if request["dtype"] not in ("f32", "f64"):
            raise NetRefusal("unsupported", f"nets are not trained in {request['dtype']}")
        self.implementation = request.get("implementation") or "fused"
        self.batch = request["batch"]
        self.images = len(read_labels(request["labels"]))
        self.tests = len(read_labels(self.setup["test_labels"]))
        with open(request["weights"], "rb") as file:
            self.weights = file.read()
        own = {name: value for name, value in self.setup.items() if not name.startswith("test_")}
        self.identity = json.dumps([own, request["dtype"], self.batch, self.images], sort_keys=True)
        self.steps, self.digest = 0, hashlib.sha256(self.weights).hexdigest()

    @property
    def steps_per_epoch(self):
        return -(-self.images // self.batch)

    def opened(self):
        model = {"bytes": 4000.0 * self.batch, "flops": 3000.0 * self.batch, "elements": self.batch, "unit": "vector"}
        return {"implementation": self.implementation, "clock": "wall", "dispatch": "single", "images": self.images, "classes": 10,
                "parameters": 100, "footprint_bytes": 1000, "model": model, "steps": [], "load_s": 0.001, "place_s": 0.001,
                "steps_per_epoch": self.steps_per_epoch}

    def advance(self, request):
        left = self.steps_per_epoch - self.steps % self.steps_per_epoch
        seconds = request.get("seconds")
        wanted = request.get("steps") or max(1, int(seconds / (PER_IMAGE * self.batch)) if seconds is not None else left)
        steps = min(left, wanted, self.options.most_steps or wanted)
        for _ in range(steps):
            self.steps += 1
            self.digest = hashlib.sha256(f"{self.digest} {self.steps}".encode()).hexdigest()
        time.sleep(self.options.delay)
        epoch, step = divmod(self.steps - 1, self.steps_per_epoch)
        images = min(self.images, (step + 1) * self.batch)
        loss = 2.3 * math.exp(-self.steps / self.steps_per_epoch)
        if self.options.nan_at_step and self.steps >= self.options.nan_at_step:
            loss = None
        spent = PER_IMAGE * self.batch * steps
        return {"steps": steps, "epoch": epoch + 1, "step": step + 1, "epoch_done": step + 1 == self.steps_per_epoch, "images": images,
                "loss": loss, "correct": int(images * self.share()), "time": spent, "wall": spent, "energy_j": 2.0 * steps}

    def share(self):
        return 1 - 0.4 * math.exp(-self.steps / self.steps_per_epoch)

    def weights_now(self):
        """The file of weights with another first number."""
        size = struct.unpack_from("<Q", self.weights)[0]
        number = struct.pack("<d", int(self.digest[:12], 16) / 2**48)
        return self.weights[:8 + size] + number + self.weights[16 + size:]

    def evaluate(self):
        return {"images": self.tests, "correct": round(self.tests * self.share()), "predictions": None, "seconds": 0.001,
                "loss": 2.3 * math.exp(-self.steps / self.steps_per_epoch), "weights_sha256": hashlib.sha256(self.weights_now()).hexdigest()}

    def save(self, request):
        content = self.weights_now() if request["content"] == "weights" else json.dumps(
            {"identity": self.identity, "steps": self.steps, "digest": self.digest, "note": request["note"]}).encode()
        with open(request["path"] + ".new", "wb") as file:
            file.write(content)
        os.replace(request["path"] + ".new", request["path"])
        return {"sha256": hashlib.sha256(content).hexdigest()}

    def load(self, request):
        path = request["path"]
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            if found["identity"] != self.identity:
                raise NetRefusal("usage", f"{path}: belongs to another training")
            self.steps, self.digest, note = found["steps"], found["digest"], found["note"]
        except (OSError, ValueError, KeyError) as error:
            raise NetRefusal("usage", f"{path}: is no checkpoint: {error}") from None
        epoch, step = divmod(self.steps, self.steps_per_epoch)
        return {"epoch": epoch + 1, "step": step, "note": note}
