// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops_framework.hpp"
#include "peer_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace prumo::peers {
namespace {

/// A case of plain loops.
protocol::verify_answer verified(const char* op, const implementation& how, const call& extents, dtype type) {
  loops_framework loops;
  return peer_case(loops, *find_operation(op), how, type, extents, 3, 2).verify(1e12);
}

call vector_of(std::int64_t n) {
  call extents;
  extents.n = n;
  return extents;
}

/// Lengths around those of vectors, cache lines and threads' shares.
class every_length : public testing::TestWithParam<std::int64_t> {};

TEST_P(every_length, is_computed_right_by_every_implementation) {
  int verified_cases = 0;
  for (const operation& what : all_operations()) {
    if (what.shape == operation_shape::product) continue;
    for (const implementation& how : loops_framework().implementations_of(what)) {
      for (const dtype type : {dtype::f32, dtype::f64}) {
        const protocol::verify_answer result = verified(what.op.c_str(), how, vector_of(GetParam()), type);
        EXPECT_TRUE(result.verified) << what.op << ' ' << how.name << ' ' << result.error.value_or(-1) << ' '
                                     << result.message;
        EXPECT_EQ(result.method, "all");
        ++verified_cases;
      }
    }
  }
  EXPECT_GE(verified_cases, 30);
}

INSTANTIATE_TEST_SUITE_P(loops, every_length, testing::Values(0, 1, 7, 15, 16, 17, 63, 64, 65, 1000, 4099, 100003));

TEST(gemm, all_transposes_and_factors) {
  const std::vector<implementation> found = loops_framework().implementations_of(*find_operation("gemm"));
  if (found.empty()) GTEST_SKIP() << "no CBLAS";
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      for (const double beta : {0.0, 1.0, -0.5}) {
        call extents;
        extents.m = 33;
        extents.n = 17;
        extents.k = 40;
        extents.alpha = 1.5;
        extents.beta = beta;
        extents.trans_a = trans_a;
        extents.trans_b = trans_b;
        for (const dtype type : {dtype::f32, dtype::f64}) {
          const protocol::verify_answer result = verified("gemm", found.front(), extents, type);
          EXPECT_TRUE(result.verified) << trans_a << trans_b << beta << ' ' << result.message;
        }
      }
    }
  }
}

/// Loops with a fault.
class faulty_loops final : public framework {
 public:
  explicit faulty_loops(void (*run)(const call&)) : run_(run) {}
  std::string name() const override { return "faulty loops"; }
  protocol::worker_description worker() const override { return {}; }
  protocol::device_summary device() const override { return {}; }
  std::vector<implementation> implementations_of(const operation&) const override { return {{"faulty", 0, 0}}; }
  std::string why_unsupported(const operation&, dtype) const override { return {}; }
  std::vector<std::function<void()>> bind(const operation&, const implementation&, dtype,
                                          std::span<const call> calls) override {
    std::vector<std::function<void()>> functions;
    for (const call& it : calls) functions.emplace_back([run = run_, it] { run(it); });
    return functions;
  }

 private:
  void (*run_)(const call&);
};

protocol::verify_answer copied_by(void (*run)(const call&)) {
  faulty_loops faulty(run);
  return peer_case(faulty, *find_operation("copy"), {"faulty", 0, 0}, dtype::f32, vector_of(1000), 1, 1).verify(1e12);
}

void off_by_a_little(const call& it) {
  for (std::int64_t i = 0; i < it.n; ++i)
    static_cast<float*>(it.arrays[1])[i] = static_cast<const float*>(it.arrays[0])[i];
  static_cast<float*>(it.arrays[1])[it.n - 1] *= 1.000001f;
}

void writes_too_little(const call& it) {
  std::memcpy(it.arrays[1], it.arrays[0], static_cast<std::size_t>(it.n - 1) * sizeof(float));
}

TEST(verification, finds_what_is_wrong) {
  EXPECT_FALSE(copied_by(off_by_a_little).verified);
  const protocol::verify_answer result = copied_by(writes_too_little);
  EXPECT_FALSE(result.verified);
  EXPECT_NE(result.message.find("1 entries"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace prumo::peers
