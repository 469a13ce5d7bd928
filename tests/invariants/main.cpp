// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "generated_tests.hpp"
#include "kokkos_events.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  prumo::tests::watch_kokkos();
  const Kokkos::ScopeGuard kokkos(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  for (void (*add_tests)() : prumo::tests::generators()) add_tests();
  return RUN_ALL_TESTS();
}
