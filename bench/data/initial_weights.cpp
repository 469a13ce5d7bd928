// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/initial_weights.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <variant>

namespace prumo::data {
namespace {

using philox_block = std::array<std::uint32_t, 4>;

/// Philox4x32 with ten rounds, as docs/random.md tells.
philox_block philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const auto low = [](std::uint64_t number) { return static_cast<std::uint32_t>(number & 0xFFFFFFFFU); };
  const auto high = [](std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32U); };
  philox_block c{low(counter), high(counter), low(stream), high(stream)};
  std::uint32_t key0 = low(seed), key1 = high(seed);
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {high(second) ^ c[1] ^ key0, low(second), high(first) ^ c[3] ^ key1, low(first)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

/// An odd multiple of 2^-53 in (-1, 1).
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  constexpr int digits = 53;
  const philox_block words = philox(seed, stream, index / 2);
  const std::size_t at = index % 2 == 0 ? 0 : 2;
  const std::uint64_t upper = (std::uint64_t{words[at + 1]} << 32U | words[at]) >> (64U - digits);
  const auto odd = static_cast<std::int64_t>(2 * upper + 1) - (std::int64_t{1} << digits);
  return std::ldexp(static_cast<double>(odd), -digits);
}

}  // namespace

std::vector<std::vector<double>> initial_weights(const nets::description& net, std::uint64_t seed, weight_range range) {
  std::vector<std::vector<double>> weights;
  const nets::net_facts facts = nets::facts_of(net);
  for (std::size_t which = 0; which < facts.layers.size(); ++which) {
    const std::vector<nets::parameter>& parameters = facts.layers[which].parameters;
    if (parameters.empty()) continue;
    const nets::parameter& factors = parameters.front();
    // Arrays begin with their outputs, but for the one filter that all channels share.
    const bool is_shared = std::holds_alternative<nets::shared_convolution>(net.layers[which]);
    const double outputs = is_shared ? 1 : static_cast<double>(factors.extents.front());
    const double terms = static_cast<double>(factors.size()) / outputs;
    const double end = range == weight_range::half ? 0.5 : 1 / std::sqrt(terms);
    for (const nets::parameter& it : parameters) {
      const std::uint64_t stream = weights.size();
      std::vector<double>& values = weights.emplace_back(static_cast<std::size_t>(it.size()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = end * uniform(seed, stream, i);
    }
  }
  return weights;
}

}  // namespace prumo::data
