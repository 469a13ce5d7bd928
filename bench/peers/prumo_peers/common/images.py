# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on images: the convolution with filters, and pooling. Images are [count, channels, rows, columns]."""

import numpy as np

from prumo_peers.common import rounding
from prumo_peers.common.elementwise import Gelu, Operation, parameter

ACTIVATIONS = ("none", "relu", "sigmoid", "tanh", "gelu", "gelu_by_tanh")
POOLINGS = ("none", "maximum", "mean")


def places(extent, window, stride, padding, round_up=False):
    """The number of windows along one side of an image."""
    room = extent + 2 * padding - window
    if room < 0 or stride < 1:
        return 0
    windows = room // stride + 1
    return windows + 1 if round_up and room % stride and windows * stride < extent + padding else windows


def inside(place, window, stride, padding, extent):
    """The elements of a window that lie inside the image."""
    begin = place * stride - padding
    return range(max(0, begin), min(extent, begin + window))


def activated(name, x):
    """The exact value."""
    if name == "relu":
        return max(x, np.longdouble(0))
    if name == "sigmoid":
        return 1 / (1 + np.exp(-x))
    if name == "tanh":
        return np.tanh(x)
    if name.startswith("gelu"):
        return Gelu.exact_of(x, {"tanh": name == "gelu_by_tanh"})
    return x


