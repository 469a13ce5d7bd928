// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/units.hpp"

#include "terminal/text.hpp"
#include <prumo/protocol/without_blanks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace prumo::bench {
namespace {

using protocol::without_blanks;

constexpr std::string_view accepted_sizes =
    "give a whole number of bytes above zero, for example 4096, 512KiB, 2MiB, 1.5GiB or 1TiB (KB, MB, GB and TB mean "
    "the same: 2MB is 2 MiB)";
constexpr std::string_view accepted_durations = "give a time above zero, for example 500ms, 15s, 2min, 2min30s or 1h";
constexpr std::string_view accepted_percentages = "give a percentage of zero or more, for example 2% or 0.5%";

/// A text from the command line as messages show it: short, and harmless for the terminal.
std::string quoted(std::string_view text) { return fmt::format("'{}'", fit(sanitize(text), 60)); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// A decimal number: mantissa / 10^fraction_digits. std::from_chars for floating point is missing on some
/// systems, and strtod depends on the locale.
struct decimal {
  std::uint64_t mantissa = 0;
  int fraction_digits = 0;

  [[nodiscard]] double value() const { return static_cast<double>(mantissa) / std::pow(10.0, fraction_digits); }
};

/// Takes a number off the front of `text`; nothing where there is none or it has too many digits.
std::optional<decimal> take_decimal(std::string_view& text) {
  decimal number;
  std::size_t position = 0;
  int digits = 0;
  bool point = false;
  for (; position < text.size(); ++position) {
    const char c = text[position];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(c)) break;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number.mantissa > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    number.mantissa = number.mantissa * 10 + digit;
    number.fraction_digits += point ? 1 : 0;
    ++digits;
  }
  if (digits == 0 || text[position - 1] == '.') return std::nullopt;
  text.remove_prefix(position);
  while (number.fraction_digits > 0 && number.mantissa % 10 == 0) {
    number.mantissa /= 10;
    --number.fraction_digits;
  }
  return number;
}

/// The power of two that a unit stands for.
std::optional<int> size_exponent(std::string_view unit) {
  const std::string name = lower(unit);
  if (name.empty() || name == "b") return 0;
  constexpr std::string_view prefixes = "kmgtp";
  const auto place = prefixes.find(name.front());
  const std::string_view rest = std::string_view(name).substr(1);
  if (place == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return std::nullopt;
  return 10 * (static_cast<int>(place) + 1);
}

/// number * 2^exponent where that is whole and below 2^63.
std::optional<std::uint64_t> scaled(const decimal& number, int exponent) {
  // number * 2^e = mantissa / 5^k * 2^(e-k): exact if and only if both divisions are.
  std::uint64_t value = number.mantissa;
  for (int i = 0; i < number.fraction_digits; ++i) {
    if (value % 5 != 0) return std::nullopt;
    value /= 5;
  }
  for (int shift = exponent - number.fraction_digits; shift < 0; ++shift) {
    if (value % 2 != 0) return std::nullopt;
    value /= 2;
  }
  for (int shift = exponent - number.fraction_digits; shift > 0; --shift) {
    if (value >= (std::uint64_t{1} << 62)) return std::nullopt;
    value *= 2;
  }
  if (value >= (std::uint64_t{1} << 63)) return std::nullopt;
  return value;
}

std::optional<double> seconds_per(std::string_view unit) {
  struct entry {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<entry, 14> units = {{{"", 1},
                                                   {"s", 1},
                                                   {"sec", 1},
                                                   {"ns", 1e-9},
                                                   {"us", 1e-6},
                                                   {"µs", 1e-6},
                                                   {"μs", 1e-6},  // the Greek letter beside the micro sign
                                                   {"ms", 1e-3},
                                                   {"m", 60},
                                                   {"min", 60},
                                                   {"h", 3600},
                                                   {"hour", 3600},
                                                   {"hours", 3600},
                                                   {"d", 86400}}};
  for (const auto& [name, seconds] : units) {
    if (name == unit) return seconds;
  }
  return std::nullopt;
}

/// Decimal exponent of the value after rounding to `digits` significant digits: 9.996 with three has 1.
int rounded_exponent(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
}

struct prefixed {
  double value;
  int group;  ///< power of a thousand
};

/// Divides by the power of a thousand that leaves one to three digits before the point.
prefixed in_thousands(double value, int lowest, int highest) {
  if (value == 0 || !std::isfinite(value)) return {value, std::clamp(0, lowest, highest)};
  const int exponent = rounded_exponent(value, 3);
  const int group = std::clamp(static_cast<int>(std::floor(exponent / 3.0)), lowest, highest);
  return {value / std::pow(1000.0, group), group};
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  std::string_view rest = without_blanks(text);
  const auto refuse = [&](std::string_view why) {
    return unit_error(fmt::format("size {} {}; {}", quoted(text), why, accepted_sizes));
  };
  if (rest.empty()) throw refuse("is empty");
  if (rest.front() == '-') throw refuse("is negative");
  const bool starts_as_number = is_digit(rest.front()) || rest.front() == '.';
  const auto number = take_decimal(rest);
  if (!number) throw refuse(starts_as_number ? "is not a number that fits" : "does not begin with a number");
  const auto exponent = size_exponent(without_blanks(rest));
  if (!exponent) throw refuse(fmt::format("has the unknown unit {}", quoted(without_blanks(rest))));
  const auto bytes = scaled(*number, *exponent);
  if (!bytes) {
    const bool large = number->value() * std::pow(2.0, *exponent) >= 9.2e18;
    throw refuse(large ? "is 2^63 bytes or more" : "is not a whole number of bytes");
  }
  if (*bytes == 0) throw refuse("is zero");
  return *bytes;
}

std::vector<std::uint64_t> parse_byte_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  const auto add = [&](std::uint64_t size) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) {
      add(parse_bytes(entry));
    } else if (without_blanks(entry.substr(0, colon)).empty() || without_blanks(entry.substr(colon + 1)).empty()) {
      throw unit_error(
          fmt::format("size range {} lacks an end; give it as SMALLEST:LARGEST, for example 2MiB:1GiB", quoted(entry)));
    } else {
      const std::uint64_t first = parse_bytes(entry.substr(0, colon));
      const std::uint64_t last = parse_bytes(entry.substr(colon + 1));
      if (last < first) {
        throw unit_error(fmt::format(
            "size range {} ends below its start; give it as SMALLEST:LARGEST, for example 2MiB:1GiB", quoted(entry)));
      }
      for (std::uint64_t size = first; size <= last; size *= 2) add(size);  // below 2^63: doubling cannot wrap
    }
    if (comma == std::string_view::npos) return sizes;
    rest = rest.substr(comma + 1);
  }
}

