// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formulas on vectors give what they give on single numbers, to the last bit, for every element of arrays of any
// length.
//
// Compilers of device code are not shown any of it: nvcc refuses vectors in functions that are for devices, too.
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)

#include "all_scalars.hpp"
#include "filling.hpp"
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/transform.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace prumo {
namespace {

using host = Kokkos::DefaultHostExecutionSpace;

struct mixture {
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    return prumo::select(x < y, prumo::fma(x, y, C(1)), prumo::select(x == x, -y, C(-0.0)));
  }
};
struct mixture_on_vectors : mixture {
  static constexpr bool takes_vectors = true;
};

/// Numbers of all sizes, and those that formulas treat apart.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  using C = compute_t<T>;
  using limits = std::numeric_limits<C>;
  const C special[] = {C(0),
                       C(-0.0),
                       C(1),
                       C(-1),
                       limits::infinity(),
                       -limits::infinity(),
                       limits::quiet_NaN(),
                       limits::max(),
                       limits::denorm_min(),
                       limits::min(),
                       C(88.8),
                       C(-103.9)};
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 8 == 0) {
      result[i] = static_cast<T>(special[random() % std::size(special)]);
    } else if (random() % 2 == 0) {
      result[i] = static_cast<T>(static_cast<C>(random() % 40000) / C(1000) - C(20));
    } else {
      const std::uint64_t bits = random();
      std::memcpy(static_cast<void*>(&result[i]), &bits, sizeof(T));
    }
  }
  return result;
}

template <class T>
auto bits_or_nan(T value) {
  using C = compute_t<T>;
  const auto number = static_cast<C>(value);
  using word = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
  return number == number ? std::bit_cast<word>(number) : word{0} - 1;
}

/// function(x, y) of vectors and of single numbers, which are float or double.
template <class T, class Function>
void expect_same_bits(const char* name, const Function& function) {
  constexpr std::size_t count = 50048, lanes = simd<T>::lanes;
  static_assert(count % lanes == 0);
  const std::vector<T> x = numbers<T>(count, 1), y = numbers<T>(count, 2);
  for (std::size_t at = 0; at < count; at += lanes) {
    T results[lanes];
    function(simd<T>::load(&x[at]), simd<T>::load(&y[at])).store(results);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const T a = x[at + lane], b = y[at + lane];
      ASSERT_EQ(bits_or_nan(results[lane]), bits_or_nan(function(a, b))) << name << " of " << a << ", " << b;
    }
  }
}

using float_types = testing::Types<float, double>;
template <class T>
class simd_functions : public testing::Test {};
TYPED_TEST_SUITE(simd_functions, float_types);

TYPED_TEST(simd_functions, vectors_and_single_numbers_give_the_same_bits) {
  using T = TypeParam;
  expect_same_bits<T>("exp", [](auto x, auto) { return prumo::exp(x); });
  expect_same_bits<T>("log", [](auto x, auto) { return prumo::log(x); });
  expect_same_bits<T>("tanh", [](auto x, auto) { return prumo::tanh(x); });
  expect_same_bits<T>("sigmoid", [](auto x, auto) { return prumo::sigmoid(x); });
  expect_same_bits<T>("gelu", [](auto x, auto) { return prumo::gelu(x); });
  expect_same_bits<T>("gelu_by_tanh", [](auto x, auto) { return prumo::gelu_by_tanh(x); });
  expect_same_bits<T>("sqrt", [](auto x, auto) { return prumo::sqrt(x); });
  expect_same_bits<T>("rsqrt", [](auto x, auto) { return prumo::rsqrt(x); });
  expect_same_bits<T>("abs", [](auto x, auto) { return prumo::abs(x); });
  expect_same_bits<T>("exp_of_nonpositive", [](auto x, auto) { return detail::exp_of_nonpositive(-prumo::abs(x)); });
  expect_same_bits<T>("maximum", [](auto x, auto y) { return prumo::maximum(x, y); });
  expect_same_bits<T>("minimum", [](auto x, auto y) { return prumo::minimum(x, y); });
  expect_same_bits<T>("fma", [](auto x, auto y) { return prumo::fma(x, y, decltype(x)(1)); });
  expect_same_bits<T>("operators", [](auto x, auto y) { return (x + y) * (x - y) / -y; });
}

