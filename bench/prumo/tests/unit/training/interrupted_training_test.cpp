// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/interrupted_training.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

/// What of a training's result counts here.
json trained(std::size_t epochs, const char* stop) {
  return {{"epochs", json::array_t(epochs, json::object())}, {"time_s", {{"stop", stop}}}};
}

TEST(interrupted_training, says_how_many_epochs_are_finished_and_what_the_checkpoint_has) {
  const std::vector<json> two{trained(2, "interrupted")};
  EXPECT_THAT(kept_when_interrupted(two, "r.json", "c", checkpoint_state::current),
              ElementsAre("2 epochs are finished; the results are in r.json",
                          "the checkpoint c has every step so far; the same command with --resume goes on from it"));
  EXPECT_THAT(kept_when_interrupted({}, "", "c", checkpoint_state::current),
              ElementsAre("no epoch is finished",
                          "the checkpoint c has every step so far; the same command with --resume goes on from it"));
  EXPECT_THAT(
      kept_when_interrupted(two, "", "c", checkpoint_state::earlier),
      ElementsAre("2 epochs are finished",
                  "the checkpoint c is older than the latest steps; the same command with --resume goes on from it"));
  EXPECT_THAT(kept_when_interrupted({}, "", "c", checkpoint_state::none), ElementsAre("no epoch is finished"));
}

TEST(interrupted_training, without_a_checkpoint_says_what_is_lost) {
  EXPECT_THAT(kept_when_interrupted(std::vector{trained(1, "interrupted")}, "r.json", "", checkpoint_state::none),
              ElementsAre("1 epoch is finished; the results are in r.json",
                          "its weights are lost, because only --checkpoint FILE keeps what a training needs to go on"));
}

TEST(interrupted_training, of_several_trainings_keeps_those_that_are_whole) {
  const std::vector<json> three{trained(5, "budget"), trained(5, "budget"), trained(2, "interrupted"), json::object()};
  EXPECT_THAT(
      kept_when_interrupted(three, "r.json", "", checkpoint_state::none),
      ElementsAre("12 epochs of 3 trainings are finished; the results are in r.json",
                  "the same command with --resume keeps 2 trainings that are whole and begins the others anew"));
}

}  // namespace
}  // namespace prumo::bench::test
