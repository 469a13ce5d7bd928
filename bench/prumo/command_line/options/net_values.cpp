// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/net_values.hpp"

#include "command_line/options/option_values.hpp"
#include <prumo/data/net_file.hpp>

#include <fmt/ranges.h>

#include <algorithm>

namespace prumo::bench {
namespace {

std::vector<std::string> types_or_usual(const std::vector<std::string>& words) {
  return words.empty() ? std::vector<std::string>{"f32"} : split_list("--dtype", words);
}

}  // namespace

std::string net_description() {
  return fmt::format("a net by name ({}; default lenet5), or its JSON file", fmt::join(nets::known_nets(), ", "));
}

std::int64_t read_digits(const std::string& text, const std::string& data) {
  constexpr std::uint64_t most = 10'000'000;
  if (!data.empty()) refuse_usage("--digits draws images, and --data names some; leave out one of them");
  return static_cast<std::int64_t>(read_whole_number("--digits", text, 1, most));
}

std::vector<std::int64_t> read_batches(const std::vector<std::string>& words, const std::string& usual) {
  constexpr std::uint64_t most_images = 1'000'000'000;
  std::vector<std::int64_t> batches;
  for (const std::string& word : split_list("--batch", words.empty() ? std::vector{usual} : words)) {
    const auto batch = static_cast<std::int64_t>(read_whole_number("--batch", word, 1, most_images));
    if (std::ranges::find(batches, batch) == batches.end()) batches.push_back(batch);
  }
  return batches;
}

std::vector<std::string> read_net_types(const std::vector<std::string>& words) {
  std::vector<std::string> types = types_or_usual(words);
  for (const std::string& type : types) check_choice("--dtype", type, {"f32", "f64", "f16", "bf16"});
  return types;
}

std::vector<std::string> read_training_types(const std::vector<std::string>& words) {
  std::vector<std::string> types = types_or_usual(words);
  for (const std::string& type : types) {
    if (type == "f16" || type == "bf16") {
      refuse_usage(
          fmt::format("--dtype: nets are not trained in {}; the types of a training are f32 and f64. --weights FILE "
                      "--weights-dtype {} rounds the weights of one to {} at its end",
                      type, type, type));
    }
    check_choice("--dtype", type, {"f32", "f64"});
  }
  return types;
}

}  // namespace prumo::bench
