# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a training takes from the generator of docs/random.md: the order of images in an epoch, and initial weights."""

import numpy as np

from prumo_peers.common import philox

_ORDER_STREAM = 1 << 63
_ROUNDS = 24
_LEAST_BITS = 8
_FACTOR = np.uint64(0xD2511F53)
_WORD = np.uint64(0xFFFFFFFF)


def image_order(seed, epoch, count):
    """The images of a set of ``count`` in the order in which the epoch takes them."""
    keys = philox.blocks(seed, _ORDER_STREAM, np.array([epoch], np.uint64))[:, 0]
    bits = max(_LEAST_BITS, (count - 1).bit_length() if count > 0 else 0)
    left_bits = bits // 2
    right_bits = bits - left_bits
    left_mask, right_mask = np.uint64((1 << left_bits) - 1), np.uint64((1 << right_bits) - 1)

    def once(values):
        left, right = values >> np.uint64(right_bits), values & right_mask
        for number in range(_ROUNDS):
            key = (keys[number % 4] + np.uint64(number // 4 * 0x9E3779B9)) & _WORD
            product = left * _FACTOR
            left, right = (((product >> np.uint64(32)) ^ key ^ right) & left_mask,
                           (((product & _WORD) << np.uint64(right_bits - left_bits)) | (right >> np.uint64(left_bits)))
                           & right_mask)
        return (left << np.uint64(right_bits)) | right

    following = once
    if bits == _LEAST_BITS:  # values go round many times before they are in a small set
        following = once(np.arange(1 << bits, dtype=np.uint64)).__getitem__
    images = following(np.arange(count, dtype=np.uint64))
    while (outside := images >= count).any():
        images[outside] = following(images[outside])
    return images.astype(np.int64)


def initial_weights(parameters, loss, seed):
    """Packed weights as doubles. ``parameters``: for each layer with weights its number of products in a sum and the
    sizes of its arrays."""
    arrays = [(products, size) for products, sizes in parameters for size in sizes]
    bounds = [0.5 if loss == "original" else 1 / np.sqrt(np.float64(products)) for products, _ in arrays]
    return np.concatenate([bound * philox.uniform(seed, stream, 0, size, "f64")
                           for stream, (bound, (_, size)) in enumerate(zip(bounds, arrays))])