template <class T>
class simd_types : public testing::Test {};
TYPED_TEST_SUITE(simd_types, tests::all_scalars);

/// The array ends behind the elements, so a sanitizer would see a read behind them.
TYPED_TEST(simd_types, load_first_fills_the_other_lanes_with_zeros) {
  using T = TypeParam;
  using C = compute_t<T>;
  constexpr std::size_t lanes = simd<C>::lanes;
  for (std::size_t count = 0; count <= lanes; ++count) {
    std::vector<T> elements(count);
    for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<T>(static_cast<C>(i) + C(0.5));
    C loaded[lanes];
    detail::load_first(elements.data(), static_cast<std::int64_t>(count)).store(loaded);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      ASSERT_EQ(loaded[lane], lane < count ? static_cast<C>(elements[lane]) : C(0)) << count << ", lane " << lane;
    }
  }
}

TYPED_TEST(simd_types, arrays_of_any_length_and_alignment) {
  using T = TypeParam;
  using view = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static_assert(detail::computes_vectors<mixture_on_vectors, T, T, T> && !detail::computes_vectors<mixture, T, T, T>);
  const host instance;
  for (std::size_t count = 1; count < 300; count += 1 + count / 70) {
    const std::size_t offset = count % 7;
    std::vector<T> x = numbers<T>(count + offset, 1), y = numbers<T>(count + offset, 2);
    std::vector<T> vectors(count + offset), singles(count);
    const view from_x(x.data() + offset, count), from_y(y.data() + offset, count);
    transform(instance, mixture_on_vectors{}, from_x, from_y, view(vectors.data() + offset, count));
    transform(instance, mixture{}, from_x, from_y, view(singles.data(), count));
    instance.fence();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(bits_or_nan(vectors[i + offset]), bits_or_nan(singles[i])) << "element " << i << " of " << count;
    }
  }
}

/// What lies behind a short array is not touched.
TYPED_TEST(simd_types, writes_no_further_than_the_end) {
  using view = Kokkos::View<TypeParam*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const host instance;
  for (std::size_t count = 1; count < 70; ++count) {
    std::vector<TypeParam> x(count, TypeParam(2.0f)), y(count + 64, TypeParam(3.0f));
    transform(instance, mixture_on_vectors{}, view(x.data(), count), view(x.data(), count), view(y.data(), count));
    instance.fence();
    for (std::size_t i = count; i < y.size(); ++i) ASSERT_EQ(static_cast<float>(y[i]), 3.0f) << count << ' ' << i;
  }
}

TYPED_TEST(simd_types, an_input_may_be_the_output) {
  using view = Kokkos::View<TypeParam*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<TypeParam> x = numbers<TypeParam>(1001, 3), y = x, expected(x.size());
  const host instance;
  transform(instance, mixture_on_vectors{}, view(x.data(), 1001), view(y.data(), 1001), view(expected.data(), 1001));
  transform(instance, mixture_on_vectors{}, view(x.data(), 1001), view(x.data(), 1001), view(x.data(), 1001));
  instance.fence();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(bits_or_nan(x[i]), bits_or_nan(expected[i])) << i;
}

/// A column and a row that repeat, and outputs that do not lie in one run.
TEST(simd, strided_and_repeated_arrays) {
  using matrix = Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  const matrix x("x", 37, 41), z("z", 37, 41), expected("expected", 37, 41);
  const Kokkos::View<float*, Kokkos::HostSpace> bias("bias", 41);
  for (std::size_t j = 0; j < 41; ++j) {
    bias(j) = 0.1f * static_cast<float>(j) - 2;
    for (std::size_t i = 0; i < 37; ++i) x(i, j) = 0.01f * static_cast<float>(i * j) - 3;
  }
  const host instance;
  transform(instance, mixture_on_vectors{}, x, bias, z);
  transform(instance, mixture{}, x, bias, expected);
  instance.fence();
  for (std::size_t i = 0; i < 37; ++i)
    for (std::size_t j = 0; j < 41; ++j) ASSERT_EQ(z(i, j), expected(i, j)) << i << ' ' << j;
}

