// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A quantity on the command line that cannot be read. The message names the text and says what is accepted
/// (exit code 2: wrong usage).
class unit_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a size in bytes: `2MiB`, `2MB`, `512 KiB`, `4096`. Units are B, KiB, MiB, GiB, TiB, PiB, and KB, MB, ...,
/// which mean the same: all are powers of two. The case does not matter, no unit means bytes.
/// \throws unit_error where the text is no positive whole number of bytes below 2^63.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);

/// Reads sizes: a list `2MiB,64MiB`, a range `2MiB:1GiB` that doubles from its start while not above its end, or
/// a list of both. Order is kept, repetitions are dropped.
/// \throws unit_error for an empty entry, an unreadable size, or a range that ends below its start.
[[nodiscard]] std::vector<std::uint64_t> parse_byte_sizes(std::string_view text);

/// Reads a duration in seconds: `500ms`, `15s`, `2min`, `1h`, `2min30s`, `20us`; no unit means seconds.
/// \throws unit_error where the text is no finite duration above zero.
[[nodiscard]] double parse_duration(std::string_view text);

/// Reads a percentage (`0.5%`; the sign is required, so that 0.5 and 50 cannot be confused) as a fraction
/// (0.005).
/// \throws unit_error where the text is no finite percentage of zero or more.
[[nodiscard]] double parse_percentage(std::string_view text);

/// Formats bytes in powers of two so that parse_bytes() reads the same number again where the text is exact:
/// `2MiB`, `1.5GiB`, `4095B`. Sizes that need more than two decimals are rounded to them (`15.26MiB`).
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// Formats any number of bytes with three significant digits in powers of two: `15.4KiB` for 15733, `64KiB`, `1.50GiB`.
[[nodiscard]] std::string format_bytes_rounded(double bytes);

/// Formats seconds with three significant digits and the fitting unit: `3.20 ns`, `12.3 µs`, `1.05 ms`, `2.00
/// s`.
[[nodiscard]] std::string format_seconds(double seconds);

/// Formats a duration for people: `0.5 s`, `15 s`, `2 min 05 s`, `1 h 02 min`.
[[nodiscard]] std::string format_duration(double seconds);

/// `1 thread`, `4 threads`.
[[nodiscard]] std::string format_threads(std::int64_t threads);

/// Formats a rate with three significant digits and a decimal SI prefix: format_rate(3.81e10, "B/s") is `38.1
/// GB/s`. Not finite is `n/a`.
[[nodiscard]] std::string format_rate(double per_second, std::string_view unit);

/// Formats a percentage that is already in percent with three significant digits at most: `97.3 %`, `0.42 %`.
[[nodiscard]] std::string format_percent(double percent);

/// Formats a number with this many significant digits and without an exponent where 1e-4 <= |value| < 1e7:
/// format_significant(38.06, 3) is `38.1`. Not finite is `n/a`.
[[nodiscard]] std::string format_significant(double value, int digits);

}  // namespace prumo::bench
