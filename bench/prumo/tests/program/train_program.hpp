// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `prumo train` on a few digits with the scripted worker.

#include "run_program.hpp"

#include <string>
#include <vector>

namespace prumo::bench::test {

/// The words of such a command.
inline std::vector<std::string> train_words(const std::vector<std::string>& words, const std::string& options = {}) {
  return joined(joined({"train", "--digits", "600"}, words), fake_worker_words("--nets --most-steps 3 " + options));
}

/// Runs it, three steps a turn.
inline program_result train(const std::vector<std::string>& words, const std::string& options = {}) {
  return run_prumo(train_words(words, options));
}

}  // namespace prumo::bench::test
