// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_operations.hpp"
#include "onednn_framework.hpp"
#include "peer_case.hpp"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>

namespace prumo::peers {
namespace {

call extents_of(std::int64_t m, std::int64_t n, std::int64_t k = 0) {
  call extents;
  extents.m = m;
  extents.n = n;
  extents.k = k;
  return extents;
}

/// Parameters as nobody chooses them by default: factors that are no short binary fractions, gelu by tanh.
void set_parameters(const operation& what, call& extents, bool others) {
  for (const auto& it : what.parameters) {
    if (it.name == "alpha" || it.name == "tanh") extents.alpha = others ? -1.3 : *it.fallback;
    if (it.name == "beta") extents.beta = others ? 0.7 : *it.fallback;
  }
}

bool reduces(const operation& what) {
  return what.shape == operation_shape::reduction || what.shape == operation_shape::row_reduction;
}

class onednn : public testing::TestWithParam<dtype> {
 protected:
  /// Verifies a case where the engine has it; whether it has.
  bool holds(const operation& what, const call& extents) {
    if (!computes_.why_unsupported(what, GetParam()).empty()) return false;
    const implementation how = computes_.implementations_of(what).front();
    try {
      const protocol::verify_answer result = peer_case(computes_, what, how, GetParam(), extents, 3, 2).verify(1e12);
      EXPECT_TRUE(result.verified) << what.op << ' ' << name_of(GetParam()) << " m " << extents.m << " n " << extents.n
                                   << " k " << extents.k << ": " << result.error.value_or(-1) << ' ' << result.message;
      EXPECT_EQ(result.method, "all");
    } catch (const protocol::request_error& refused) {
      // It has no reduction that reduces nothing.
      EXPECT_EQ(refused.kind(), protocol::error_kind::unsupported);
      EXPECT_TRUE(reduces(what) && extents.n == 1) << what.op << ": " << refused.what();
      return false;
    }
    return true;
  }

  onednn_framework computes_;
};

TEST_P(onednn, computes_what_prumo_does) {
  std::set<std::string> computed;
  for (const operation& what : all_operations()) {
    if (computes_.implementations_of(what).empty() || is_layer(what)) continue;
    for (const bool others : {false, true}) {
      for (call extents :
           {extents_of(1, 1, 1), extents_of(7, 15, 3), extents_of(3, 1003, 65), extents_of(65, 33, 300)}) {
        set_parameters(what, extents, others);
        if (holds(what, extents)) computed.insert(what.op);
      }
    }
  }
  // f32 is what every processor has; the other types are up to it.
  if (GetParam() != dtype::f32) return;
  for (const char* op :
       {"add", "mul",      "scale",          "axpby",   "sigmoid",     "tanh",      "relu", "gelu",
        "exp", "log",      "sqrt",           "rsqrt",   "copy",        "cast_bf16", "sum",  "mean_rows",
        "max", "min_rows", "sum_of_squares", "softmax", "log_softmax", "transpose", "gemm"}) {
    EXPECT_TRUE(computed.contains(op)) << op << ": " << computes_.why_unsupported(*find_operation(op), dtype::f32);
  }
}

TEST_P(onednn, long_sums_and_rows) {
  for (const char* op : {"sum", "sum_of_squares", "mean", "max", "add", "softmax", "sum_rows"}) {
    holds(*find_operation(op), extents_of(2, 100003));
  }
}

TEST_P(onednn, products_of_all_transposes) {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      call extents = extents_of(33, 17, 40);
      extents.trans_a = trans_a;
      extents.trans_b = trans_b;
      holds(*find_operation("gemm"), extents);
    }
  }
}

