// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Steps of optimizers on one flat array of weights, element by element.
///
/// The weights, their gradients and the optimizer's own arrays have rank 1, the same extent and the same type (f32,
/// f64, f16, bf16; the 16-bit types are computed in f32 and rounded once when they are stored). They may have any
/// strides. What a step writes may overlap no other array.
///
/// `rate` and `step` are arrays of one double in memory that the space can access. Kernels of devices read them when
/// they run, so a recorded graph uses the number that is there when it is replayed. On hosts all earlier work of the
/// instance is done when a function is called, and they are read then. Asynchronous. Throws argument_error, shape_error
/// and alias_error.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// The static assertions of the optimizers. The last array holds the weights.
#define PRUMO_ASSERT_OPTIMIZER(operation, Space, Rate, Weights, ...)                                              \
  PRUMO_ASSERT_ARRAYS(operation, Space, Rate, Weights, __VA_ARGS__);                                              \
  static_assert(::prumo::detail::have_rank<1, Rate, Weights, __VA_ARGS__>, operation ": all arrays have rank 1"); \
  static_assert(::prumo::detail::have_one_scalar_type<Weights, __VA_ARGS__>, operation                            \
                ": the arrays of weights differ in value type, or it is not float, double, prumo::f16 or "        \
                "prumo::bf16")

/// weights = weights - rate gradients: a step of gradient descent. It is one fused multiply-add.
///
/// \param rate f64 [1]; it is rounded to the compute type
void sgd(instance_ref space, const array_ref& rate, const array_ref& gradients, const array_ref& weights);
template <class Space, class Rate, class Gradients, class Weights>
void sgd(const Space& space, const Rate& rate, const Gradients& gradients, const Weights& weights) {
  PRUMO_ASSERT_OPTIMIZER("prumo::sgd", Space, Rate, Weights, Gradients);
  static_assert(detail::is_writable<Weights>(), "prumo::sgd: weights is const");
  sgd(instance_ref(space), array_ref(rate), array_ref(gradients), array_ref(weights));
}

/// velocity = decay velocity + gradients; weights = weights - rate velocity. This is the momentum of PyTorch's SGD,
/// without dampening. Of the 16-bit types, weights change by the velocity before it is rounded.
///
/// \param rate f64 [1]; it is rounded to the compute type
/// \param decay 0 or more, usually 0.9; it is rounded to the compute type
void momentum(instance_ref space, const array_ref& rate, double decay, const array_ref& gradients,
              const array_ref& velocity, const array_ref& weights);
template <class Space, class Rate, class Gradients, class Velocity, class Weights>
void momentum(const Space& space, const Rate& rate, double decay, const Gradients& gradients, const Velocity& velocity,
              const Weights& weights) {
  PRUMO_ASSERT_OPTIMIZER("prumo::momentum", Space, Rate, Weights, Gradients, Velocity);
  static_assert(detail::is_writable<Weights>() && detail::is_writable<Velocity>(),
                "prumo::momentum: velocity or weights is const");
  momentum(instance_ref(space), array_ref(rate), decay, array_ref(gradients), array_ref(velocity), array_ref(weights));
}

/// The numbers of Adam. beta1 and beta2 lie in [0, 1), and epsilon is positive.
struct adam_options {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// A step of Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015), in PyTorch's form without
/// weight decay:
///
///     mean    = beta1 mean + (1 - beta1) gradients
///     square  = beta2 square + (1 - beta2) gradients^2
///     weights = weights - rate / (1 - beta1^step) mean / (sqrt(square) / sqrt(1 - beta2^step) + epsilon)
///
/// 1 - beta^step is computed in f64 and rounded to the compute type. Of the 16-bit types, weights change by the mean
/// and the square before these are rounded.
///
/// \param rate f64 [1]
/// \param step f64 [1]: the number of this step, from 1 on
/// \param mean the running mean of the gradients, 0 before the first step
/// \param square the running mean of their squares, 0 before the first step
void adam(instance_ref space, const array_ref& rate, const array_ref& step, const array_ref& gradients,
          const array_ref& mean, const array_ref& square, const array_ref& weights, const adam_options& options = {});
template <class Space, class Rate, class Step, class Gradients, class Mean, class Square, class Weights>
void adam(const Space& space, const Rate& rate, const Step& step, const Gradients& gradients, const Mean& mean,
          const Square& square, const Weights& weights, const adam_options& options = {}) {
  PRUMO_ASSERT_OPTIMIZER("prumo::adam", Space, Rate, Weights, Gradients, Mean, Square);
  static_assert(detail::is_writable<Weights>() && detail::is_writable<Mean>() && detail::is_writable<Square>(),
                "prumo::adam: mean, square or weights is const");
  static_assert(detail::are_arrays<Step> && detail::are_accessible<Space, Step> && detail::have_rank<1, Step>,
                "prumo::adam: step is an array of rank 1 that can be accessed from the execution space");
  adam(instance_ref(space), array_ref(rate), array_ref(step), array_ref(gradients), array_ref(mean), array_ref(square),
       array_ref(weights), options);
}

}  // namespace prumo
