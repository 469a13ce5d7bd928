// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Fused multiply-adds in registers: the ceiling of arithmetic.

#include "chain_probe.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/math.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::probe {

/// The recurrence a <- a * factor + summand. The factor is near -1: a chain keeps its magnitude for tens of
/// thousands of steps and flips its sign and digits at each, as real data would; both numbers are exact in
/// f32.
inline constexpr double fma_factor = -(1 - 0x1p-16);
inline constexpr double fma_summand = 0.375;

/// The distance between the starts of chains of a row: a chain starts with the row's input plus its number times this.
inline constexpr double fma_offset = 0x1p-8;

inline namespace PRUMO_INSTRUCTION_SET {

/// The number of vectors in flight. Twelve hide six cycles on two pipes, and of sixteen registers they leave some for
/// the operands. NEON processors have up to four pipes and thirty-two registers.
#if defined(__ARM_NEON) && defined(__aarch64__)
inline constexpr int vectors_in_flight = 24;
#else
inline constexpr int vectors_in_flight = 12;
#endif

/// Several vectors, each a separate member, because compilers tend to leave an array of accumulators in memory.
template <class Vector, int Count>
struct fma_registers {
  Vector first;
  fma_registers<Vector, Count - 1> others;

  template <class T>
  void load(const T* from) {
    first = Vector::load(from);
    others.load(from + Vector::lanes);
  }
  template <class T>
  void store(T* to) const {
    first.store(to);
    others.store(to + Vector::lanes);
  }
  void multiply_add(const Vector& factor, const Vector& summand) {
    first = fma(first, factor, summand);
    others.multiply_add(factor, summand);
  }
};
template <class Vector>
struct fma_registers<Vector, 0> {
  template <class T>
  void load(const T*) {}
  template <class T>
  void store(T*) const {}
  void multiply_add(const Vector&, const Vector&) {}
};

/// results[block] = the sum of the block's chains after `iterations` steps.
template <bool OnHost, class T>
struct fma_chains_kernel;

/// On the host a block is a whole row.
template <class T>
struct fma_chains_kernel<true, T> {
  using vector = simd<T>;
  static constexpr int in_flight =
      vector::lanes == 1 ? 16 : vectors_in_flight;  // sixteen single numbers fit everywhere
  static constexpr std::int64_t chains_in_flight = std::int64_t{vector::lanes} * in_flight;
  static constexpr std::int64_t chains_per_block = chains_per_row;
  static_assert(chains_per_row % chains_in_flight == 0);

  const T* start;
  T* results;
  std::int64_t rows;
  std::int64_t iterations;

  std::int64_t blocks() const { return rows; }

  void operator()(std::int64_t row) const {
    T total(0);
    for (std::int64_t chain = 0; chain < chains_per_row; chain += chains_in_flight)
      run_chains(start[row], chain, total);
    results[row] = total;
  }

 private:
  void run_chains(T row_start, std::int64_t first, T& total) const {
    const vector factor = vector(T(plain_scalar_t<T>(fma_factor)));
    const vector summand = vector(T(plain_scalar_t<T>(fma_summand)));
    T numbers[chains_in_flight];
    for (std::int64_t which = 0; which < chains_in_flight; ++which) {
      numbers[which] = T(static_cast<plain_scalar_t<T>>(first + which) * plain_scalar_t<T>(fma_offset));
    }
    fma_registers<vector, in_flight> chains;
    chains.load(numbers);
    chains.multiply_add(vector(T(1)), vector(row_start));
    for (std::int64_t step = 0; step < iterations; ++step) chains.multiply_add(factor, summand);
    chains.store(numbers);
    for (std::int64_t which = 0; which < chains_in_flight; ++which) total = total + numbers[which];
  }
};

/// On a device a block is what one thread keeps in its registers.
template <class T>
struct fma_chains_kernel<false, T> {
  static constexpr int chains_in_flight = 16;
  static constexpr std::int64_t chains_per_block = chains_in_flight;
  static constexpr std::int64_t blocks_per_row = chains_per_row / chains_per_block;
  static_assert(chains_per_row % chains_per_block == 0);

  const T* start;
  T* results;
  std::int64_t rows;
  std::int64_t iterations;

  std::int64_t blocks() const { return rows * blocks_per_row; }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::int64_t first = block % blocks_per_row * chains_per_block;
    const T row_start = start[block / blocks_per_row];
    T chains[chains_in_flight];
    PRUMO_UNROLL
    for (int which = 0; which < chains_in_flight; ++which) {
      chains[which] = prumo::fma(static_cast<T>(first + which) * T(fma_offset), T(1), row_start);
    }
    for (std::int64_t step = 0; step < iterations; ++step) {
      PRUMO_UNROLL
      for (int which = 0; which < chains_in_flight; ++which) {
        chains[which] = prumo::fma(chains[which], T(fma_factor), T(fma_summand));
      }
    }
    T total(0);
    PRUMO_UNROLL
    for (int which = 0; which < chains_in_flight; ++which) total = total + chains[which];
    results[block] = total;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::probe
