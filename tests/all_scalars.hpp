// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/types.hpp>

#include <gtest/gtest.h>

namespace prumo::tests {

/// For TYPED_TEST_SUITE().
using all_scalars = testing::Types<float, double, f16, bf16>;

}  // namespace prumo::tests
