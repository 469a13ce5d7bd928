// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "crossover/crossover_search.hpp"
#include "measure/point_measurement.hpp"
#include "plan/plan_options.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace prumo::bench {

/// Work that grows along one axis.
struct crossover_workload {
  std::string name;   ///< `matmul_sum`, or an operation
  std::string title;  ///< what it does, for people
  double smallest = 0;
  double largest = 0;
  double factor = 4;  ///< between neighbours of the coarse sizes
  std::function<double(double)> round;
  std::function<std::string(double)> text;  ///< how a size reads
  std::string axis;                         ///< what a size is
  std::string dispatch = "single";          ///< how calls are launched (docs/protocol.md)
  /// What is measured at a size: one operation, or several whose results `compose` joins.
  std::function<std::vector<plan_options>(double)> parts;
  /// Makes the entries of the whole from those of its parts; empty if there is one part.
  std::function<std::vector<nlohmann::json>(double, const std::vector<std::vector<nlohmann::json>>&)> compose;
};

/// The sizes of a workload that the user names. Zero means the workload's own size.
struct size_range {
  double smallest = 0;
  double largest = 0;
};

/// A product and its sum, `(x @ y.T).sum()`, of two m x k matrices, where k is 3/7 m: from 70 x 30 to 7000 x 3000, the
/// sizes of a published lesson. It is composed of a gemm with B transposed and a sum, which every worker and peer has;
/// their times are added. `common` holds the type, the cache state and so on. A size is m.
[[nodiscard]] crossover_workload product_and_sum_workload(const plan_options& common, const size_range& rows);

/// One operation; a size is the bytes of one array.
[[nodiscard]] crossover_workload operation_workload(const std::string& op, const plan_options& common,
                                                    const size_range& bytes);

/// The times of one device, with its data in one place.
struct crossover_series {
  std::string device;
  std::string data;                  ///< `resident`, `pinned`, `pageable`
  bool own_memory = false;           ///< a challenger: a device to which data have to be copied
  std::map<double, double> seconds;  ///< waiting_seconds() of a call by size

  /// `cuda:0 pinned`; the id alone for a device without transfers.
  [[nodiscard]] std::string label() const;
};

/// What a search found.
struct crossover_curves {
  std::vector<crossover_series> series;
  std::vector<std::string> notes;  ///< sizes that were left out, and why

  /// How a challenger compares with another series, at all sizes that both have.
  [[nodiscard]] static std::vector<ratio_point> ratios(const crossover_series& challenger,
                                                       const crossover_series& other);
  /// Break-even of each challenger against each host, as the results file keeps them (docs/results.md).
  [[nodiscard]] nlohmann::json crossings(const crossover_workload& workload) const;
};

/// The time and precision of a search.
struct crossover_setting {
  steady_time deadline;
  double seconds = 60;            ///< of the whole search
  double case_limit = 10;         ///< seconds, at most, for one case
  double tolerance = 1.1;         ///< brackets are halved until high / low is below this
  std::vector<std::string> data;  ///< of devices with a memory of their own; empty: all
};

/// Measures coarse sizes on all devices, then halves the brackets in which the faster device changes. The smallest and
/// the largest size are always measured, the others while there is time. A size that fails or does not fit is left out,
/// and the notes name it.
/// \throws program_error if nothing can be measured at all; interrupted, file_error
[[nodiscard]] crossover_curves measure_crossover(const crossover_workload& workload, const worker_fleet& fleet,
                                                 point_measurer& measurer, results_writer& writer,
                                                 const crossover_setting& setting);

}  // namespace prumo::bench
