# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients of a convolution: of its images, and of its filters."""

import numpy as np

from prumo_peers.common import rounding
from prumo_peers.common.elementwise import parameter
from prumo_peers.common.images import Convolution, Images, places

_CONVOLUTION = Convolution()


class ConvolutionGradient(Images):
    axes = Convolution.axes

    def __init__(self, op, description, parameters=()):
        super().__init__(op, description, 2, 0, default=False, parameters=(
            parameter("stride", "the distance of neighbouring places of the filter", 1),
            parameter("padding", "rows and columns of zeros at each side", 0), *parameters))

    @staticmethod
    def extents(shape, it):
        """Those of x, w and y."""
        x = (shape["images"], shape["in_channels"], shape["height"], shape["width"])
        w = (shape["out_channels"], shape["in_channels"], shape["filter_rows"], shape["filter_columns"])
        return x, w, (x[0], w[0], *_CONVOLUTION.convolved(shape, it))

    def model(self, shape, values, size):
        extents = [int(np.prod(it)) for it, _ in self.arrays(shape, values)]
        products = int(np.prod(self.extents(shape, values)[2])) * int(np.prod(self.extents(shape, values)[1][1:]))
        return {"bytes": sum(extents) * size, "flops": 2 * products, "elements": extents[-1], "unit": "vector"}

    def expected(self, choice, indices):
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for at, index in enumerate(indices):
            value[at], bound[at] = self._result(choice, int(index))
        return value, rounding.stored_bound(choice.dtype, value, bound)

    def _sum(self, choice, products, parts=1):
        """A sum in any order, and its bound. A framework may round the sums of parts to the type of the arrays."""
        total, magnitude = products.sum(), np.abs(products).sum()
        error = rounding.summation_growth(choice.compute_type, products.size + 2) * magnitude
        return total, error + (1 + parts) * choice.storage_bound(self, magnitude)


class ConvolutionBackwardData(ConvolutionGradient):
    def __init__(self):
        super().__init__("convolution_backward_data", "dx = the gradient of the images x of y = w * x")

    def arrays(self, shape, values):
        x, w, y = self.extents(shape, values)
        return [(y, "input"), (w, "input"), (x, "output")]

    def reference_cost(self, shape):
        return 1000 + 400 * shape["out_channels"] * shape["filter_rows"] * shape["filter_columns"]

    def _result(self, choice, index):
        it, shape = choice.values, choice.shape
        (_, inputs, height, width), (outputs, _, filter_rows, filter_columns), (*_, rows, columns) = self.extents(shape, it)
        plane, place = divmod(index, height * width)
        image, channel = divmod(plane, inputs)
        row, column = divmod(place, width)
        stride, padding = int(it["stride"]), int(it["padding"])
        i, j = (np.array([it for it in range(extent) if 0 <= at + padding - it * stride < taps], np.int64)
                for at, extent, taps in ((row, rows, filter_rows), (column, columns, filter_columns)))
        p, q = row + padding - i * stride, column + padding - j * stride
        m = np.arange(outputs)[:, None, None]
        dy = choice.entries(0, (((image * outputs + m) * rows + i[:, None]) * columns + j).ravel())
        w = choice.entries(1, (((m * inputs + channel) * filter_rows + p[:, None]) * filter_columns + q).ravel())
        return self._sum(choice, dy * w)


class ConvolutionBackwardWeights(ConvolutionGradient):
    def __init__(self):
        super().__init__("convolution_backward_weights",
                         "dw = the gradient of the filters w of y = w * x + bias, and that of the bias",
                         (parameter("bias", "1 where y has a bias for each channel", 0),))

    def arrays(self, shape, values):
        x, w, y = self.extents(shape, values)
        return [(x, "input"), (y, "input"), (w, "output")]

    def reference_cost(self, shape):
        # As without padding and with a stride of 1.
        rows, columns = (places(shape[side], shape[of], 1, 0)
                         for side, of in (("height", "filter_rows"), ("width", "filter_columns")))
        return 1000 + 400 * shape["images"] * max(1, rows * columns)

    def _result(self, choice, index):
        it, shape = choice.values, choice.shape
        (images, inputs, height, width), (outputs, _, filter_rows, filter_columns), (*_, rows, columns) = (
            self.extents(shape, it))
        plane, tap = divmod(index, filter_rows * filter_columns)
        m, c = divmod(plane, inputs)
        p, q = divmod(tap, filter_columns)
        stride, padding = int(it["stride"]), int(it["padding"])
        i, j = (np.array([it for it in range(extent) if 0 <= it * stride - padding + at < side], np.int64)
                for at, extent, side in ((p, rows, height), (q, columns, width)))
        row, column = i * stride - padding + p, j * stride - padding + q
        n = np.arange(images)[:, None, None]
        x = choice.entries(0, (((n * inputs + c) * height + row[:, None]) * width + column).ravel())
        dy = choice.entries(1, (((n * outputs + m) * rows + i[:, None]) * columns + j).ravel())
        return self._sum(choice, x * dy, images)
