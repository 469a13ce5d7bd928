// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/net_file.hpp>
#include <prumo/nets/reference.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::inference {

/// What is rounded where arrays are of this type: sums in f32, or in f64 for f64.
[[nodiscard]] nets::arithmetic arithmetic_of(std::string_view dtype);

/// The class with the largest result; of equal ones, the first. NaN is smaller than any number.
[[nodiscard]] std::size_t prediction(std::span<const double> results);

/// An image and what the net made of it.
struct computed_image {
  std::int64_t number = 0;  ///< in its file
  std::vector<double> pixels;
  std::vector<double> results;
  /// What each step of the net left; empty: not known.
  std::vector<std::vector<double>> steps = {};
};

/// A step of a net, as a worker computes it.
struct net_step {
  std::string name;
  std::size_t first, last;  ///< its layers [first, last)
};

/// Holds results against the exact ones. Fills everything of the answer but `method` and `dispatch`.
///
/// If it is known what each step left, and the last one left the very results, then each number that a step left is
/// held against what the step makes of its own input in higher precision. Otherwise the results are held against those
/// of the whole net, whose bounds are far wider.
/// \param weights without gaps, as nets::exact_forward() takes them
[[nodiscard]] protocol::check_answer compare_with_reference(const data::net& net, std::span<const double> weights,
                                                            std::span<const computed_image> images,
                                                            const nets::arithmetic& how,
                                                            std::span<const net_step> steps = {});

}  // namespace prumo::inference
