// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/transform.hpp>

#include <cstdio>

struct difference_squared {
  KOKKOS_FUNCTION double operator()(double x, float y) const { return (x - y) * (x - y); }
};

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  using exec = Kokkos::DefaultHostExecutionSpace;
  const Kokkos::View<double*, Kokkos::HostSpace> x("x", 10000);
  const Kokkos::View<float*, Kokkos::HostSpace> y("y", 10000);
  Kokkos::deep_copy(x, 5.0);
  Kokkos::deep_copy(y, 2.0f);
  const exec instance;
  prumo::transform(instance, difference_squared{}, x, y, x);
  instance.fence();
  std::printf("%g\n", x(9999));
  return x(0) == 9.0 && x(9999) == 9.0 ? 0 : 1;
}
