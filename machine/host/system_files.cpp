// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "system_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace prumo::machine::host {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = trimmed(text);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::string_view digits = trimmed(text);
  if (digits.empty()) return std::nullopt;
  std::int64_t unit = 1;
  switch (digits.back()) {
    case 'K': unit = std::int64_t{1} << 10; break;
    case 'M': unit = std::int64_t{1} << 20; break;
    case 'G': unit = std::int64_t{1} << 30; break;
    default: break;
  }
  if (unit != 1) digits.remove_suffix(1);
  const auto count = parse_integer(digits);
  return count && *count > 0 ? std::optional(*count * unit) : std::nullopt;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t most = 1 << 20;  // a broken file must not fill the memory
  std::vector<int> cpus;
  std::string_view rest = trimmed(text);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view range = rest.substr(0, comma);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_integer(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_integer(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= most) return {};
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t begin = 0; begin < cpus.size();) {
    std::size_t end = begin + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[begin]);
    if (end - begin > 1) text += '-' + std::to_string(cpus[end - 1]);
    begin = end;
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> field_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : lines_of(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != key) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!value.empty()) return std::string(value);
  }
  return std::nullopt;
}

std::optional<std::string> system_files::text(const std::string& path) const {
  std::ifstream file(root_ / std::filesystem::path(path).relative_path(), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return contents.str();
}

std::optional<std::string> system_files::word(const std::string& path) const {
  const auto contents = text(path);
  if (!contents) return std::nullopt;
  const std::string_view rest = trimmed(*contents);
  return rest.empty() ? std::nullopt : std::optional(std::string(rest));
}

std::optional<std::int64_t> system_files::integer(const std::string& path) const {
  const auto contents = text(path);
  return contents ? parse_integer(*contents) : std::nullopt;
}

std::vector<std::string> system_files::names_in(const std::string& path, std::string_view beginning) const {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(root_ / std::filesystem::path(path).relative_path(), failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(beginning)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool system_files::exists(const std::string& path) const {
  std::error_code failure;
  return std::filesystem::exists(root_ / std::filesystem::path(path).relative_path(), failure);
}

}  // namespace prumo::machine::host
