// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nets in plain loops against their exact results.
#include "net_loops.hpp"

#include "exact_net.hpp"
#include "unusual_net.hpp"

#include <gtest/gtest.h>

namespace prumo::peers {
namespace {

using namespace nets;

TEST(net_loops, every_kind_of_layer_is_exact_within_its_bounds) {
  for (const description& net :
       {tests::unusual_net(), named_net("lenet5"), named_net("mnist-2f"), named_net("ece408-2020")}) {
    expect_exact_net<float>(net, dtype::f32, "f32", make_net_loops);
    expect_exact_net<double>(net, dtype::f64, "f64", make_net_loops);
  }
}

}  // namespace
}  // namespace prumo::peers
