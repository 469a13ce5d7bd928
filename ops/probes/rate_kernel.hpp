// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Divisions, square roots and special functions in registers: how many of each kind a space computes a second. They
/// are the functions that operations call (<prumo/math.hpp>).
///
/// A host computes f of the same numbers again and again, as an operation does with what is in its cache. A device has
/// chains x <- f(x) in registers. All numbers begin in [1/4, 3/4). Where a chain would leave the range in which the
/// function is defined, its step has an addition, too.

#include "chain_probe.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/contiguous_elements.hpp>
#include <prumo/math.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace prumo::probe {

/// Chain `which` of a row begins with (row's start in [0, 1)) * rate_start_factor + rate_start + which * rate_offset.
inline constexpr double rate_start_factor = 0.125;
inline constexpr double rate_start = 0.25;
inline constexpr double rate_offset = 0x1p-9;

/// A function f and what a chain of it needs. Each has
/// - its `name`, f itself, and f in a wider type, `exact`;
/// - `summand`, which each step of a chain adds;
/// - the `largest` |x| of a chain, and by how much the following steps make an error of x larger at most, `growth`: the
///   largest product of derivatives along a chain.
/// Counted numbers run on hosts only, which nvcc cannot know.
struct exp_step {
  static constexpr std::string_view name = "exp";
  static constexpr double summand = 0, largest = 1, growth = 1;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return prumo::exp(-x);
  }
  static long double exact(long double x) { return std::exp(-x); }
};

/// What softmax calls on a host.
struct exp_of_nonpositive_step : exp_step {
  static constexpr std::string_view name = "exp_of_nonpositive";
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return detail::exp_of_nonpositive(-x);
  }
};

/// Ends near 3.15. Its derivatives are 1/x: at most 4, 1/0.61 and 1/1.5 in the first steps, and below 1 after.
struct log_step {
  static constexpr std::string_view name = "log";
  static constexpr double summand = 2, largest = 4, growth = 8;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return prumo::log(x);
  }
  static long double exact(long double x) { return std::log(x); }
};

struct tanh_step {
  static constexpr std::string_view name = "tanh";
  static constexpr double summand = 0, largest = 1, growth = 1;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return prumo::tanh(x);
  }
  static long double exact(long double x) { return std::tanh(x); }
};

/// gelu is what operations compute with an erf. It stays below 3/4 with the addition, where its derivative is below 1.
struct gelu_step {
  static constexpr std::string_view name = "gelu";
  static constexpr double summand = 0.125, largest = 1, growth = 1;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return prumo::gelu(x);
  }
  static long double exact(long double x) { return 0.5L * x * std::erfc(-x / std::sqrt(2.0L)); }
};

/// x and 1/(4x) in turns. The derivatives are between 4/9 and 4, and 1 over two steps.
struct division_step {
  static constexpr std::string_view name = "division";
  static constexpr double summand = 0, largest = 1, growth = 4;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return C(0.25f) / x;
  }
  static long double exact(long double x) { return 0.25L / x; }
};

/// What sigmoid and gelu call.
struct quick_quotient_step : division_step {
  static constexpr std::string_view name = "quick_quotient";
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return detail::quick_quotient(C(0.25f), x);
  }
};

struct sqrt_step {
  static constexpr std::string_view name = "sqrt";
  static constexpr double summand = 0, largest = 1, growth = 1;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return prumo::sqrt(x);
  }
  static long double exact(long double x) { return std::sqrt(x); }
};

/// The square root as x / sqrt(x), which takes a device less than its square root.
struct rsqrt_step : sqrt_step {
  static constexpr std::string_view name = "rsqrt";
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return x * prumo::rsqrt(x);
  }
};

/// A rate: the probe's name, the kind of flops, and the steps that have it, of which the fastest is the ceiling. A
/// step that is an instruction sequence of devices or of hosts only is tried there only.
struct exp_rate {
  static constexpr std::string_view op = "exp_rate", description = "exponentials in registers";
  template <bool OnHost>
  using steps = std::conditional_t<OnHost, std::tuple<exp_step, exp_of_nonpositive_step>, std::tuple<exp_step>>;
};
struct log_rate {
  static constexpr std::string_view op = "log_rate", description = "logarithms in registers";
  template <bool>
  using steps = std::tuple<log_step>;
};
struct tanh_rate {
  static constexpr std::string_view op = "tanh_rate", description = "hyperbolic tangents in registers";
  template <bool>
  using steps = std::tuple<tanh_step>;
};
struct erf_rate {
  static constexpr std::string_view op = "erf_rate", description = "gelu, the only user of erf, in registers";
  template <bool>
  using steps = std::tuple<gelu_step>;
};
struct div_rate {
  static constexpr std::string_view op = "div_rate", description = "divisions in registers";
  template <bool OnHost>
  using steps = std::conditional_t<OnHost, std::tuple<division_step>, std::tuple<division_step, quick_quotient_step>>;
};
struct sqrt_rate {
  static constexpr std::string_view op = "sqrt_rate", description = "square roots in registers";
  template <bool OnHost>
  using steps = std::conditional_t<OnHost, std::tuple<sqrt_step>, std::tuple<sqrt_step, rsqrt_step>>;
};

