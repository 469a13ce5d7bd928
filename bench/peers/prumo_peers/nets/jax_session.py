# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net with its data in JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from prumo_peers.nets import jax_net
from prumo_peers.nets.session import NetSession

# jit: the net as one compiled function; channels_last: the same with the channels of images next to each other.
IMPLEMENTATIONS = ("jit", "channels_last")
_TYPES = {"f32": jnp.float32, "f64": jnp.float64, "f16": jnp.float16, "bf16": jnp.bfloat16}


class JaxSession(NetSession):
    def _place(self):
        choice = self.choice
        self._type = _TYPES[choice.dtype]
        self._channels_last = choice.implementation == "channels_last"
        self._weights = {name: self._put(np.asarray(it, np.float64).astype(self._type)) for name, it in
                         choice.weights.items()}
        net, last = choice.net, self._channels_last
        self._run = self._compiled(lambda weights, x: jax_net.run_net(net, weights, x, last).reshape(len(x), -1))
        self._run_bytes = self._compiled(
            lambda weights, pixels: jax_net.run_net(net, weights, self._numbers(pixels), last).reshape(len(pixels), -1))
        self._results = [None] * len(self._offsets)

    def _batch_offsets(self):
        """JAX needs an array for each batch. So there are only enough batches to hold every image once."""
        return super()._batch_offsets()[:-(-len(self.choice.images) // self.choice.batch)]

    def _net_calls(self):
        convert = self._compiled(lambda _, pixels: self._numbers(pixels))

        def run(which, x):
            self._results[which] = self._pending(self._run(self._weights, x))
        return [functools.partial(run, it, convert({}, self._put(self._batch(it)))) for it in range(len(self._offsets))]

    def _step_call(self, step):
        net, last = self.choice.net, self._channels_last
        x = self._compiled(lambda _, pixels: self._numbers(pixels))({}, self._put(self._pixels[:self.choice.batch]))
        for layer in net.layers[:step]:
            x = self._compiled(functools.partial(_layer, layer, last))(self._weights, x)
        run = self._compiled(functools.partial(_layer, net.layers[step], last))
        return lambda: self._pending(run(self._weights, x))

    def _transfers(self):
        made = {}

        def upload(which):
            made["pixels"] = self._pending(self._put(self._batch(which)))

        def compute():
            made["y"] = self._pending(self._run_bytes(self._weights, made["pixels"]))

        def download(which):
            self._results[which] = np.asarray(made["y"])
        count = range(len(self._offsets))
        return ([functools.partial(upload, it) for it in count], [compute] * len(count),
                [functools.partial(download, it) for it in count])

    def _forget_results(self):
        self._results = [None] * len(self._offsets)

    def _results_of(self, which, places):
        return np.asarray(self._results[which]).astype(np.float64)[places]

    def _scores(self, pixels):
        scores = np.asarray(self._run_bytes(self._weights, self._put(np.ascontiguousarray(pixels))))
        return scores if self._type == jnp.float64 else scores.astype(np.float32)

    def _rounded_weights(self):
        return {name: np.asarray(it).astype(np.float64) for name, it in self._weights.items()}

    def _rounded_numbers(self, pixels):
        wide = np.float64 if self._type == jnp.float64 else np.float32
        return (pixels.astype(wide) / wide(255)).astype(self._type).astype(np.float64)

    def _numbers(self, pixels):
        """b / 255, rounded to the type of the net."""
        numbers = (pixels.astype(jax_net.sum_type(self._type)) / 255).astype(self._type)
        return jnp.transpose(numbers, (0, 2, 3, 1)) if self._channels_last else numbers

    def _compiled(self, function):
        return jax.jit(function, out_shardings=jax.sharding.SingleDeviceSharding(self.device.handle))

    def _put(self, array):
        return jax.device_put(array, self.device.handle)

    def _pending(self, array):
        """What the next fence waits for; calls are done in order."""
        self.framework.wait_for(array)
        return array


def _layer(layer, channels_last, weights, x):
    return jax_net.run_layer(layer, weights, x, channels_last)
