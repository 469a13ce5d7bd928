// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which convolutions a sliding kernel computes, how its teams share the rows, and the time that it takes, about.

#include "direct_device_problem.hpp"
#include "row_copies.hpp"
#include "sliding_device_kernel.hpp"
#include "team_resources.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C, class Kernel>
class sliding_device_choice {
 public:
  /// \param element_bytes those of the arrays
  sliding_device_choice(const convolution_problem<C>& problem, std::int64_t element_bytes,
                        const team_resources& resources)
      : problem_(problem), element_bytes_(element_bytes), resources_(resources) {}

  bool suits() const {
    constexpr std::int64_t most_extent = std::int64_t{1} << 26;
    return Kernel::tile.suits(problem_) && has_enough_channels() && problem_.bias == nullptr && !problem_.is_pooled() &&
           problem_.activation == activation_function::none &&
           std::max({problem_.height, problem_.width, problem_.out_channels}) <= most_extent &&
           most_row_pack<C>(problem_.x, element_bytes_, problem_.images, problem_.in_channels, problem_.height,
                            problem_.width, 0) == sliding_tile::pack;
  }

  /// As many teams as are resident, or fewer.
  direct_device_layout layout() const {
    // With fewer rows, a team would take longer for the rows above that its first sums need.
    constexpr std::int64_t least_rows = 8;
    direct_device_layout result;
    result.threads = Kernel::most_threads;
    result.column_tiles = static_cast<int>((problem_.columns + Kernel::tile.columns - 1) / Kernel::tile.columns);
    const std::int64_t resident = Kernel::resident_teams * resources_.multiprocessors;
    result.teams =
        static_cast<int>(std::clamp<std::int64_t>(Kernel::all_rows(problem_, result) / least_rows, 1, resident));
    return result;
  }

  /// In cycles of a multiprocessor, about, as direct_device_estimate tells those of other layouts. The constants were
  /// fitted to 64 random gradients of images for filters of 7 x 7 on an H200.
  double estimate(const direct_device_layout& layout) const {
    const double rows = std::ceil(static_cast<double>(Kernel::all_rows(problem_, layout)) / layout.teams);
    const double teams_at_once = std::ceil(layout.teams / static_cast<double>(resources_.multiprocessors));
    const double warps_of_scheduler = teams_at_once * layout.threads / 32.0 / 4;
    constexpr double beside_products = 55;
    const double conversions = element_bytes_ < static_cast<std::int64_t>(sizeof(C)) ? 1.1 : 1;
    const double products = Kernel::tile.filter_rows * Kernel::tile.filter_columns * Kernel::tile.columns;
    const double cycles_of_row = conversions * (products + beside_products);
    const double busy = std::min(0.875, 0.5 + 0.125 * warps_of_scheduler);
    const auto above = static_cast<double>(Kernel::tile.filter_rows - 1);
    const double compute = (rows + above) * cycles_of_row * warps_of_scheduler / busy;
    const std::int64_t of_image = problem_.in_channels * problem_.height * problem_.width +
                                  problem_.out_channels * problem_.rows * problem_.columns;
    constexpr double bytes_of_cycle = 18, start = 3000;
    const double memory = static_cast<double>(problem_.images * of_image * element_bytes_) /
                          static_cast<double>(resources_.multiprocessors) / bytes_of_cycle;
    return std::max(compute, memory) + start;
  }

 private:
  /// With three channels, a quarter of the threads have nothing to multiply. Only the tiles that compute single
  /// channels of y take longer.
  bool has_enough_channels() const {
    return problem_.in_channels == sliding_tile::quad ||
           (problem_.in_channels == sliding_tile::quad - 1 && problem_.out_channels == 1);
  }

  const convolution_problem<C>& problem_;
  std::int64_t element_bytes_;
  team_resources resources_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
