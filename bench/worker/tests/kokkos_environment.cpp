// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

namespace {

/// Kokkos for all tests of the program: it can be started once only.
class kokkos_environment final : public testing::Environment {
 public:
  void SetUp() override { Kokkos::initialize(); }
  void TearDown() override { Kokkos::finalize(); }
};

[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new kokkos_environment);

}  // namespace
