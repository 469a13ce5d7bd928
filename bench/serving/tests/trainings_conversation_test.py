# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A conversation about trainings with a real worker, as docs/protocol.md has it. The options are those of conversation_test.py.
Exits with 77 where the worker cannot run here. If it trains no nets, every test is skipped.
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
from nets_conversation_test import write_images, write_weights

NET = {"schema": "prumo.net/1", "name": "learner", "input": {"channels": 2, "height": 9, "width": 8},
       "layers": [{"type": "convolution", "channels": 3, "filter": 3, "padding": 1, "activation": "relu"},
                  {"type": "max_pool", "window": 2, "rounding": "up"}, {"type": "dense", "features": 7, "activation": "tanh"},
                  {"type": "dense", "features": 4}]}
SHAPES = [("conv1.weight", [3, 2, 3, 3]), ("conv1.bias", [3]), ("dense1.weight", [7, 60]), ("dense1.bias", [7]),
          ("dense2.weight", [4, 7]), ("dense2.bias", [4])]
IMAGES, TESTS, BATCH = 26, 9, 4
STEPS = -(-IMAGES // BATCH)


def started():
    worker = Worker()
    worker.__enter__()
    return worker


class Trainings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.worker = self.start()
        hello = self.worker.wants("hello", protocol=1)
        self.device = hello["devices"][0]["id"]
        found = [it for it in hello.get("workloads", []) if it["workload"] == "training"]
        if not found:
            self.skipTest("it trains no nets")
        self.training = found[0]
        numbers = random.Random(5)
        for folder, count in (("train", IMAGES), ("test", TESTS)):
            os.mkdir(self.path(folder))
            labels = [numbers.randrange(4) for _ in range(count)]
            # The class is the brightest quarter, more or less.
            images = [[min(255, numbers.randrange(120) + (120 if (at // 36) % 4 == label else 0)) for at in range(144)]
                      for label in labels]
            write_images(self.path(folder), images, labels, (2, 9, 8))
        write_weights(self.path("weights"), [(name, shape, [numbers.uniform(-0.4, 0.4) for _ in range(math.prod(shape))])
                                             for name, shape in SHAPES])

    def start(self):
        worker = started()
        self.addCleanup(worker.__exit__)
        return worker

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def request(self, **more):
        setup = {"test_images": self.path("test", "images"), "test_labels": self.path("test", "labels"), "loss": "softmax",
                 "optimizer": "momentum", "learning_rate": 0.05, "momentum": 0.9, "seed": 3, "shuffle": True}
        setup.update({name: more.pop(name) for name in list(more) if name in setup})
        return {"device": self.device, "workload": "training", "net": NET, "dtype": "f32", "batch": BATCH,
                "images": self.path("train", "images"), "labels": self.path("train", "labels"),
                "weights": self.path("weights"), "training": setup, **more}

    def open(self, worker=None, **more):
        opened = (worker or self.worker).wants("open", **self.request(**more))
        steps = -(-IMAGES // more.get("batch", BATCH))
        self.assertEqual((opened["images"], opened["classes"], opened["steps_per_epoch"]), (IMAGES, 4, steps))
        return opened["session"]

    def advance(self, session, steps, worker=None):
        """So many steps, across the ends of epochs. \return the last answer"""
        told = None
        while steps > 0:
            told = (worker or self.worker).wants("advance", session=session, steps=steps)
            self.assertLessEqual(told["steps"], steps)
            steps -= told["steps"]
        return told

    def digest(self, session, worker=None):
        return (worker or self.worker).wants("evaluate", session=session)["weights_sha256"]

    def test_every_loss_and_optimizer_is_verified(self):
        for dtype in self.training["dtypes"]:
            for loss in ("softmax", "sigmoid", "squared", "original"):
                for optimizer in ("sgd", "momentum", "adam"):
                    with self.subTest(dtype=dtype, loss=loss, optimizer=optimizer):
                        session = self.open(dtype=dtype, loss=loss, optimizer=optimizer, learning_rate=0.01)
                        before = self.digest(session)
                        for chosen in ({}, {"budget": 1}):
                            checked = self.worker.wants("check", session=session, **chosen)
                            if checked["error"] is None:
                                self.assertTrue(checked["message"])
                                continue
                            self.assertIs(checked["verified"], True, checked)
                            self.assertEqual(checked["checked"], 1 if chosen else BATCH)
                        self.assertEqual(self.digest(session), before, "a check left something behind")
                        self.worker.wants("close", session=session)

    def test_it_learns_and_tells_of_its_epoch(self):
        session = self.open()
        first = self.worker.wants("advance", session=session)
        self.assertEqual((first["steps"], first["epoch"], first["step"], first["images"]), (STEPS, 1, STEPS, IMAGES))
        self.assertIs(first["epoch_done"], True)
        for _ in range(30):
            last = self.worker.wants("advance", session=session)
        self.assertEqual(last["epoch"], 31)
        self.assertLess(last["loss"], 0.5 * first["loss"])
        self.assertGreater(last["correct"], 20)
        part = self.worker.wants("advance", session=session, seconds=0)
        self.assertEqual((part["steps"], part["epoch"], part["step"], part["images"]), (1, 32, 1, BATCH))
        told = self.worker.wants("evaluate", session=session)
        self.assertEqual((told["images"], len(told["predictions"])), (TESTS, TESTS))
        self.assertGreater(told["correct"], TESTS // 2)
        self.assertGreater(told["loss"], 0)

    def test_slices_make_no_difference(self):
        whole = self.open()
        self.advance(whole, 3 * STEPS + 2)
        expected = self.digest(whole)
        if self.digest(whole) != expected:
            self.skipTest("it is not the same on every run")
        for steps in (1, 3):
            session = self.open()
            for _ in range((3 * STEPS + 2) // steps):
                self.advance(session, steps)
            self.advance(session, (3 * STEPS + 2) % steps)
            self.worker.wants("check", session=session)
            self.assertEqual(self.digest(session), expected)

    def checkpoint(self, session, note=""):
        path = self.path("run.safetensors")
        answer = self.worker.ask("save", session=session, path=path, content="checkpoint", note=note)
        if not answer["ok"]:
            self.assertEqual(answer["error"]["kind"], "unsupported")
            self.skipTest("it has no checkpoints")
        return path

    def test_a_killed_worker_goes_on_to_the_same_weights(self):
        for optimizer in ("sgd", "momentum", "adam"):
            with self.subTest(optimizer=optimizer):
                whole = self.open(optimizer=optimizer)
                self.advance(whole, 4 * STEPS)
                session = self.open(optimizer=optimizer)
                for steps, epoch, step in ((2, 1, 2), (STEPS - 2, 2, 0), (2 * STEPS - 1, 3, STEPS - 1)):
                    worker = self.worker
                    worker.wants("advance", session=session, steps=steps) if steps < STEPS else self.advance(session, steps)
                    path = self.checkpoint(session, "what I knew")
                    self.advance(session, 1)
                    # Another process, in place of one that was killed.
                    self.worker = self.start()
                    session = self.open(optimizer=optimizer)
                    told = self.worker.wants("load", session=session, path=path)
                    self.assertEqual((told["epoch"], told["step"], told["note"]), (epoch, step, "what I knew"))
                self.advance(session, 1)
                whole = self.open(optimizer=optimizer)
                self.advance(whole, 3 * STEPS)
                self.assertEqual(self.digest(session), self.digest(whole))

    def test_other_checkpoints_are_refused_and_nothing_is_lost(self):
        session = self.open()
        self.advance(session, 3)
        path = self.checkpoint(session)
        with open(path, "rb") as file:
            content = file.read()

        def refused(said, own=None, data=None, **more):
            wrong = path
            if data is not None:
                wrong = self.path("wrong.safetensors")
                with open(wrong, "wb") as file:
                    file.write(data)
            number = own or self.open(**more)
            before = self.digest(number)
            kind, message = self.worker.refused("load", session=number, path=wrong)
            self.assertEqual(kind, "usage", message)
            self.assertIn(said, message)
            self.assertEqual(self.digest(number), before)
        refused("learning_rate is", learning_rate=0.06)
        refused("loss is softmax", loss="sigmoid")
        refused("seed is 3", seed=4)
        refused("shuffle is true", shuffle=False)
        refused("batch is 4", batch=5)
        refused("momentum is 0.9 in the file", optimizer="sgd")
        os.mkdir(self.path("other"))
        write_images(self.path("other"), [[0] * 144] * TESTS, [0] * TESTS, (2, 9, 8))
        refused("other test images (test_data_sha256 is", test_images=self.path("other", "images"))
        refused("other test images (test_data_sha256 is", test_labels=self.path("other", "labels"))
        if "f64" in self.training["dtypes"]:
            refused("dtype is f32", dtype="f64")
        refused("", own=session, data=content[:-5])
        refused("was changed or damaged", own=session, data=content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])
        refused("was changed or damaged", own=session, data=content.replace(b'"condition.build":"', b'"condition.built":"'))
        with open(self.path("weights"), "rb") as file:
            refused("is no checkpoint", own=session, data=file.read())
        refused("", own=session, data=b"")
        kind, message = self.worker.refused("load", session=session, path=self.path("none"))
        self.assertEqual(kind, "usage", message)
        self.worker.wants("load", session=session, path=path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_training_that_diverges_leaves_the_checkpoint(self):
        session = self.open(learning_rate=1e39, optimizer="sgd")  # beyond f32
        path = self.checkpoint(session)
        with open(path, "rb") as file:
            content = file.read()
        for _ in range(5):
            told = self.advance(session, STEPS)
        self.assertIsNone(told["loss"])
        self.assertIn("not finite", self.worker.refused("save", session=session, path=path, content="checkpoint")[1])
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_weights_run_as_a_net(self):
        session = self.open()
        self.advance(session, 5 * STEPS)
        told = self.worker.wants("evaluate", session=session)
        path = self.path("w.safetensors")
        self.worker.wants("save", session=session, path=path, content="weights")
        net = self.worker.wants("open", device=self.device, workload="inference", net=NET, dtype="f32", batch=3,
                                images=self.path("test", "images"), labels=self.path("test", "labels"), weights=path)
        self.assertEqual(self.worker.wants("evaluate", session=net["session"])["predictions"], told["predictions"])

    def test_what_does_not_exist_or_fit_is_named(self):
        for change, wanted, said in (({"loss": "hinge"}, "usage", "hinge"), ({"optimizer": "lion"}, "usage", "lion"),
                                     ({"dtype": "f16"}, "unsupported", "f16"), ({"implementation": "magic"}, "usage", "magic"),
                                     ({"test_images": "/nowhere"}, "usage", "/nowhere"), ({"learning_rate": 0}, "usage", "learning_rate"),
                                     ({"device": "moon:0"}, "usage", "moon:0")):
            kind, message = self.worker.refused("open", **self.request(**change))
            self.assertEqual(kind, wanted, (change, message))
            self.assertIn(said, message)
        request = self.request()
        del request["training"]
        self.assertIn("training", self.worker.refused("open", **request)[1])
        for name in ("advance", "evaluate", "close"):
            self.assertEqual(self.worker.refused(name, session=99)[0], "usage")
        session = self.open()
        self.assertEqual(self.worker.refused("advance", session=session, steps=0)[0], "usage")
        self.worker.wants("close", session=session)
        self.assertEqual(self.worker.refused("advance", session=session)[0], "usage")


if __name__ == "__main__":
    sys.exit(run())
