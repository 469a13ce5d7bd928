// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>

namespace prumo::bench {

/// How a case scales over threads.
struct thread_scaling {
  double speed_up = 1;    ///< time with the fewest threads over the time with these
  double efficiency = 1;  ///< speed_up over the ratio of the numbers of threads: 1 if all of them are put to use
};

/// The scaling of the results of a document over the numbers of threads that `prumo bench --threads` chose: strong
/// scaling, since a case is the same work with any number.
class thread_scalings {
 public:
  /// `results` of a document. They must outlive this object.
  explicit thread_scalings(const nlohmann::json& results);

  /// Whether the run chose numbers of threads.
  [[nodiscard]] bool any() const { return !fewest_.empty(); }

  /// Absent if no number was chosen, or if the result or the one with the fewest threads has no time.
  [[nodiscard]] std::optional<thread_scaling> of(const nlohmann::json& result) const;

 private:
  std::map<std::string, const nlohmann::json*> fewest_;  ///< by case, device and implementation
};

}  // namespace prumo::bench
