// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/checkpoint.hpp>
#include <prumo/data/safetensors.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace prumo::data {
namespace {

/// A binary format of IEEE 754, or one that is made like those.
struct binary_format {
  std::string_view type;
  int exponent_bits, fraction_bits;

  [[nodiscard]] int bits() const { return 1 + exponent_bits + fraction_bits; }
  [[nodiscard]] std::uint64_t infinity() const {
    return ((std::uint64_t{1} << static_cast<unsigned>(exponent_bits)) - 1) << static_cast<unsigned>(fraction_bits);
  }

  /// The nearest number; of two, the one whose last bit is zero. The sign is left out.
  [[nodiscard]] std::uint64_t magnitude_of(double value) const {
    const int least_exponent = 2 - (1 << (exponent_bits - 1));  // of numbers that have all their digits
    if (value == 0) return 0;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, least_exponent);
    const double digits = std::nearbyint(std::ldexp(std::fabs(value), fraction_bits - exponent));
    // The leading digit adds one to the exponent's field, and so does a carry.
    return (static_cast<std::uint64_t>(exponent - least_exponent) << static_cast<unsigned>(fraction_bits)) +
           static_cast<std::uint64_t>(digits);
  }
};

constexpr binary_format formats[] = {{"F64", 11, 52}, {"F32", 8, 23}, {"F16", 5, 10}, {"BF16", 8, 7}};

std::vector<double> numbers_of(const tensor& from) {
  if (from.type == "F64" || from.type == "F32") return doubles_of(from);
  const std::vector<float> numbers = floats_of(from);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

tensor in_type(const tensor& from, std::string_view type) {
  const auto* const to = std::ranges::find(formats, type, &binary_format::type);
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("array '" + from.name + "' " + what);
  };
  if (to == std::end(formats)) refuse("cannot be of type " + std::string(type) + "; numbers are F64, F32, F16 or BF16");
  if (from.type == type) return from;
  tensor made{from.name, std::string(type), from.shape, {}};
  made.bytes.reserve(static_cast<std::size_t>(from.size()) * static_cast<std::size_t>(to->bits() / 8));
  for (const double value : numbers_of(from)) {
    if (!std::isfinite(value)) refuse("holds a number that is not finite");
    std::uint64_t bits = to->magnitude_of(value);
    if (bits >= to->infinity()) refuse("holds " + std::to_string(value) + ", which is too large for " + made.type);
    if (std::signbit(value)) bits |= std::uint64_t{1} << static_cast<unsigned>(to->bits() - 1);
    for (int shift = 0; shift < to->bits(); shift += 8) {
      made.bytes.push_back(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(shift)));
    }
  }
  return made;
}

}  // namespace prumo::data
