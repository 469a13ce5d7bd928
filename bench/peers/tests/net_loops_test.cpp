// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nets in plain loops against their exact results.
#include "net_loops.hpp"

#include "philox.hpp"
#include "unusual_net.hpp"
#include <prumo/inference/net_comparison.hpp>
#include <prumo/nets/reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace prumo::peers {
namespace {

using namespace nets;

template <class T>
void expect_exact(const description& what, dtype type, const char* type_name) {
  data::net net{what, facts_of(what)};
  data::net_weights weights;
  std::vector<double> packed;
  std::uint64_t stream = 1;
  for (const parameter& it : net.facts.all_parameters()) {
    const double scale = 1.5 / std::sqrt(static_cast<double>(it.size()) / static_cast<double>(it.extents.front()));
    auto& numbers = weights.emplace_back();
    for (std::int64_t i = 0; i < it.size(); ++i) {
      numbers.push_back(static_cast<float>(scale * uniform<double>(7, stream, static_cast<std::uint64_t>(i))));
      packed.push_back(static_cast<double>(numbers.back()));
    }
    ++stream;
  }
  constexpr std::int64_t images = 3, batch = 4;
  const auto size = static_cast<std::size_t>(what.input.size()), classes = static_cast<std::size_t>(net.facts.classes);
  std::vector<T> x(images * size), y(images * classes, T(-7));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(uniform<float>(7, 0, i));
  const auto program = make_net_loops({net, weights, type, batch});
  for (std::size_t step = 0; step < what.layers.size(); ++step) program->run_step(step, x.data(), y.data(), images);
  for (std::size_t n = 0; n < images; ++n) {
    const std::vector<double> image(x.begin() + static_cast<std::ptrdiff_t>(n * size),
                                    x.begin() + static_cast<std::ptrdiff_t>((n + 1) * size));
    const auto expected = exact_forward(what, packed, image, inference::arithmetic_of(type_name));
    ASSERT_EQ(expected.size(), classes);
    for (std::size_t k = 0; k < classes; ++k) {
      const auto found = static_cast<long double>(y[n * classes + k]);
      EXPECT_LE(std::fabs(found - expected[k].value), expected[k].bound) << what.name << ' ' << type_name << ' ' << n;
    }
  }
}

TEST(net_loops, every_kind_of_layer_is_exact_within_its_bounds) {
  for (const description& net :
       {tests::unusual_net(), named_net("lenet5"), named_net("mnist-2f"), named_net("ece408-2020")}) {
    expect_exact<float>(net, dtype::f32, "f32");
    expect_exact<double>(net, dtype::f64, "f64");
  }
}

}  // namespace
}  // namespace prumo::peers