double parse_duration(std::string_view text) {
  std::string_view rest = without_blanks(text);
  const auto refuse = [&](std::string_view why) {
    return unit_error(fmt::format("duration {} {}; {}", quoted(text), why, accepted_durations));
  };
  if (rest.empty()) throw refuse("is empty");
  if (rest.front() == '-') throw refuse("is negative");
  double seconds = 0;
  while (!rest.empty()) {
    const bool starts_as_number = is_digit(rest.front()) || rest.front() == '.';
    const auto number = take_decimal(rest);
    if (!number) throw refuse(starts_as_number ? "has a number that does not fit" : "cannot be read");
    rest = without_blanks(rest);
    const auto end = std::find_if(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == '.' || c == ' '; });
    const std::string_view unit = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    const auto scale = seconds_per(lower(unit));
    if (!scale) throw refuse(fmt::format("has the unknown unit {}", quoted(unit)));
    seconds += number->value() * *scale;
    rest = without_blanks(rest.substr(unit.size()));
  }
  if (!(seconds > 0)) throw refuse("is zero");
  if (seconds > 366.0 * 86400.0) throw refuse("is longer than a year");
  return seconds;
}

double parse_percentage(std::string_view text) {
  std::string_view rest = without_blanks(text);
  const auto refuse = [&](std::string_view why) {
    return unit_error(fmt::format("percentage {} {}; {}", quoted(text), why, accepted_percentages));
  };
  if (rest.empty()) throw refuse("is empty");
  if (rest.front() == '-') throw refuse("is negative");
  const auto number = take_decimal(rest);
  if (!number) throw refuse("does not begin with a number");
  rest = without_blanks(rest);
  if (rest.empty()) throw refuse("lacks its % sign");
  if (rest != "%") throw refuse("cannot be read");
  return number->value() / 100;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && (bytes >> (10 * (unit + 1))) != 0) ++unit;
  const double value = static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << (10 * unit));
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  // Rounding must not claim a number of bytes that looks exact: 4095 stays 4095B.
  if (unit == 1 && static_cast<double>(bytes % 1024) != 0 && std::stod(text) * 1024 != static_cast<double>(bytes)) {
    return fmt::format("{}B", bytes);
  }
  return fmt::format("{}{}", text, units[unit]);
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return "n/a";
  if (value == 0) return "0";
  const int exponent = rounded_exponent(value, digits);
  if (exponent < -4 || exponent >= 7) return fmt::format("{:.{}e}", value, digits - 1);
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string format_bytes_rounded(double bytes) {
  constexpr double step = 1024;
  constexpr std::string_view prefixes = "KMGT";
  if (bytes < step) return fmt::format("{:.0f}B", bytes);
  std::size_t prefix = 0;
  double value = bytes / step;
  while (value >= step && prefix + 1 < prefixes.size()) {
    value /= step;
    ++prefix;
  }
  const bool whole = value == std::floor(value);
  return fmt::format("{}{}iB", whole ? fmt::format("{:.0f}", value) : format_significant(value, 3), prefixes[prefix]);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "n/a";
  constexpr std::array<std::string_view, 4> units = {"ns", "µs", "ms", "s"};
  const auto [value, group] = in_thousands(seconds, -3, 0);
  return fmt::format("{} {}", format_significant(value, 3), units.at(static_cast<std::size_t>(group) + 3));
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "n/a";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 1e15) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_threads(std::int64_t threads) {
  return fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

std::string format_rate(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second)) return "n/a";
  constexpr std::array<std::string_view, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};
  const auto [value, group] = in_thousands(per_second, 0, 6);
  return fmt::format("{} {}{}", format_significant(value, 3), prefixes[static_cast<std::size_t>(group)], unit);
}

std::string format_percent(double percent) {
  if (!std::isfinite(percent)) return "n/a";
  return fmt::format("{} %", std::abs(percent) < 1 ? format_significant(percent, 2) : format_significant(percent, 3));
}

}  // namespace prumo::bench
