// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/program_error.hpp"
#include <prumo/files/output_file.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A file that an option of the command line names. The path is empty if the option was not given.
struct named_file {
  std::string_view option;
  std::string path;
};

/// Refuses outputs that are one file, or one of the inputs, or the file to which standard output or standard error
/// goes, whatever their names are. \throws program_error (wrong usage)
void check_distinct(std::span<const named_file> outputs, std::span<const std::string> inputs = {});

/// Opens the file for a results document and prints what it would lose. Older results in it are refused unless `force`
/// is set. What is no results file is always refused. \throws file_error
[[nodiscard]] output_file open_results(const std::string& path, bool force);

/// Opens the file for a table. What it holds is refused, unless `replace` is set and it begins with `head`, as tables
/// do that prumo wrote. \throws file_error
[[nodiscard]] output_file open_table(const std::string& path, bool replace, std::string_view head);

/// Prints what the file will lose when it is replaced.
void print_losses(const output_file& file);

/// Writes the files of a command at its end. If one cannot be written, the command goes on, so that its table is
/// printed and its other files are written.
class closing_writes {
 public:
  /// False if the file could not be written. Its content is saved in the folder for temporary files then.
  bool write(const output_file& file, const std::string& content);

  /// Prints what could not be written. \return the exit code of the command, which would have `code` otherwise
  [[nodiscard]] exit_code tell(exit_code code) const;

 private:
  std::vector<std::string> failures_;
};

}  // namespace prumo::bench