/// In each way, with all activations and poolings.
TEST_P(onednn, layers_of_nets) {
  const layer_extents of_rows{.images = 7, .in_channels = 33, .out_channels = 10};
  const layer_extents of_images[] = {
      {2, 1, 12, 15, 6, 5, 5}, {1, 3, 17, 9, 16, 3, 2, 2, 1}, {3, 4, 8, 8, 5, 1, 1, 3}, {2, 17, 7, 30, 18, 4, 3}};
  for (const operation& what : all_operations()) {
    if (!is_layer(what) || !computes_.why_unsupported(what, GetParam()).empty()) continue;
    for (const implementation& how : computes_.implementations_of(what)) {
      const auto expect_verified = [&](const layer_extents& extents) {
        call it;
        it.layer = extents;
        const protocol::verify_answer result = peer_case(computes_, what, how, GetParam(), it, 3, 2).verify(1e12);
        EXPECT_TRUE(result.verified) << what.op << ' ' << how.name << ' ' << name_of(GetParam()) << " in "
                                     << extents.in_channels << ' ' << extents.height << " x " << extents.width
                                     << " activation " << extents.activation << " pooling " << extents.pooling << ": "
                                     << result.error.value_or(-1) << ' ' << result.message;
        EXPECT_EQ(result.method, "all");
      };
      if (what.shape == operation_shape::pooling) {
        expect_verified({.images = 2, .in_channels = 3, .height = 9, .width = 11, .stride = 2, .window = 2});
        expect_verified({.images = 2,
                         .in_channels = 3,
                         .height = 10,
                         .width = 11,
                         .stride = 3,
                         .padding = 1,
                         .window = 4,
                         .round_up = 1});
        continue;
      }
      const bool is_dense = what.shape == operation_shape::dense;
      for (layer_extents extents : is_dense ? std::span(&of_rows, 1) : std::span(of_images)) {
        extents.window = 2;
        for (extents.activation = 0; extents.activation <= 5; ++extents.activation) {
          extents.bias = extents.activation % 2;
          for (extents.pooling = 0; extents.pooling <= (is_dense ? 0 : 2); ++extents.pooling) {
            extents.round_up = extents.pooling - 1;
            if (extents.pooling == 0) extents.round_up = 0;
            expect_verified(extents);
          }
        }
      }
    }
  }
  EXPECT_EQ(computes_.implementations_of(*find_operation("convolution")).size(), 2u);
}

TEST(layer_operations, filters_and_windows_must_fit) {
  const operation& convolution = *find_operation("convolution");
  layer_extents it{.images = 1, .height = 4, .width = 5, .filter_rows = 4, .filter_columns = 5};
  EXPECT_EQ(why_invalid_layer(convolution, it), "");
  it.height = 3;
  EXPECT_NE(why_invalid_layer(convolution, it), "");
  it.padding = 1;
  EXPECT_EQ(why_invalid_layer(convolution, it), "");
  it.padding = 4;
  EXPECT_NE(why_invalid_layer(convolution, it), "");
  layer_extents windows{.images = 1, .height = 4, .width = 5, .window = 4};
  EXPECT_EQ(why_invalid_layer(*find_operation("max_pool"), windows), "");
  windows.window = 5;
  EXPECT_NE(why_invalid_layer(*find_operation("max_pool"), windows), "");
}

TEST_P(onednn, empty_arrays) {
  for (const char* op : {"add", "exp", "copy"}) holds(*find_operation(op), extents_of(0, 0));
}

INSTANTIATE_TEST_SUITE_P(, onednn, testing::ValuesIn(all_dtypes),
                         [](const auto& chosen) { return std::string(name_of(chosen.param)); });

TEST(onednn_refusals, hold_the_reason_of_the_library) {
  const onednn_framework computes;
  // No CPU engine has element-wise primitives of f64.
  const std::string why = computes.why_unsupported(*find_operation("exp"), dtype::f64);
  EXPECT_NE(why.find("could not create a primitive descriptor"), std::string::npos) << why;
  EXPECT_EQ(why.find("ONEDNN_VERBOSE"), std::string::npos) << why;
  EXPECT_TRUE(computes.implementations_of(*find_operation("fill")).empty());
}

TEST(onednn_device, tells_version_threads_and_instructions) {
  const onednn_framework computes;
  EXPECT_GE(computes.worker().versions.at("onednn").get<std::string>().size(), 5u);
  EXPECT_FALSE(computes.facts().at("instruction_set").get<std::string>().empty());
  EXPECT_FALSE(computes.facts().at("thread_runtime").get<std::string>().empty());
  EXPECT_EQ(computes.device().id, "onednn:0");
}

}  // namespace
}  // namespace prumo::peers