struct sum_and_gate {
  static constexpr bool takes_vectors = true;
  template <class C>
  KOKKOS_FUNCTION auto operator()(C x, C y) const {
    return prumo::values(x + y, prumo::sigmoid(x) * y);
  }
};

TEST(simd, several_outputs_of_two_types) {
  const Kokkos::View<float*, Kokkos::HostSpace> x("x", 1003), y("y", 1003), sum("sum", 1003);
  const Kokkos::View<bf16*, Kokkos::HostSpace> gated("gated", 1003);
  static_assert(detail::computes_vectors<sum_and_gate, values<float, bf16>, float, float>);
  for (std::size_t i = 0; i < 1003; ++i) {
    x(i) = 0.01f * static_cast<float>(i) - 5;
    y(i) = 3 - 0.02f * static_cast<float>(i);
  }
  const host instance;
  transform(instance, sum_and_gate{}, x, y, sum, gated);
  instance.fence();
  for (std::size_t i = 0; i < 1003; ++i) {
    const auto expected = sum_and_gate{}(x(i), y(i));
    ASSERT_EQ(sum(i), expected.template get<0>()) << i;
    ASSERT_EQ(gated(i).bits, bf16(expected.template get<1>()).bits) << i;
  }
}

struct assignments {
  static constexpr bool takes_vectors = true;
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    C sum = x;
    sum += y;
    sum *= C(2);
    sum -= C(1);
    sum /= C(3);
    return prumo::select(!(x < y) && (y > C(0) || x == y), sum, -sum);
  }
};

template <class T>
void expect_assignments_of_any_length() {
  const host instance;
  for (std::size_t count = 1; count <= 140; ++count) {
    const auto given = numbers<T>(2 * count, 5);
    const Kokkos::View<T*, Kokkos::HostSpace> x("x", count), y("y", count);
    for (std::size_t i = 0; i < count; ++i) {
      x(i) = given[i];
      y(i) = given[count + i];
    }
    transform(instance, assignments{}, x, y, x);  // the output is an input, which ends of vectors may not read again
    instance.fence();
    for (std::size_t i = 0; i < count; ++i) {
      using C = compute_t<T>;
      const C expected = assignments{}(static_cast<C>(given[i]), static_cast<C>(given[count + i]));
      const T rounded = static_cast<T>(expected);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(static_cast<C>(x(i)))) << i << " of " << count;
      } else {
        ASSERT_EQ(static_cast<C>(x(i)), static_cast<C>(rounded)) << i << " of " << count;
      }
    }
  }
}

TEST(simd, assignments_and_masks_in_place_for_any_length) {
  expect_assignments_of_any_length<float>();
  expect_assignments_of_any_length<double>();
  expect_assignments_of_any_length<f16>();
  expect_assignments_of_any_length<bf16>();
}

struct widened_sum {
  static constexpr bool takes_vectors = true;
  KOKKOS_FUNCTION double operator()(float x, double y) const { return static_cast<double>(x) + y; }
};

/// Vectors of `float` and of `double` have different numbers of lanes.
TEST(simd, arrays_of_two_compute_types_are_computed_one_by_one) {
  static_assert(!detail::computes_vectors<widened_sum, double, float, double>);
  const Kokkos::View<float*, Kokkos::HostSpace> x("x", 100);
  const Kokkos::View<double*, Kokkos::HostSpace> y("y", 100);
  Kokkos::deep_copy(x, 1.0f);
  const host instance;
  transform(instance, widened_sum{}, x, y, y);
  instance.fence();
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(y(i), 1.0);
}

TEST(simd, masks_join) {
  const simd<float> two(2), three(3);
  const simd<float> both = select(two < three && !(two == three), simd<float>(1), two);
  const simd<float> either = select(two > three || two != three, simd<float>(1), two);
  float first[simd<float>::lanes], second[simd<float>::lanes];
  both.store(first);
  either.store(second);
  for (int lane = 0; lane < simd<float>::lanes; ++lane) {
    EXPECT_EQ(first[lane], 1.0f);
    EXPECT_EQ(second[lane], 1.0f);
  }
}

}  // namespace
}  // namespace prumo

#endif
