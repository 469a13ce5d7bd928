// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The memory of a training on a device, as its kernels see it, and the rule by which gradients change weights.

#include "net_share.hpp"
#include "step_places.hpp"
#include "step_table.hpp"
#include "step_way.hpp"
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::nets {

/// Pointers into the memory of the device.
template <class C>
struct step_data {
  const step_table* table;
  const parameter_copy* copies;               ///< step_places::copies
  const filter_parameter* filter_parameters;  ///< step_places::filter_parameters
  const update_tile* update_tiles;            ///< step_places::update_tiles
  const std::uint8_t* pixels;
  const std::uint8_t* labels;
  const std::int32_t* order;  ///< which images the steps of this launch take, one step behind the other
  C* weights;
  C* first_moments;
  C* second_moments;
  training_counters* counters;
  C* partials;          ///< [groups][table.gradients]
  C* factors;           ///< [images of a step][table.factors]
  C* kept;              ///< [groups][images of a stage][table.kept]
  double* sums;         ///< [groups][2], losses and correct answers
  std::int64_t images;  ///< of the set
  std::int64_t steps_per_epoch;
  std::int64_t first_step;  ///< of this launch, in the epoch
  std::int64_t steps;
  double momentum;
  const net_share* share = nullptr;  ///< of a team of a cluster

  KOKKOS_FUNCTION std::int64_t images_of_step(std::int64_t step, std::int64_t batch) const {
    const std::int64_t left = images - step * batch;
    return left < batch ? left : batch;
  }
};

/// How a gradient changes a weight in one step (ops/optimizer has the formulas).
template <class C>
struct step_rule {
  optimizer which;
  C rate, momentum;
  C step_size = 0, inverse_root = 0;  ///< of adam, with the corrections of this step's number

  /// Of another optimizer than adam.
  KOKKOS_FUNCTION step_rule(optimizer kind, double learning_rate, double velocity_factor)
      : which(kind), rate(static_cast<C>(learning_rate)), momentum(static_cast<C>(velocity_factor)) {}
  KOKKOS_FUNCTION step_rule(optimizer kind, double learning_rate, double velocity_factor, double step)
      : step_rule(kind, learning_rate, velocity_factor) {
    if (which == optimizer::adam) {
      step_size = static_cast<C>(learning_rate / (1 - Kokkos::pow(beta1, step)));
      inverse_root = static_cast<C>(1 / Kokkos::sqrt(1 - Kokkos::pow(beta2, step)));
    }
  }

  /// The new weight. `place` is the parameter's place in the arrays of moments.
  PRUMO_STEP_FUNCTION C operator()(C weight, C gradient, C* first, C* second, std::int64_t place) const {
    return with_moments(weight, gradient, which == optimizer::sgd ? C(0) : first[place],
                        which == optimizer::adam ? second[place] : C(0), first, second, place);
  }

  /// The same where the moments of `place` have been loaded, as many as the optimizer has.
  PRUMO_STEP_FUNCTION C with_moments(C weight, C gradient, C first_moment, C second_moment, C* first, C* second,
                                     std::int64_t place) const {
    if (which == optimizer::sgd) return prumo::fma(-rate, gradient, weight);
    if (which == optimizer::momentum) {
      const C velocity = prumo::fma(momentum, first_moment, gradient);
      first[place] = velocity;
      return prumo::fma(-rate, velocity, weight);
    }
    const C mean = prumo::fma(static_cast<C>(beta1), first_moment, static_cast<C>(1 - beta1) * gradient);
    const C square = prumo::fma(static_cast<C>(beta2), second_moment, static_cast<C>(1 - beta2) * gradient * gradient);
    first[place] = mean;
    second[place] = square;
    return prumo::fma(-step_size, mean / prumo::fma(prumo::sqrt(square), inverse_root, static_cast<C>(epsilon)),
                      weight);
  }

  static constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

}  // namespace prumo::nets
