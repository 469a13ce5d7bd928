// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "surroundings.hpp"
#include <prumo/files/file_error.hpp>

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
std::string message_of(Function&& function, file_error::cause cause = file_error::cause::input) {
  try {
    function();
  } catch (const file_error& error) {
    EXPECT_EQ(error.why(), cause) << error.what();
    return error.what();
  }
  return "no file_error";
}

}  // namespace prumo::bench::testing
