// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Energy of the processor packages from their counters (RAPL), which Linux shows to those who may read them.

#include "system_files.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace prumo::machine::host {

/// Follows the counters of all packages and adds them up. A counter wraps after some minutes at full power (65 kJ on
/// many processors): whoever waits longer between two readings loses whole turns of it.
class package_energy {
 public:
  explicit package_energy(system_files files);

  /// Joules that all packages took since the first reading, which is zero; none where the machine has no such counters
  /// or keeps one of them from this user. Threads may call it at the same time.
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
