// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "generated_tests.hpp"
#include "kokkos_events.hpp"
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
  prumo::tests::watch_kokkos();
  const Kokkos::ScopeGuard kokkos(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  for (void (*add_tests)() : prumo::tests::generators()) add_tests();
  return RUN_ALL_TESTS();
}
