// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main() of prumo's tests: Kokkos lives around all of them. Tests that are generated from the registered cases
// (cases_test.cpp) are added before GoogleTest starts.

#include "generated_tests.hpp"
#include <prumo/machine/availability.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  const std::string problem = prumo::machine::why_no_device<Kokkos::DefaultExecutionSpace>();
  if (!problem.empty()) {
    std::fprintf(stderr, "%s: this machine cannot run it: %s\n", argv[0], problem.c_str());
    return 3;
  }
  const Kokkos::ScopeGuard kokkos(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  for (void (*add_tests)() : prumo::tests::generators()) add_tests();
  return RUN_ALL_TESTS();
}
