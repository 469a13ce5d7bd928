// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hard_arguments.hpp"

#include <prumo/philox.hpp>

#include <bit>
#include <cmath>
#include <limits>

namespace prumo::accuracy {
namespace {

struct interval {
  double low, high;
};

/// Where the function is neither constant nor infinite.
interval interesting(function which) {
  switch (which) {
    case function::exp: return {-746, 710};
    case function::log:
    case function::sqrt:
    case function::rsqrt: return {0, 4};
    case function::sigmoid: return {-746, 40};
    case function::tanh: return {-22, 22};
    case function::relu: return {-2, 2};
    case function::gelu: return {-39, 10};
    case function::gelu_tanh: return {-23, 10};
  }
  return {-1, 1};
}

constexpr double least = std::numeric_limits<double>::min();
constexpr double ln_2 = 0.693147180559945309417;

/// Numbers around which something changes.
std::vector<double> turning_points(function which) {
  switch (which) {
    case function::exp: {
      std::vector<double> points{0, 709.782712893384, -708.3964185322641, -745.1332191019411};
      for (int n = -20; n <= 20; ++n) points.push_back((n + 0.5) * ln_2);  // where the reduced argument changes sign
      return points;
    }
    case function::log: return {1, std::sqrt(0.5), std::sqrt(2.0), 2, 0.5, least, std::numeric_limits<double>::max()};
    case function::sqrt:
    case function::rsqrt: return {1, 2, 4, least, std::numeric_limits<double>::max()};
    case function::sigmoid: return {0, 36.7, -36.7, -708.3964185322641, -745.1332191019411};
    case function::tanh: return {0, 0.549306144334054846, -0.549306144334054846, 19.06, -19.06};  // 1/2 and 1
    case function::relu: return {0, least};
    case function::gelu: return {0, 1e-9, 0.5, -0.5, 3, -3, 8.3, -8.3, -37.5, -38.4};
    case function::gelu_tanh: return {0, 1e-9, 0.5, -0.5, 3, -3, 7, -7, -21.1};
  }
  return {0};
}

}  // namespace

std::vector<double> hard_arguments(function which, int kind, std::uint64_t seed, std::uint64_t begin,
                                   std::uint64_t count) {
  const interval range = interesting(which);
  const std::vector<double> points = turning_points(which);
  std::vector<double> arguments;
  arguments.reserve(count);
  for (std::uint64_t index = begin; index < begin + count; ++index) {
    const auto stream = static_cast<std::uint64_t>(kind);
    const random::philox_block block = random::philox4x32_10(seed, stream, index);
    const std::uint64_t word = (std::uint64_t{block.words[1]} << 32) | block.words[0];
    if (kind == 0) {
      arguments.push_back(std::bit_cast<double>(word));
    } else if (kind == 1) {
      arguments.push_back(range.low + (range.high - range.low) * std::ldexp(static_cast<double>(word >> 11), -53));
    } else {
      // Up to 2^40 numbers away, most of them much closer.
      const double point = points[block.words[2] % points.size()];
      const std::uint64_t distance = (word & ((std::uint64_t{1} << 40) - 1)) >> (block.words[3] % 41);
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(point);
      const bool away = (block.words[3] >> 31) != 0 || (bits << 1) < (distance << 1);
      arguments.push_back(std::bit_cast<double>(away ? bits + distance : bits - distance));
    }
  }
  return arguments;
}

}  // namespace prumo::accuracy
