# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net of prumo's description as functions of JAX. Images are [n, channels, rows, columns], or [n, rows, columns, channels]
with ``channels_last``. Sums of f64 are f64, and those of all other types f32; what a layer gives is rounded to its type."""

import math

import jax
import jax.numpy as jnp

_ACTIVATIONS = {"none": lambda x: x, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh}


def sum_type(dtype):
    return jnp.float64 if dtype == jnp.float64 else jnp.float32


def run_net(net, weights, x, channels_last=False):
    """What the last layer makes of images, [n, classes] where it is dense or a softmax."""
    for layer in net.layers:
        x = run_layer(layer, weights, x, channels_last)
    return x


def run_layer(layer, weights, x, channels_last=False):
    """One layer with its activation."""
    wide = sum_type(x.dtype)
    arrays = [weights[name] for name, _ in layer.weights]
    if layer.kind == "softmax":
        return jax.nn.softmax(_rows(x, channels_last).astype(wide), axis=1).astype(x.dtype)
    if layer.kind in ("max_pool", "average_pool"):
        return _pool(layer, x.astype(wide), channels_last).astype(x.dtype)
    if layer.kind == "dense":
        y = jnp.matmul(_rows(x, channels_last), arrays[0].T, precision=jax.lax.Precision.HIGHEST,
                       preferred_element_type=wide)
    else:
        y = _convolution(layer, x, arrays[0], wide, channels_last)
    if layer.has_bias:
        bias = arrays[1].astype(wide)
        y = y + (bias if layer.kind == "dense" or channels_last else bias[:, None, None])
    return _ACTIVATIONS[layer.activation](y).astype(x.dtype)


def _rows(x, channels_last):
    """Images as rows, in the order of channels, rows and columns that the weights have."""
    if channels_last and x.ndim == 4:
        x = jnp.transpose(x, (0, 3, 1, 2))
    return x.reshape(len(x), -1)


def _convolution(layer, x, weight, wide, channels_last):
    groups = 1
    if layer.kind == "shared_convolution":  # the same filter for each channel
        groups = layer.input[0]
        weight = jnp.broadcast_to(weight, (groups, 1, *weight.shape))
    order = "NHWC" if channels_last else "NCHW"
    return jax.lax.conv_general_dilated(
        x, weight, layer.stride, [(it, it) for it in layer.padding], dimension_numbers=(order, "OIHW", order),
        feature_group_count=groups, precision=jax.lax.Precision.HIGHEST, preferred_element_type=wide)


def _pool(layer, x, channels_last):
    # Windows may reach beyond the image where their number is rounded up, and need not reach its end otherwise.
    sides = [(before, (places - 1) * stride + window - extent - before)
             for before, places, stride, window, extent in zip(layer.padding, layer.output[1:], layer.stride, layer.window,
                                                                layer.input[1:])]

    def spread(middle, other):
        return (other, *middle, other) if channels_last else (other, other, *middle)
    windows = spread(layer.window, 1), spread(layer.stride, 1), spread(sides, (0, 0))
    if layer.kind == "max_pool":
        return jax.lax.reduce_window(x, x.dtype.type(-math.inf), jax.lax.max, *windows)
    zero = x.dtype.type(0)
    return (jax.lax.reduce_window(x, zero, jax.lax.add, *windows) /
            jax.lax.reduce_window(jnp.ones((1, *x.shape[1:]), x.dtype), zero, jax.lax.add, *windows))
