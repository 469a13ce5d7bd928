# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings in PyTorch, in f64, whose numbers prumo's are held against (golden_training_test.cpp):

    PYTHONPATH=bench/peers python3 tests/nets/golden_training.py FOLDER
    PYTHONPATH=bench/peers python3 tests/nets/golden_training.py --test PROGRAM

The first writes the files that lie in tests/nets/golden. The second writes them into a folder that it removes again, and runs the
test's PROGRAM on them; it exits with 77 where there is no PyTorch.

A file holds a net (its JSON file, in the metadata), images and labels, and for each loss: what the net made of the first step's
images, their loss, and its gradient; for each optimizer the weights after 1, 10 and 100 steps, of the largest images without the
last. There are fewer images than two
steps take, so each second step has fewer. Of nets with many weights every `stride`-th one is kept. First weights are not in
the files, but for those that are kept: docs/random.md tells how to draw them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

IMAGES, BATCH, STEPS = 5, 3, (1, 10, 100)
SEED = 20
RATES = {"sgd": 0.1, "momentum": 0.02, "adam": 0.001}
MOMENTUM = 0.9
LOSSES = ("softmax", "sigmoid", "squared", "original")
KEPT = 600  # weights of a large net, about


def convolution(channels, side, activation, **more):
    return {"type": "convolution", "channels": channels, "filter": side, "activation": activation, **more}


def dense(features, activation="none"):
    return {"type": "dense", "features": features, "activation": activation}


def pool(window, **more):
    return {"type": "max_pool", "window": window, **more}


def net(name, shape, *layers):
    return {"schema": "prumo.net/1", "name": name, "input": dict(zip(("channels", "height", "width"), shape)), "layers": list(layers)}


SOFTMAX = {"type": "softmax"}
MNIST_2F = net("mnist-2f", (1, 28, 28), convolution(6, 5, "sigmoid"),
               {"type": "shared_convolution", "filter": 4, "stride": 4, "activation": "sigmoid"}, dense(10, "sigmoid"))
# Nets like those that prumo knows, with few weights: all losses and optimizers.
SMALL = [
    net("small-2019", (1, 16, 16), convolution(3, 3, "tanh", bias=False), pool(2), convolution(4, 2, "tanh", bias=False), pool(2),
        dense(8, "tanh"), dense(5), SOFTMAX),
    net("small-2020", (1, 22, 20), convolution(2, 3, "relu"), pool(2), convolution(4, 3, "relu"), pool(4, rounding="up"),
        dense(6, "relu"), dense(4), SOFTMAX),
    net("small-lenet", (1, 12, 12), convolution(3, 5, "relu", padding=2), pool(2), convolution(4, 3, "relu"), pool(2),
        dense(10, "relu"), dense(7, "relu"), dense(5)),
    net("unusual", (2, 13, 11), convolution(3, [3, 2], "tanh", stride=[2, 1], padding=[1, 0]),
        {"type": "average_pool", "window": [2, 3], "stride": 2, "rounding": "up"},
        {"type": "shared_convolution", "filter": 2, "padding": 1, "bias": False, "activation": "relu"}, dense(6, "sigmoid"), dense(3, "tanh")),
]
# The nets themselves: one training or a few.
LARGE = [
    (MNIST_2F, (("sigmoid", "momentum"), ("original", "sgd"), ("softmax", "adam"))),
    (net("lenet5", (1, 28, 28), convolution(6, 5, "relu", padding=2), pool(2), convolution(16, 5, "relu"), pool(2), dense(120, "relu"),
         dense(84, "relu"), dense(10)), (("softmax", "momentum"), ("softmax", "adam"))),
    (net("ece408-2019", (1, 48, 48), convolution(6, 5, "tanh", bias=False), pool(2), convolution(16, 5, "tanh", bias=False), pool(2),
         dense(128, "tanh"), dense(10), SOFTMAX), (("softmax", "momentum"),)),
    (net("ece408-2020", (1, 86, 86), convolution(4, 7, "relu"), pool(2), convolution(16, 7, "relu"), pool(4, rounding="up"),
         dense(32, "relu"), dense(10), SOFTMAX), (("softmax", "momentum"),)),
]


