// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/cli11_declarations.hpp"
#include "workers/fleet_options.hpp"

#include <string>
#include <vector>

namespace prumo::bench {

/// Words of the options of every verb that starts workers, as they stand on the command line.
class worker_arguments {
 public:
  void add_to(CLI::App& app);
  /// \throws program_error (wrong usage)
  [[nodiscard]] fleet_options read() const;

 private:
  std::vector<std::string> workers_, devices_, peers_;
  std::string launcher_, time_limit_;
  bool no_search_ = false, verbose_ = false;
};

}  // namespace prumo::bench
