// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "command_line/options/cli11_declarations.hpp"

#include <string>

namespace prumo::bench {

/// The words of options about the files that a measuring verb writes and continues, as they stand on the command line.
class results_arguments {
 public:
  /// What the help says of options whose meaning depends on the verb.
  struct descriptions {
    std::string resume, allow_mixed, list;
  };

  void add_to(CLI::App& app, const descriptions& texts);
  void read_into(bench_options& options) const;

  [[nodiscard]] bool resumes() const { return resume_; }
  /// \throws program_error (wrong usage) where the run is to be continued and no results file is named
  void check_resume() const;
  /// True if a file is named, and not standard output.
  [[nodiscard]] bool has_file() const;

 private:
  std::string output_, csv_;
  bool resume_ = false, force_ = false, anonymous_ = false, allow_mixed_ = false, list_ = false;
};

}  // namespace prumo::bench