inline namespace PRUMO_INSTRUCTION_SET {

/// results[block] = the sum of the block's numbers after `iterations` steps.
template <bool OnHost, class Step, class T>
struct rate_kernel;

/// A step as the formula of an element-wise operation, so that a host computes it on as many vectors at once as it does
/// in operations. Its numbers are in the nearest cache, and need no prefetch.
template <class Step>
struct rate_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return Step{}(x);
  }
};

/// On the host a block is a whole row, which stays in the nearest cache. It is computed in vectors, as elements are in
/// operations. Each step computes the same.
template <class Step, class T>
struct rate_kernel<true, Step, T> {
  static constexpr std::int64_t chains_per_block = chains_per_row;

  const T* start;
  T* results;
  std::int64_t rows;
  std::int64_t iterations;

  std::int64_t blocks() const { return rows; }

  PRUMO_FLATTEN void operator()(std::int64_t row) const {
    using plain = plain_scalar_t<T>;
    alignas(64) T numbers[chains_per_block];
    alignas(64) T values[chains_per_block];
    for (std::int64_t which = 0; which < chains_per_block; ++which) {
      const auto begin = static_cast<plain>(rate_start + static_cast<double>(which) * rate_offset);
      numbers[which] = prumo::fma(start[row], T(static_cast<plain>(rate_start_factor)), T(begin));
      values[which] = numbers[which];
    }
    for (std::int64_t step = 0; step < iterations; ++step) {
      forget(numbers, values);
      compute_step(numbers, values);
    }
    T total(0);
    for (std::int64_t which = 0; which < chains_per_block; ++which) total = total + values[which];
    results[row] = total;
  }

 private:
  static void compute_step(const T* numbers, T* values) {
    if constexpr (std::is_floating_point_v<T>) {
      prumo::detail::compute_elements<chains_per_block, T, T>(
          rate_formula<Step>{}, std::integral_constant<std::int64_t, chains_per_block>{}, {values}, numbers);
    } else {
      for (std::int64_t which = 0; which < chains_per_block; ++which) values[which] = Step{}(numbers[which]);
    }
  }
  /// Makes the compiler believe that the numbers change and the values are read, so that it leaves out no step.
  static void forget([[maybe_unused]] T* numbers, [[maybe_unused]] T* values) {
    asm volatile("" : : "r"(numbers), "r"(values) : "memory");
  }
};

/// On a device a block is what one thread keeps in its registers. Many threads run at the same time, so that few chains
/// hide the latency.
template <class Step, class T>
struct rate_kernel<false, Step, T> {
  using launch_bounds = Kokkos::LaunchBounds<256, 4>;
  static constexpr std::int64_t chains_per_block = 4;
  static constexpr std::int64_t blocks_per_row = chains_per_row / chains_per_block;

  const T* start;
  T* results;
  std::int64_t rows;
  std::int64_t iterations;

  std::int64_t blocks() const { return rows * blocks_per_row; }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const T first = static_cast<T>(block % blocks_per_row * chains_per_block);
    const T row_start = start[block / blocks_per_row] * T(rate_start_factor);
    T chains[chains_per_block];
    PRUMO_UNROLL
    for (int which = 0; which < chains_per_block; ++which) {
      chains[which] = row_start + prumo::fma(first + static_cast<T>(which), T(rate_offset), T(rate_start));
    }
    PRUMO_KEEP_LOOP
    for (std::int64_t step = 0; step < iterations; ++step) {
      PRUMO_UNROLL
      for (int which = 0; which < chains_per_block; ++which) {
        chains[which] = Step{}(chains[which]);
        if constexpr (Step::summand != 0) chains[which] = chains[which] + T(Step::summand);
      }
    }
    T total(0);
    PRUMO_UNROLL
    for (int which = 0; which < chains_per_block; ++which) total = total + chains[which];
    results[block] = total;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::probe
