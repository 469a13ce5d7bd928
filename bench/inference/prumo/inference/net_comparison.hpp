// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/net_file.hpp>
#include <prumo/nets/reference.hpp>
#include <prumo/protocol/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
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
};

/// Holds results against the exact ones. Fills everything of the answer but `method` and `dispatch`.
/// \param weights without gaps, as nets::exact_forward() takes them
[[nodiscard]] protocol::check_answer compare_with_reference(const data::net& net, std::span<const double> weights,
                                                            std::span<const computed_image> images,
                                                            const nets::arithmetic& how);

}  // namespace prumo::inference
