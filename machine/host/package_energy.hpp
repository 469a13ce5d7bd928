// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The energy of the processor packages, from their counters (RAPL). Linux shows these only to users who may read them.

#include "system_files.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace prumo::machine::host {

/// Follows the counters of all packages and adds them up. A counter starts again after some minutes at full power (65
/// kJ on many processors). If readings are further apart than that, energy is lost from the total.
class package_energy {
 public:
  explicit package_energy(system_files files);

  /// The joules that all packages used since the first reading, which is zero. None if the machine has no such
  /// counters, or if this user may not read one of them. Threads may call it at the same time.
  std::optional<double> read();

 private:
  struct counter {
    std::string folder;
    std::optional<std::int64_t> range;  ///< microjoules after which it starts again
    std::optional<std::int64_t> last;
    std::int64_t total = 0;  ///< microjoules
  };

  bool advance(counter& each) const;

  system_files files_;
  std::vector<counter> counters_;
  std::mutex guard_;
};

}  // namespace prumo::machine::host
