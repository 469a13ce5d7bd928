// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/cli11_declarations.hpp"
#include "terminal/program_error.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// One use of a verb: the options that it takes, and then what it does with them.
class verb_call {
 public:
  virtual ~verb_call() = default;

  /// Adds the verb's options; they are read into this object.
  virtual void add_options(CLI::App& app) = 0;

  /// Reads what the options hold and does the work. `command` are the words of the command line, for the record.
  /// \throws program_error, file_error, worker_failure
  [[nodiscard]] virtual exit_code run(std::vector<std::string> command) = 0;
};

/// A verb and what its help says.
struct verb {
  std::string_view name;
  std::string_view summary;              ///< a line in `prumo --help`
  std::string_view description;          ///< the first lines of its own help
  std::string_view examples;             ///< the last ones, with the exit codes
  std::unique_ptr<verb_call> (*call)();  ///< null for a verb that has actions

  /// What `prumo VERB ACTION` can do: verbs of their own, whose names begin with this one's.
  std::span<const verb* const> actions{};
};

/// `prumo bench`: measures a plan, writes the results file, prints the table.
extern const verb bench_verb;
/// `prumo infer`: convolutional nets, layer by layer and as a whole.
extern const verb infer_verb;
/// `prumo train`: the training of convolutional nets.
extern const verb train_verb;
/// `prumo compare`: results across machines, devices or versions.
extern const verb compare_verb;
/// `prumo devices`: what is here and what it could do.
extern const verb devices_verb;
/// `prumo crossover`: the size from which a GPU is faster than the CPU.
extern const verb crossover_verb;
/// `prumo roofline`: measured ceilings and theoretical peaks, with the operations of results files below them.
extern const verb roofline_verb;

/// `prumo data`: makes, shows and resizes images and labels.
extern const verb data_verb;
extern const verb data_generate_verb;
extern const verb data_info_verb;
extern const verb data_resize_verb;

/// All verbs, in the order of `prumo --help`.
[[nodiscard]] std::span<const verb* const> verbs();

}  // namespace prumo::bench
