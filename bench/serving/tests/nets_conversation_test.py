# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A conversation about nets with a real worker, as docs/protocol.md has it. The options are those of conversation_test.py.
Exits with 77 where the worker cannot run here. If it runs no nets, every test is skipped.
"""

import json
import math
import os
import random
import struct
import sys
import tempfile
import unittest

from conversation import Worker, run


def write_images(folder, images, labels, extents):
    """IDX files of images, each a list of bytes, and of their labels."""
    with open(os.path.join(folder, "images"), "wb") as file:
        magic = 2051 if len(extents) == 2 else 2052
        file.write(struct.pack(f">{2 + len(extents)}I", magic, len(images), *extents) + bytes(b for it in images for b in it))
    with open(os.path.join(folder, "labels"), "wb") as file:
        file.write(struct.pack(">2I", 2049, len(labels)) + bytes(labels))


def write_weights(path, arrays):
    """A safetensors file of lists of floats, each with its name and shape."""
    header, content = {}, b""
    for name, shape, values in arrays:
        begin = len(content)
        content += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(content)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


# The first of three pixels that is the brightest tells the class.
BRIGHTEST = {"schema": "prumo.net/1", "name": "brightest", "input": {"channels": 1, "height": 2, "width": 2},
             "layers": [{"type": "dense", "features": 3, "bias": False}]}
# No size of the known nets: 3 channels, stride 2, 17 classes.
UNUSUAL = {"schema": "prumo.net/1", "name": "unusual", "input": {"channels": 3, "height": 11, "width": 9},
           "layers": [{"type": "convolution", "channels": 5, "filter": 3, "stride": 2, "activation": "relu"},
                      {"type": "max_pool", "window": 2, "rounding": "up"}, {"type": "dense", "features": 17}]}


class Nets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.worker = Worker()
        self.worker.__enter__()
        self.addCleanup(self.worker.__exit__)
        hello = self.worker.wants("hello", protocol=1)
        self.device = hello["devices"][0]
        found = [it for it in hello.get("workloads", []) if it["workload"] == "inference"]
        if not found:
            self.skipTest("it runs no nets")
        self.inference = found[0]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def request(self, net, **more):
        return {"device": self.device["id"], "workload": "inference", "net": net, "dtype": "f32", "batch": 3,
                "images": self.path("images"), "labels": self.path("labels"), "weights": self.path("weights"), **more}

    def write_brightest(self):
        images = [[9, 1, 1, 255], [0, 8, 8, 0], [1, 2, 3, 4], [7, 7, 7, 0], [0, 0, 1, 0]]
        write_images(self.folder.name, images, [0, 1, 2, 0, 1], (2, 2))
        write_weights(self.path("weights"), [("dense1.weight", [3, 4], [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0])])

    def write_unusual(self):
        numbers = random.Random(5)
        images = [[numbers.randrange(256) for _ in range(3 * 11 * 9)] for _ in range(7)]
        write_images(self.folder.name, images, [it % 17 for it in range(7)], (3, 11, 9))
        shapes = [("conv1.weight", [5, 3, 3, 3]), ("conv1.bias", [5]), ("dense1.weight", [17, 30]), ("dense1.bias", [17])]
        write_weights(self.path("weights"), [(name, shape, [numbers.uniform(-0.5, 0.5) for _ in range(math.prod(shape))])
                                             for name, shape in shapes])

    def test_every_image_gets_its_class(self):
        self.write_brightest()
        for dtype in self.inference["dtypes"]:
            for batch in (1, 3, 5, 8):
                with self.subTest(dtype=dtype, batch=batch):
                    opened = self.worker.wants("open", **self.request(BRIGHTEST, dtype=dtype, batch=batch))
                    self.assertEqual((opened["images"], opened["classes"], opened["parameters"]), (5, 3, 12))
                    told = self.worker.wants("evaluate", session=opened["session"])
                    self.assertEqual((told["images"], told["correct"], told["predictions"]), (5, 4, [0, 1, 2, 0, 2]))
                    self.worker.wants("close", session=opened["session"])
                    self.assertEqual(self.worker.refused("evaluate", session=opened["session"])[0], "usage")

    def test_every_level_is_verified_and_timed(self):
        self.write_unusual()
        for dtype in self.inference["dtypes"]:
            for data in ("resident", "transferred") if self.device.get("transfers") else ("resident",):
                with self.subTest(dtype=dtype, data=data):
                    opened = self.worker.wants("open", **self.request(UNUSUAL, dtype=dtype, data=data))
                    session = opened["session"]
                    layers = [layer for step in opened["steps"] for layer in step["layers"]]
                    self.assertEqual(layers, ["conv1", "pool1", "dense1"])
                    # 5 x 5 x 4 sums of 27 products, and 17 of 30; two flops each, three images.
                    self.assertEqual(opened["model"]["flops"], 3 * 2 * (5 * 5 * 4 * 27 + 17 * 30))
                    for level in ("net", "layer"):
                        for chosen in ({}, {"budget": 1}, {"images": [6, 0, 2, 5, 1]}):
                            checked = self.worker.wants("check", session=session, level=level, **chosen)
                            self.assertIs(checked["verified"], True, checked)
                            self.assertEqual(checked["differing"], 0)
                            self.assertEqual(checked["checked"], 1 if "budget" in chosen else len(chosen.get("images", "123")))
                    for step in [None, *range(len(opened["steps"]))]:
                        level = {"level": "net"} if step is None else {"level": "layer", "step": step}
                        sample = self.worker.wants("time", session=session, seconds=0, **level)
                        self.assertEqual(len(sample["samples"]), 1)
                        if data == "transferred" and step is None:
                            self.assertEqual(sample["transfer"]["h2d_bytes"], 3 * 3 * 11 * 9)
                        else:
                            self.assertIsNone(sample["transfer"])
                    # Timing and checking have left no other images behind.
                    self.assertIs(self.worker.wants("check", session=session)["verified"], True)
                    self.worker.wants("close", session=session)

    def test_a_batch_beyond_memory_is_refused(self):
        self.write_unusual()
        for batch in (1 << 40, (1 << 62) + 1):
            kind, message = self.worker.refused("open", **self.request(UNUSUAL, batch=batch))
            self.assertEqual(kind, "memory", message)
            self.assertIn("needs", message)
            self.assertIn("available", message)

    def test_what_does_not_exist_or_fit_is_named(self):
        self.write_unusual()
        for change, wanted, said in (({"device": "moon:0"}, "usage", "moon:0"), ({"workload": "dreams"}, "usage", "dreams"),
                                     ({"dtype": "i32"}, "unsupported", "i32"), ({"implementation": "magic"}, "usage", "magic"),
                                     ({"images": "/nowhere"}, "usage", "/nowhere"), ({"net": {}}, "usage", "schema"),
                                     ({"net": BRIGHTEST}, "usage", "channels")):
            kind, message = self.worker.refused("open", **{**self.request(UNUSUAL), **change})
            self.assertEqual(kind, wanted, (change, message))
            self.assertIn(said, message)
        session = self.worker.wants("open", **self.request(UNUSUAL))["session"]
        for change in ({"level": "layer"}, {"level": "layer", "step": 99}, {"step": 0}, {"session": 99}):
            kind, message = self.worker.refused("time", **{"session": session, "seconds": 0, **change})
            self.assertEqual(kind, "usage", (change, message))
        self.assertIn("image 7", self.worker.refused("check", session=session, images=[7])[1])


if __name__ == "__main__":
    sys.exit(run())