class Training:
    """A net in PyTorch with its first weights and images."""

    def __init__(self, document):
        self.document, self.net = document, description.parse(document)
        self.model = TorchNet(self.net).double()
        layers = [it for it in self.net.layers if it.weights]
        products = [int(np.prod(it.weights[0][1][0 if it.kind == "shared_convolution" else 1:])) for it in layers]
        sizes = [[int(np.prod(shape)) for _, shape in it.weights] for it in layers]
        self.first = training_numbers.initial_weights(list(zip(products, sizes)), "", SEED)
        random = np.random.default_rng(SEED)
        self.images = random.integers(0, 256, (IMAGES, *self.net.input), np.uint8)
        classes = int(np.prod(self.net.layers[-1].output))
        self.labels = random.integers(0, classes, IMAGES).astype(np.uint8)
        self.divisors = gradient_divisors(self.net)

    def begin(self):
        place, arrays = 0, {}
        for name, shape in self.net.weights.items():
            size = int(np.prod(shape))
            arrays[name] = self.first[place:place + size].reshape(shape)
            place += size
        self.model.set_weights(arrays)

    def packed(self, of):
        return np.concatenate([of(self.model.weight(name)).detach().numpy().ravel() for name in self.net.weights])

    def batch(self, step):
        first = step * BATCH % (IMAGES + (-IMAGES) % BATCH)
        part = slice(first, min(first + BATCH, IMAGES))
        return torch.from_numpy(self.images[part]).double() / 255, torch.from_numpy(self.labels[part].astype(np.int64))

    def scores(self, x):
        """Of the last dense layer, before its activation and before a softmax."""
        layers = [it for it in self.net.layers if it.kind != "softmax"]
        for layer in layers[:-1]:
            x = self.model.run_layer(layer, x)
        return self.model.sums(layers[-1], x).flatten(1)

    def losses(self, loss, x, labels):
        """Their sum over the images."""
        if loss == "softmax":
            return functional.cross_entropy(self.scores(x), labels, reduction="sum")
        if loss == "squared":
            results = self.model(x).flatten(1)
            return 0.5 * (results - functional.one_hot(labels, results.shape[1]).double()).square().sum()
        scores = self.scores(x)
        targets = functional.one_hot(labels, scores.shape[1]).double()
        return functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum")

    def back_propagate(self, loss, step):
        x, labels = self.batch(step)
        self.model.zero_grad(set_to_none=True)
        total = self.losses(loss, x, labels)
        (total if loss == "original" else total / len(labels)).backward()
        if loss == "original":
            for name, divisor in self.divisors.items():
                self.model.weight(name).grad /= divisor
        return total.item()

    def optimizer(self, name):
        if name == "adam":
            return torch.optim.Adam(self.model.parameters(), lr=RATES[name])
        return torch.optim.SGD(self.model.parameters(), lr=RATES[name], momentum=MOMENTUM if name == "momentum" else 0)

    def file(self, trainings):
        stride = -(-len(self.first) // KEPT) if len(self.first) > 4000 else 1
        arrays = {"images": self.images, "labels": self.labels, "first": self.first[::stride]}
        for loss in dict.fromkeys(it for it, _ in trainings):
            self.begin()
            arrays[f"{loss}.loss"] = np.array([self.back_propagate(loss, 0)])
            arrays[f"{loss}.gradient"] = self.packed(lambda it: it.grad)[::stride]
            with torch.no_grad():
                arrays[f"{loss}.results"] = self.model(self.batch(0)[0]).flatten(1).numpy()
        for loss, name in trainings:
            self.begin()
            optimizer = self.optimizer(name)
            for step in range(max(STEPS) if self.images[0].size < 5000 else 10):
                self.back_propagate(loss, step)
                optimizer.step()
                if step + 1 in STEPS:
                    arrays[f"{loss}.{name}.{step + 1}"] = self.packed(lambda it: it)[::stride]
        metadata = {"net": json.dumps(self.document), "stride": str(stride), "batch": str(BATCH), "seed": str(SEED),
                    "momentum": str(MOMENTUM), **{f"rate.{name}": str(rate) for name, rate in RATES.items()}}
        return arrays, metadata


def write(folder):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    everything = [(loss, name) for loss in LOSSES for name in RATES]
    for document, trainings in [(it, everything) for it in SMALL] + LARGE:
        arrays, metadata = Training(document).file(trainings)
        files.write_safetensors(pathlib.Path(folder) / f"{document['name']}.safetensors", arrays, metadata, exact=True)


def main():
    if sys.argv[1] != "--test":
        write(sys.argv[1])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        return subprocess.run([sys.argv[2], "--gtest_filter=*golden_training*"], env={**os.environ, "PRUMO_GOLDEN": folder}).returncode


if __name__ == "__main__":
    try:
        import torch
    except ModuleNotFoundError:
        other = os.environ.get("PRUMO_PYTHON", sys.executable)
        if other != sys.executable:
            os.execv(other, [other, *sys.argv])
        sys.exit(77)
    import numpy as np
    from torch.nn import functional
    from prumo_peers.nets import description, files, training_numbers
    from prumo_peers.nets.torch_net import TorchNet
    from prumo_peers.nets.training import gradient_divisors
    sys.exit(main())
