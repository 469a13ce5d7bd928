// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace prumo::tests {

/// The message of what a call throws. A test fails where that is not an Error.
template <class Error, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& thrown) {
    return thrown.what();
  }
  ADD_FAILURE() << "nothing of the expected type was thrown";
  return {};
}

}  // namespace prumo::tests
