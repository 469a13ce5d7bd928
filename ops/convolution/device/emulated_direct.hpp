// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of `direct` for devices, run on the host.

#include "direct_device_problem.hpp"
#include "emulated_convolution.hpp"

#include <string>

namespace prumo::tests {

/// Computes y of the test case with a kernel of `direct`, and compares it with the expected results.
template <class Kernel, class T>
void expect_right(convolution_test_case<T>& test, const direct_device_layout& layout, const std::string& what) {
  test.expect_right(Kernel(direct_device_problem(test.problem), dtype_of<T>(), layout), what);
}

}  // namespace prumo::tests
