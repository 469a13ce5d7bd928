// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores past the caches write what they are given and nothing beside it, wherever runs begin and end.

#include <prumo/detail/streaming_store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace prumo::detail {
namespace {

/// An array that runs are stored in, and what it must be then.
template <class Word>
class stored_runs {
 public:
  explicit stored_runs(std::int64_t size) : stored_(size_of(size), guard), wanted_(stored_) {}

  /// Stores other words at each call.
  void append(streamed_sequence& sequence, std::int64_t at, std::int64_t count) {
    std::vector<Word> run(size_of(count));
    for (Word& word : run) word = static_cast<Word>(next_++ % 251);
    std::copy(run.begin(), run.end(), wanted_.begin() + at);
    sequence.append(stored_.data() + at, run.data(), count);
    // The sequence holds what is not stored yet, so a caller may write to the run again.
    std::fill(run.begin(), run.end(), Word(252));
  }

  void expect_equal() const {
    streaming_fence();
    EXPECT_EQ(stored_, wanted_);
  }

 private:
  static constexpr Word guard = 255;
  static std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count); }
  std::vector<Word> stored_;
  std::vector<Word> wanted_;
  std::int64_t next_ = 0;
};

template <class Word>
class streamed_sequences : public testing::Test {};
using words = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(streamed_sequences, words);

TYPED_TEST(streamed_sequences, store_runs_of_all_lengths_that_begin_anywhere) {
  constexpr std::int64_t most = 3 * streaming_unit / sizeof(TypeParam);
  for (std::int64_t begin = 0; begin < most; ++begin) {
    for (std::int64_t count = 0; count < most; ++count) {
      stored_runs<TypeParam> runs(3 * most);
      streamed_sequence sequence;
      runs.append(sequence, begin, count);
      sequence.finish();
      runs.expect_equal();
    }
  }
}

TYPED_TEST(streamed_sequences, join_runs_that_follow_each_other) {
  std::mt19937 random(11);
  for (int repetition = 0; repetition < 300; ++repetition) {
    stored_runs<TypeParam> runs(2000);
    streamed_sequence sequence;
    for (auto at = static_cast<std::int64_t>(random() % 100); at < 1800;) {
      const auto count = static_cast<std::int64_t>(random() % (repetition % 3 == 0 ? 5 : 150));
      runs.append(sequence, at, count);
      at += count;
      if (random() % 7 == 0) at += static_cast<std::int64_t>(random() % 40);  // another sequence
    }
    sequence.finish();
    runs.expect_equal();
  }
}

TYPED_TEST(streamed_sequences, may_go_back_and_be_finished_at_any_time) {
  stored_runs<TypeParam> runs(1000);
  streamed_sequence sequence;
  runs.append(sequence, 500, 77);
  runs.append(sequence, 3, 99);
  sequence.finish();
  runs.append(sequence, 102, 200);
  runs.append(sequence, 577, 50);
  sequence.finish();
  sequence.finish();
  runs.expect_equal();
}

}  // namespace
}  // namespace prumo::detail
