// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/prumo.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace {

using exec = Kokkos::DefaultHostExecutionSpace;
int faults = 0;

void expect_near(const char* what, double found, double expected, double tolerance) {
  if (std::abs(found - expected) <= tolerance) return;
  std::printf("%s is %.9g, expected %.9g\n", what, found, expected);
  ++faults;
}

void check_softmax(prumo::context<exec>& ctx) {
  const Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> x("x", 2, 3);
  const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> y("y", 2, 3);
  for (std::size_t column = 0; column < 3; ++column) x(1, column) = static_cast<float>(column + 1);
  prumo::softmax(ctx, x, y);
  ctx.fence();
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (std::size_t column = 0; column < 3; ++column) {
    expect_near("softmax of equal numbers", y(0, column), 1.0 / 3, 1e-6);
    expect_near("softmax of 1, 2, 3", y(1, column), std::exp(static_cast<double>(column) + 1) / total, 1e-6);
  }
}

void check_gemm(prumo::context<exec>& ctx) {
  constexpr std::size_t m = 3, n = 4, k = 5;
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", m, k);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> b("b", k, n);
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> c("c", m, n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t l = 0; l < k; ++l) a(i, l) = static_cast<double>(i + l);
  for (std::size_t l = 0; l < k; ++l)
    for (std::size_t j = 0; j < n; ++j) b(l, j) = static_cast<double>(l * j);
  prumo::gemm(ctx, prumo::transposition::no, prumo::transposition::no, 2.0, a, b, 0.0, c);
  ctx.fence();
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double expected = 0;
      for (std::size_t l = 0; l < k; ++l) expected += 2 * a(i, l) * b(l, j);
      expect_near("the product", c(i, j), expected, 0);
    }
  }
}

struct plus_one {
  KOKKOS_FUNCTION float operator()(float x) const { return x + 1; }
};

void check_transform(const exec& instance) {
  const Kokkos::View<prumo::bf16*, Kokkos::HostSpace> x("x", 1000);
  prumo::fill(instance, 2.0f, x);
  prumo::transform(instance, plus_one{}, x, x);
  instance.fence();
  expect_near("a formula of one's own", x(999), 3, 0);
}

void check_error(prumo::context<exec>& ctx) {
  try {
    prumo::softmax(ctx, Kokkos::View<float**, Kokkos::HostSpace>("first", 2, 3),
                   Kokkos::View<float**, Kokkos::HostSpace>("second", 2, 4));
    std::printf("unequal extents were accepted\n");
    ++faults;
  } catch (const prumo::error&) {
  }
}

#if PRUMO_VERSION < 100
#error "PRUMO_VERSION is no number for the preprocessor"
#endif

void check_version() {
  const std::string found = std::to_string(PRUMO_VERSION_MAJOR) + "." + std::to_string(PRUMO_VERSION_MINOR) + "." +
                            std::to_string(PRUMO_VERSION_PATCH);
  const int number = PRUMO_VERSION_MAJOR * 10000 + PRUMO_VERSION_MINOR * 100 + PRUMO_VERSION_PATCH;
#if defined(PACKAGE_VERSION)
  const std::string package = PACKAGE_VERSION;
#else
  const std::string package = PRUMO_VERSION_STRING;
#endif
  if (found == PRUMO_VERSION_STRING && found == package && PRUMO_VERSION == number) return;
  std::printf("the version is %s, '%s' and %d; the package is %s\n", found.c_str(), PRUMO_VERSION_STRING, PRUMO_VERSION,
              package.c_str());
  ++faults;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  {
    const exec instance;
    prumo::context<exec> ctx(instance);
    check_softmax(ctx);
    check_gemm(ctx);
    check_transform(instance);
    check_error(ctx);
    check_version();
  }
  Kokkos::finalize();
  return faults;
}
