# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training in JAX."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from prumo_peers.nets import jax_net
from prumo_peers.nets.training import TrainingSession, gradient_divisors

# loop: many steps in one compiled function, where launches take no time; jit: a step as one compiled function.
IMPLEMENTATIONS = ("loop", "jit")
_TYPES = {"f32": jnp.float32, "f64": jnp.float64}
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def implementations_on(device):
    """On the host XLA runs what is in a loop on one thread, so single steps come first there."""
    return IMPLEMENTATIONS if device.transfers else IMPLEMENTATIONS[::-1]


class JaxTraining(TrainingSession):
    def _place(self):
        choice = self.choice
        self._type = _TYPES[choice.dtype]
        self._layers = [it for it in choice.net.layers if choice.loss == "squared" or it.kind != "softmax"]
        if choice.loss != "squared":  # the scores, before the activation
            self._layers[-1] = dataclasses.replace(self._layers[-1], activation="none")
        self._divisors = gradient_divisors(choice.net) if choice.loss == "original" else {}
        weights = {name: self._put(np.asarray(it, np.float64).astype(self._type)) for name, it in choice.weights.items()}
        zeros = {name: jnp.zeros_like(it) for name, it in weights.items()}
        self._state = self._put({"weights": weights, "first": zeros, "second": zeros, "steps": np.float64(0),
                                 "loss": np.float64(0), "correct": np.int64(0)})
        self._data = self._put((choice.images, choice.labels.astype(np.int32)))
        self._order = self._put(np.arange(len(choice.images), dtype=np.int32))
        sharding = jax.sharding.SingleDeviceSharding(self.device.handle)
        self._whole = jax.jit(self._loop, out_shardings=sharding)
        self._rest = jax.jit(self._last_step, out_shardings=sharding)
        self._test = jax.jit(lambda weights, pixels: self._results(weights, self._numbers(pixels)), out_shardings=sharding)
        # Compiled before anything is timed; no step is taken in the state that stays.
        if len(choice.images) >= choice.batch:
            jax.block_until_ready(self._whole(self._state, self._data, self._order, np.int32(0), np.int32(1)))
        if len(choice.images) % choice.batch:
            jax.block_until_ready(self._rest(self._state, self._data, self._order))

    def _put(self, value):
        return jax.device_put(value, self.device.handle)

    def _numbers(self, pixels):
        return pixels.astype(self._type) / 255

    def _results(self, weights, x):
        for layer in self._layers:
            x = jax_net.run_layer(layer, weights, x)
        return x.reshape(len(x), -1)

    def _loss(self, weights, pixels, labels):
        """What gradients are taken of, and the results."""
        results, kind = self._results(weights, self._numbers(pixels)), self.choice.loss
        targets = jax.nn.one_hot(labels, results.shape[1], dtype=results.dtype)
        if kind == "softmax":
            total = -(jax.nn.log_softmax(results) * targets).sum()
        elif kind == "squared":
            total = 0.5 * ((results - targets) ** 2).sum()
        else:
            total = (jnp.maximum(results, 0) - results * targets + jnp.log1p(jnp.exp(-jnp.abs(results)))).sum()
        return (total if kind == "original" else total / len(labels)), (total, results)

    def _stepped(self, state, data, which):
        pixels, labels = data[0][which], data[1][which]
        gradients, (total, results) = jax.grad(self._loss, has_aux=True)(state["weights"], pixels, labels)
        gradients = {name: it / self._divisors.get(name, 1) for name, it in gradients.items()}
        steps = state["steps"] + 1
        made = {name: self._updated(state["weights"][name], gradients[name], state["first"][name], state["second"][name], steps)
                for name in gradients}
        return {**{part: {name: it[number] for name, it in made.items()}
                   for number, part in enumerate(("weights", "first", "second"))}, "steps": steps,
                "loss": state["loss"] + total.astype(jnp.float64),
                "correct": state["correct"] + (results.argmax(1) == labels).sum(dtype=jnp.int64)}

    def _updated(self, weight, gradient, first, second, steps):
        choice = self.choice
        if choice.optimizer == "sgd":
            return weight - choice.rate * gradient, first, second
        if choice.optimizer == "momentum":
            first = choice.momentum * first + gradient
            return weight - choice.rate * first, first, second
        first = _BETA1 * first + (1 - _BETA1) * gradient
        second = _BETA2 * second + (1 - _BETA2) * gradient**2
        mean = first / (1 - _BETA1**steps).astype(weight.dtype)
        square = second / (1 - _BETA2**steps).astype(weight.dtype)
        return weight - choice.rate * mean / (jnp.sqrt(square) + _EPSILON), first, second

    def _loop(self, state, data, order, first, count):
        """``count`` steps with whole batches, from step ``first`` of the epoch on."""
        batch = self.choice.batch

        def step(number, state):
            return self._stepped(state, data, jax.lax.dynamic_slice(order, ((first + number) * batch,), (batch,)))
        if self.choice.implementation == "jit":
            return step(0, state)
        return jax.lax.fori_loop(0, count, step, state)

    def _last_step(self, state, data, order):
        """The step with the images that are left of an epoch."""
        left = len(self.choice.images) % self.choice.batch
        return self._stepped(state, data, order[len(self.choice.images) - left:])

    def _begin_epoch(self, order):
        if order is not None:
            self._order = self._put(order.astype(np.int32))
        self._state = {**self._state, "loss": self._put(np.float64(0)), "correct": self._put(np.int64(0))}

    def _take_steps(self, first, count):
        whole = max(0, min(first + count, len(self.choice.images) // self.choice.batch) - first)
        if self.choice.implementation == "jit":
            for step in range(first, first + whole):
                self._state = self._whole(self._state, self._data, self._order, np.int32(step), np.int32(1))
        elif whole:
            self._state = self._whole(self._state, self._data, self._order, np.int32(first), np.int32(whole))
        if whole < count:
            self._state = self._rest(self._state, self._data, self._order)

    def _fence(self):
        jax.block_until_ready(self._state)

    def _sums(self):
        return float(self._state["loss"]), int(self._state["correct"])

    def _scores(self, pixels):
        return np.asarray(self._test(self._state["weights"], self._put(np.ascontiguousarray(pixels))))

    def _weights(self):
        return {name: np.asarray(it) for name, it in self._state["weights"].items()}
