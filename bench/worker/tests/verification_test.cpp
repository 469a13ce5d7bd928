// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker_handler.hpp"
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/memory.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace prumo::worker {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

/// y = 0.75 in the first `right_calls` calls; later ones write something else. So a call that is made by itself may be
/// right where those that are timed are wrong, as those of a recording may be.
class tiring_fill final : public cases::elementwise_case<tiring_fill, exec, 0> {
 public:
  static constexpr double ulps = 0;
  static constexpr flop_counts per_element() { return {}; }
  static flop_counts count_call(const cases::specification&) { return {}; }
  static inline int right_calls = 0;

  cases::case_info info() const override { return elementwise_info("tiring_fill", "y = 0.75, for a while"); }
  static void call(instance_ref space, const cases::parameters&, const array_ref& y) {
    fill(space, --right_calls >= 0 ? 0.75 : 0.5, y);
  }
  static long double exact(const long double*, const cases::specification&) { return 0.75L; }
};

/// The answer to `verify`, of a case of this many bytes whose calls are right that often.
protocol::verify_answer verify_tiring(int right_calls, bool cold, bool single, std::int64_t elements) {
  tiring_fill::right_calls = right_calls;
  cases::case_registry<exec> registry;
  registry.add(std::make_unique<tiring_fill>());
  worker_handler<exec> handler(registry, "worker of a test");
  protocol::prepare_request request;
  request.op = "tiring_fill";
  request.dtype = "f32";
  request.shape = {{"n", elements}};
  request.device = handler.hello().devices.front().id;
  request.cold = cold;
  request.single_calls = single;
  const protocol::prepare_answer prepared = handler.prepare(request);
  return handler.verify({prepared.case_id, {}});
}

constexpr int always = 1 << 30;
constexpr std::int64_t few = 1000;
constexpr std::int64_t many = std::int64_t{1} << 20;

struct sized {
  std::int64_t elements;
  bool cold;
};
constexpr std::array sizes{sized{few, false}, sized{many, false}, sized{many, true}};

TEST(verification, accepts_what_is_timed) {
  for (const auto [elements, cold] : sizes) {
    for (const bool single : {false, true}) {
      const protocol::verify_answer answer = verify_tiring(always, cold, single, elements);
      EXPECT_TRUE(answer.verified) << answer.message;
      EXPECT_EQ(answer.error, 0.0);
      if (single) {
        EXPECT_EQ(answer.dispatch, "single");
      }
    }
  }
}

TEST(verification, short_calls_are_compared_as_they_are_timed) {
  const protocol::verify_answer answer = verify_tiring(always, false, false, few);
  EXPECT_EQ(answer.dispatch, is_host_space<exec> ? "single" : "recorded");
}

/// Its first call is right, and so it would pass if a call of its own were compared.
TEST(verification, refuses_calls_that_are_wrong_when_they_are_timed) {
  for (const auto [elements, cold] : sizes) {
    const protocol::verify_answer answer = verify_tiring(1, cold, false, elements);
    EXPECT_FALSE(answer.verified);
    EXPECT_NE(answer.message.find("is 0.5, expected 0.75"), std::string::npos) << answer.message;
  }
}

}  // namespace
}  // namespace prumo::worker
