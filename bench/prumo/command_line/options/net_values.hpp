// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::bench {

// What values of options about nets look like, the same for nets that run and nets that are trained. All throw
// program_error (wrong usage) that names the option.

/// What the help says of `--net`.
[[nodiscard]] std::string net_description();

/// The value of `--digits`: how many are drawn. They are drawn only where `--data` names no images.
[[nodiscard]] std::int64_t read_digits(const std::string& text, const std::string& data);

/// The values of `--batch` without repeats, or those of `usual` if there are none.
[[nodiscard]] std::vector<std::int64_t> read_batches(const std::vector<std::string>& words, const std::string& usual);

/// The values of `--dtype`, or f32 if there are none.
[[nodiscard]] std::vector<std::string> read_net_types(const std::vector<std::string>& words);
/// The same for a training, which has fewer types.
[[nodiscard]] std::vector<std::string> read_training_types(const std::vector<std::string>& words);

}  // namespace prumo::bench
