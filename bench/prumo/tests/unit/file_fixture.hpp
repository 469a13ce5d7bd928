// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files/results_error.hpp"
#include "surroundings.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace prumo::bench::testing {

/// A test with a folder of its own, and the path of a file in it that is not there yet.
class file_fixture : public ::testing::Test {
 protected:
  [[nodiscard]] std::size_t files() const { return temporary_.size(); }

 private:
  test::temporary_folder temporary_;

 protected:
  std::filesystem::path folder_ = temporary_.path();
  std::string path_ = temporary_.file("r.json");
};

/// The message with which `function` refuses a file for this cause.
template <class Function>
std::string message_of(Function&& function, results_error::cause cause = results_error::cause::input) {
  try {
    function();
  } catch (const results_error& error) {
    EXPECT_EQ(error.why(), cause) << error.what();
    return error.what();
  }
  return "no results_error";
}

}  // namespace prumo::bench::testing
