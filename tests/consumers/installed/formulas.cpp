// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's formulas, some that take vectors and some that do not, compiled with the flags of prumo's kernels, and with
// -ffast-math.
#include <prumo/transform.hpp>

#include <cmath>
#include <cstdio>

namespace {

struct gate {
  static constexpr bool takes_vectors = true;
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    return prumo::select(x < C(-3), C(0), prumo::sigmoid(x) * y);
  }
};

struct gate_of_single_numbers {
  KOKKOS_FUNCTION float operator()(float x, float y) const { return x < -3 ? 0 : y / (1 + std::exp(-x)); }
};

struct bend {
  static constexpr bool takes_vectors = true;
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    return prumo::tanh(x) * prumo::exp(-y);
  }
};

struct bend_of_single_numbers {
  KOKKOS_FUNCTION float operator()(float x, float y) const { return prumo::tanh(x) * prumo::exp(-y); }
};

struct bend_of_the_standard_library {
  KOKKOS_FUNCTION float operator()(float x, float y) const { return std::tanh(x) * std::exp(-y); }
};

int differences() {
  using exec = Kokkos::DefaultHostExecutionSpace;
  constexpr std::size_t length = 1003;
  const Kokkos::View<float*, Kokkos::HostSpace> x("x", length), y("y", length), a("a", length), b("b", length),
      c("c", length), d("d", length), e("e", length);
  for (std::size_t i = 0; i < length; ++i) {
    x(i) = 0.01f * static_cast<float>(i) - 5;
    y(i) = 2 - 0.003f * static_cast<float>(i);
  }
  const exec instance;
  prumo::transform(instance, gate{}, x, y, a);
  prumo::transform(instance, gate_of_single_numbers{}, x, y, b);
  prumo::transform(instance, bend{}, x, y, c);
  prumo::transform(instance, bend_of_single_numbers{}, x, y, d);
  prumo::transform(instance, bend_of_the_standard_library{}, x, y, e);
  instance.fence();
  // exp(-y) is at most e. With -ffast-math, it and tanh are off by up to 25 units in the last place each.
  constexpr float most = 2.8f * 60 * 0x1p-24f;
  int count = 0;
  for (std::size_t i = 0; i < length; ++i) {
    count += std::abs(a(i) - b(i)) <= 1e-6f && std::abs(c(i) - e(i)) <= most && std::abs(d(i) - e(i)) <= most ? 0 : 1;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const int count = differences();
  if (count != 0) std::printf("%d elements differ\n", count);
  return count == 0 ? 0 : 1;
}
