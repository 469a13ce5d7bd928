// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nets in oneDNN's primitives against their exact results.
#include "net_primitives.hpp"

#include "exact_net.hpp"
#include "unusual_net.hpp"

#include <gtest/gtest.h>

namespace prumo::peers {
namespace {

using namespace nets;

TEST(net_primitives, every_kind_of_layer_is_exact_within_its_bounds_in_each_way) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::stream stream(engine);
  for (const std::string& way : net_ways()) {
    SCOPED_TRACE(way);
    const auto make = [&](const net_choice& choice) { return make_net_primitives(engine, stream, choice, way); };
    for (const description& net : {tests::unusual_net(), named_net("lenet5"), named_net("mnist-2f"),
                                   named_net("ece408-2019"), named_net("ece408-2020")}) {
      expect_exact_net<float>(net, dtype::f32, "f32", make);
    }
  }
}

}  // namespace
}  // namespace prumo::peers
