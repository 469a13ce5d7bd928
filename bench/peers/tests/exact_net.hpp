// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a peer's framework makes of a net, against the exact results.
#include "net_program.hpp"
#include "philox.hpp"
#include <prumo/inference/net_comparison.hpp>
#include <prumo/nets/reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace prumo::peers {

using net_maker = std::function<std::unique_ptr<net_program>(const net_choice&)>;

/// Runs a net with random weights on random images, fewer than its batch first, and then a whole batch.
template <class T>
void expect_exact_net(const nets::description& what, dtype type, const char* type_name, const net_maker& make) {
  data::net net{what, nets::facts_of(what), "net"};
  data::net_weights weights;
  std::vector<double> packed;
  std::uint64_t stream = 1;
  for (const nets::parameter& it : net.facts.all_parameters()) {
    const double scale = 1.5 / std::sqrt(static_cast<double>(it.size()) / static_cast<double>(it.extents.front()));
    auto& numbers = weights.emplace_back();
    for (std::int64_t i = 0; i < it.size(); ++i) {
      numbers.push_back(static_cast<float>(scale * uniform<double>(7, stream, static_cast<std::uint64_t>(i))));
      packed.push_back(static_cast<double>(numbers.back()));
    }
    ++stream;
  }
  constexpr std::int64_t batch = 4;
  const auto size = static_cast<std::size_t>(what.input.size()), classes = static_cast<std::size_t>(net.facts.classes);
  const auto program = make({net, weights, type, batch});
  for (const std::int64_t images : {batch - 1, batch}) {
    const auto count = static_cast<std::size_t>(images);
    std::vector<T> x(count * size), y(count * classes, T(-7));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(uniform<float>(7, 0, i));
    for (std::size_t step = 0; step < what.layers.size(); ++step) program->run_step(step, x.data(), y.data(), images);
    for (std::size_t n = 0; n < count; ++n) {
      const std::vector<double> image(x.begin() + static_cast<std::ptrdiff_t>(n * size),
                                      x.begin() + static_cast<std::ptrdiff_t>((n + 1) * size));
      const auto expected = nets::exact_forward(what, packed, image, inference::arithmetic_of(type_name));
      ASSERT_EQ(expected.size(), classes);
      for (std::size_t k = 0; k < classes; ++k) {
        const auto found = static_cast<long double>(y[n * classes + k]);
        EXPECT_LE(std::fabs(found - expected[k].value), expected[k].bound) << what.name << ' ' << type_name << ' ' << n;
      }
    }
  }
}

}  // namespace prumo::peers
