// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/thread_number.hpp>
#include <prumo/protocol/without_blanks.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace prumo::protocol {
namespace {

bool is_number_of_threads(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most_threads;
}

bool is_list_of_numbers(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (!is_number_of_threads(without_blanks(text.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string why_no_threads(std::string_view variable, std::string_view value) {
  const bool is_of_openmp = variable == "OMP_NUM_THREADS";
  if (is_of_openmp && without_blanks(value).empty()) return {};
  if (is_of_openmp ? is_list_of_numbers(value) : is_number_of_threads(value)) return {};
  constexpr std::size_t longest = 40;
  const std::string name(variable);
  return "the environment has " + name + "=" + std::string(value.substr(0, longest)) +
         (value.size() > longest ? "..." : "") + ", which is no number of threads from 1 to " +
         std::to_string(most_threads) + "; set one, for example " + name + "=4, or unset it to use all processors";
}

std::string why_no_threads() {
  for (const char* variable : thread_variables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    if (std::string why = why_no_threads(variable, value); !why.empty()) return why;
  }
  return {};
}

}  // namespace prumo::protocol
