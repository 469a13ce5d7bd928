// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What most tests of operations use. They have `using namespace tests`.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo::tests {

using exec = Kokkos::DefaultExecutionSpace;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

}  // namespace prumo::tests
