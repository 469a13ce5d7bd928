#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a linear classifier on the digits that prumo generates: they must be harder than that, and still digits.

usage: linear_classifier.py PRUMO [--images TRAIN] [--epochs N]

Exit code 0: the accuracy on the test images is within its bounds; 1: it is not; 77: there is no numpy.
"""
import argparse
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
except ImportError:
    sys.exit(77)

# A linear classifier has 86 % of the test images right after 20,000 images, and 87 % after 60,000 and eight epochs.
LEAST, MOST = 0.75, 0.95


def read_idx(path, extents):
    data = path.read_bytes()
    head = struct.unpack(f">{extents + 1}I", data[: 4 * extents + 4])
    return numpy.frombuffer(data, numpy.uint8, offset=4 * extents + 4).reshape(head[1:])


def read_set(folder, name):
    images = read_idx(folder / f"{name}-images-idx3-ubyte", 3)
    return images.reshape(len(images), -1).astype(numpy.float32) / 255, read_idx(folder / f"{name}-labels-idx1-ubyte", 1)


def train(images, labels, epochs):
    """Softmax regression by stochastic gradients with momentum."""
    random = numpy.random.default_rng(1)
    weights = numpy.zeros((images.shape[1] + 1, 10), numpy.float32)
    momentum = numpy.zeros_like(weights)
    images = numpy.hstack([images, numpy.ones((len(images), 1), numpy.float32)])
    for _ in range(epochs):
        order = random.permutation(len(images))
        for begin in range(0, len(images), 128):
            batch = order[begin : begin + 128]
            scores = images[batch] @ weights
            shares = numpy.exp(scores - scores.max(1, keepdims=True))
            shares /= shares.sum(1, keepdims=True)
            shares[numpy.arange(len(batch)), labels[batch]] -= 1
            momentum = 0.9 * momentum - 0.05 / len(batch) * (images[batch].T @ shares)
            weights += momentum
    return weights


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("prumo")
    parser.add_argument("--images", type=int, default=20000)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [options.prumo, "data", "generate", folder, "--images", f"{options.images},10000"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        images, labels = read_set(Path(folder), "train")
        test_images, test_labels = read_set(Path(folder), "t10k")
    weights = train(images, labels, options.epochs)
    right = (test_images @ weights[:-1] + weights[-1]).argmax(1) == test_labels
    print(f"{100 * right.mean():.1f} % of {len(right)} test images are right after {options.images} images")
    return 0 if LEAST < right.mean() < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
