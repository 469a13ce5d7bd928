// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a net computes for an image, in higher precision, with a bound for the error of any computation of it.

#include <prumo/nets/description.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace prumo::nets {

/// What is rounded where a net is computed.
struct arithmetic {
  /// Half the distance from 1 to the next number of the type that sums are computed in.
  long double compute_roundoff = 0x1p-24L;
  /// The same for the type that results of layers are stored in; 0 if that is the type of the sums.
  long double storage_roundoff = 0;
  /// Half the distance of the smallest numbers of the storage type, or of the compute type without one.
  long double smallest_roundoff = 0x1p-150L;
};

/// The smallest_roundoff of f64. It is no literal, because Clang refuses one where long double is double, as in its
/// pass for AMD GPUs.
inline const long double smallest_double_roundoff = std::ldexp(1.0L, -1075);

/// A result, and how far a computed one may be from it.
struct bounded_value {
  long double value = 0;
  long double bound = 0;
};

/// What the net makes of one image, in long double, with a running error analysis (Higham, "Accuracy and Stability of
/// Numerical Algorithms", section 3.3): the bound of each layer follows from those of the layer before, and holds for
/// sums in any order.
/// \param weights all arrays of weights, one after the other without gaps, in the order of net_facts::all_parameters()
/// \param image [channels x height x width]
/// \throws description_error; std::invalid_argument if there are not as many numbers as the net needs
std::vector<bounded_value> exact_forward(const description& net, std::span<const double> weights,
                                         std::span<const double> image, const arithmetic& how);

/// The same for layers [first, last) alone. Bounds of a whole net grow from layer to layer, because each allows for the
/// worst errors of all layers before it. If what layer first - 1 left is known, nothing is allowed for it, and the
/// bounds are about as large as the errors.
/// \param weights of all layers of the net
/// \param input what layer first - 1 left of an image, or the image if first is 0
std::vector<bounded_value> exact_layers(const description& net, std::size_t first, std::size_t last,
                                        std::span<const double> weights, std::span<const double> input,
                                        const arithmetic& how);

}  // namespace prumo::nets
