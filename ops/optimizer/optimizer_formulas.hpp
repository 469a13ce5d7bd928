// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the optimizers compute for each element, in the compute type C. The formulas hold the numbers that are the same
/// for all elements. Those whose names end with `_in_memory` read them when the kernel of a device runs.

#include <prumo/math.hpp>
#include <prumo/optimizer.hpp>
#include <prumo/values.hpp>

#include <cmath>

namespace prumo {

template <class C>
struct sgd_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  C rate;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V gradient, V weight) const {
    return prumo::fma(V(-rate), gradient, weight);
  }
};

template <class C>
struct sgd_in_memory {
  const double* rate;

  KOKKOS_FUNCTION C operator()(C gradient, C weight) const {
    return sgd_formula<C>{static_cast<C>(*rate)}(gradient, weight);
  }
};

/// The outputs are the velocity and the weight.
template <class C>
struct momentum_formula {
  static constexpr double host_nanoseconds = 0.05;
  static constexpr bool takes_vectors = true;
  C rate;
  C decay;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION values<V, V> operator()(V gradient, V velocity, V weight) const {
    const V next = prumo::fma(V(decay), velocity, gradient);
    return {next, prumo::fma(V(-rate), next, weight)};
  }
};

template <class C>
struct momentum_in_memory {
  const double* rate;
  C decay;

  KOKKOS_FUNCTION values<C, C> operator()(C gradient, C velocity, C weight) const {
    return momentum_formula<C>{static_cast<C>(*rate), decay}(gradient, velocity, weight);
  }
};

/// The outputs are the mean, the square and the weight.
template <class C>
struct adam_formula {
  static constexpr double host_nanoseconds = 0.6;
  static constexpr bool takes_vectors = true;
  C beta1, rest1;  ///< rest: 1 - beta
  C beta2, rest2;
  C step_size;    ///< rate / (1 - beta1^step)
  C root_factor;  ///< 1 / sqrt(1 - beta2^step)
  C epsilon;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION values<V, V, V> operator()(V gradient, V mean, V square, V weight) const {
    const V next_mean = prumo::fma(V(beta1), mean, V(rest1) * gradient);
    const V next_square = prumo::fma(V(beta2), square, V(rest2) * gradient * gradient);
    const V denominator = prumo::fma(prumo::sqrt(next_square), V(root_factor), V(epsilon));
    return {next_mean, next_square, prumo::fma(V(-step_size), next_mean / denominator, weight)};
  }
};

/// The numbers of Adam that a host knows before the step.
struct adam_constants {
  double beta1, beta2, epsilon;
  double log_beta1, log_beta2;

  static adam_constants of(const adam_options& options) {
    return {options.beta1, options.beta2, options.epsilon, std::log(options.beta1), std::log(options.beta2)};
  }
};

/// The formula of a step. C is float or double. What cancels is computed in double and the rest in C, because many
/// devices have few units for double, and each of their threads computes it.
template <class C>
KOKKOS_FORCEINLINE_FUNCTION adam_formula<C> adam_formula_of(const adam_constants& known, double rate, double step) {
  const C left1 = static_cast<C>(1 - prumo::exp(step * known.log_beta1));
  const C left2 = static_cast<C>(1 - prumo::exp(step * known.log_beta2));
  return {static_cast<C>(known.beta1),     static_cast<C>(1 - known.beta1), static_cast<C>(known.beta2),
          static_cast<C>(1 - known.beta2), static_cast<C>(rate) / left1,    C(1) / prumo::sqrt(left2),
          static_cast<C>(known.epsilon)};
}

template <class C>
struct adam_in_memory {
  const double* rate;
  const double* step;
  adam_constants known;

  /// Neighbouring elements of a thread have the same factors, which compilers compute once.
  KOKKOS_FUNCTION values<C, C, C> operator()(C gradient, C mean, C square, C weight) const {
    return adam_formula_of<C>(known, *rate, *step)(gradient, mean, square, weight);
  }
};

}  // namespace prumo