class Images(Operation):
    """What images of any extents have in common: the size is that of x, from which the number of images follows."""

    def fitting(self, elements, given):
        extents = {it["name"]: it["default"] for it in self.axes[1:]}
        image = np.prod([given.get(name, extents[name]) for name in ("in_channels", "channels", "height", "width")
                         if name in extents])
        return {"images": max(1, elements // max(1, int(image))), **extents}

    def reduced(self, choice, kind, values, bounds):
        """The value of a window, and its bound. The largest is off by the largest error at most. A mean has the mean of
        the errors, and k roundings of its own."""
        if kind == "maximum":
            return max(values), max(bounds)
        growth = rounding.gamma(choice.compute_type, len(values))
        return sum(values) / len(values), (sum(bounds) + growth * sum(map(abs, values))) / len(values)


def axis(name, description, default=None):
    return {"name": name, "description": description} | ({} if default is None else {"default": default})


class Pooling(Images):
    axes = (axis("images", "images of x"), axis("channels", "channels of an image", 6),
            axis("height", "rows of an image", 44), axis("width", "columns of an image", 44))

    def __init__(self, op, description, kind):
        super().__init__(op, description, 1, 1, default=False, parameters=(
            parameter("window", "rows and columns of a window", 2),
            parameter("stride", "the distance of neighbouring windows", 2),
            parameter("padding", "rows and columns that are added at each side", 0),
            parameter("round_up", "1: windows that are partly outside count, too", 0)))
        self.kind = kind

    @staticmethod
    def sides(shape, it):
        return [places(shape[side], it["window"], it["stride"], it["padding"], it["round_up"])
                for side in ("height", "width")]

    def arrays(self, shape, values):
        x = (shape["images"], shape["channels"], shape["height"], shape["width"])
        return [(x, "input"), (x[:2] + tuple(self.sides(shape, values)), "output")]

    def model(self, shape, values, size):
        (x, _), (y, _) = self.arrays(shape, values)
        read, written = int(np.prod(x)), int(np.prod(y))
        return {"bytes": (read + written) * size, "flops": read, "elements": written, "unit": "vector"}

    def reference_cost(self, shape):
        return 2000

    def expected(self, choice, indices):
        it, shape = choice.values, choice.shape
        rows, columns = self.sides(shape, it)
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for at, index in enumerate(indices):
            plane, place = divmod(int(index), rows * columns)
            row, column = divmod(place, columns)
            r = np.array(inside(row, it["window"], it["stride"], it["padding"], shape["height"]))
            c = np.array(inside(column, it["window"], it["stride"], it["padding"], shape["width"]))
            where = (plane * shape["height"] + r[:, None]) * shape["width"] + c
            x = choice.entries(0, where.ravel())
            value[at], bound[at] = self.reduced(choice, self.kind, list(x), [np.longdouble(0)] * len(x))
        return value, rounding.stored_bound(choice.dtype, value, bound)


class Convolution(Images):
    axes = (axis("images", "images of x"), axis("in_channels", "channels of x", 4),
            axis("height", "rows of an image of x", 40), axis("width", "columns of an image of x", 40),
            axis("out_channels", "channels of y", 16), axis("filter_rows", "rows of a filter", 7),
            axis("filter_columns", "columns of a filter", 7))

    def __init__(self):
        super().__init__("convolution", "y = pool(act(w * x + bias)) for images x and filters w", 2, 0, default=False,
                         parameters=(
                             parameter("stride", "the distance of neighbouring places of the filter", 1),
                             parameter("padding", "rows and columns of zeros at each side", 0),
                             parameter("bias", "1 where y has a bias for each channel", 0),
                             parameter("activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 0),
                             parameter("pooling", "0 none, 1 the maximum of each window, 2 its mean", 0),
                             parameter("window", "rows and columns of a window of the pooling, and its strides", 2),
                             parameter("round_up", "1 where windows that are partly outside count, too", 0)))

    @staticmethod
    def convolved(shape, it):
        """Rows and columns before pooling."""
        return [places(shape[side], shape[f], it["stride"], it["padding"])
                for side, f in (("height", "filter_rows"), ("width", "filter_columns"))]

    def stored(self, shape, it):
        sides = self.convolved(shape, it)
        return [places(side, it["window"], it["window"], 0, it["round_up"]) for side in sides] if it["pooling"] else sides

    def arrays(self, shape, values):
        x = (shape["images"], shape["in_channels"], shape["height"], shape["width"])
        w = (shape["out_channels"], shape["in_channels"], shape["filter_rows"], shape["filter_columns"])
        bias = [(w[:1], "input")] if values["bias"] else []
        return [(x, "input"), (w, "input"), *bias, ((x[0], w[0], *self.stored(shape, values)), "output")]

    def model(self, shape, values, size):
        extents = [int(np.prod(it)) for it, _ in self.arrays(shape, values)]
        taps = shape["in_channels"] * shape["filter_rows"] * shape["filter_columns"]
        sums = shape["images"] * shape["out_channels"] * int(np.prod(self.convolved(shape, values)))
        return {"bytes": sum(extents) * size, "flops": 2 * taps * sums, "elements": extents[-1], "unit": "vector"}

    def reference_cost(self, shape):
        return 1000 + 400 * shape["in_channels"] * shape["filter_rows"] * shape["filter_columns"]

    def expected(self, choice, indices):
        it, shape = choice.values, choice.shape
        rows, columns = self.stored(shape, it)
        sides = self.convolved(shape, it)
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for at, index in enumerate(indices):
            plane, place = divmod(int(index), rows * columns)
            image, channel = divmod(plane, shape["out_channels"])
            row, column = divmod(place, columns)
            if not it["pooling"]:
                value[at], bound[at] = self._result(choice, image, channel, row, column)
                continue
            results = [self._result(choice, image, channel, r, c)
                       for r in inside(row, it["window"], it["window"], 0, sides[0])
                       for c in inside(column, it["window"], it["window"], 0, sides[1])]
            value[at], bound[at] = self.reduced(choice, POOLINGS[int(it["pooling"])], *map(list, zip(*results)))
        return value, rounding.stored_bound(choice.dtype, value, bound)

    def _result(self, choice, image, channel, row, column):
        """One sum with bias and activation. The bound: a product reaches the sum through K additions at most, and its
        own rounding; the functions are within 6 units in the last place, and no slope is above 1.13. A framework may
        round the sum and the result to the type of the arrays."""
        it, shape = choice.values, choice.shape
        top, left = row * it["stride"] - it["padding"], column * it["stride"] - it["padding"]
        r = np.array(range(max(0, top), min(shape["height"], top + shape["filter_rows"])))
        c = np.array(range(max(0, left), min(shape["width"], left + shape["filter_columns"])))
        channels = np.arange(shape["in_channels"])[:, None, None]
        planes = image * shape["in_channels"] + channels
        x = choice.entries(0, ((planes * shape["height"] + r[:, None]) * shape["width"] + c).ravel())
        filters = channel * shape["in_channels"] + channels
        rows_of_filter = (filters * shape["filter_rows"] + r[:, None] - top) * shape["filter_columns"]
        w = choice.entries(1, (rows_of_filter + c - left).ravel())
        bias = choice.entries(2, np.array([channel]))[0] if it["bias"] else np.longdouble(0)
        products = x * w
        total = products.sum() + bias
        error = rounding.gamma(choice.compute_type, len(products) + 2) * (np.abs(products).sum() + abs(bias))
        error = error + choice.storage_bound(self, total)
        name = ACTIVATIONS[int(it["activation"])]
        result = activated(name, total)
        if name not in ("none", "relu"):
            error = 1.13 * error + 6 * rounding.unit_roundoff(choice.compute_type) * 2 * (abs(total) + error)
        return result, error + choice.storage_bound(self, result)
