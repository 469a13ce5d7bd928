// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"
#include "operations.hpp"

#include <cstdint>

namespace prumo::peers {

/// The exact entry of a result, and its error bound.
struct expected_entry {
  long double value = 0;
  long double bound = 0;
};

/// The exact results of a call, computed in long double from the generator's numbers. Each thread needs its own copy.
///
/// The bounds hold for any order of computation, because a peer's order is not known. 16-bit types are computed in f32
/// and rounded once.
class reference {
 public:
  reference(const operation& what, const implementation& how, dtype type, const call& extents, std::uint64_t seed);

  expected_entry at(std::int64_t index);

  /// The rough number of processor operations for an entry: one of many neighbouring entries, or a single one.
  double cost_of_neighbour() const;
  double cost_alone() const;

 private:
  /// What the entries of a row of a softmax have in common.
  struct softmax_row {
    std::int64_t row = -1;
    long double largest = 0;
    long double spread = 0;  ///< largest less smallest element
    long double total = 0;   ///< of exp(x - largest)
  };

  long double input(std::uint64_t array, std::int64_t index) const;
  template <class Take>
  void for_each_input(std::int64_t begin, std::int64_t count, const Take& take) const;

  expected_entry elementwise(std::int64_t index) const;
  expected_entry reduced(std::int64_t begin, std::int64_t count) const;
  expected_entry softmax(std::int64_t index);
  expected_entry product(std::int64_t index) const;

  // layer_reference.cpp
  expected_entry convolution(std::int64_t index) const;
  expected_entry convolved(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t column) const;
  expected_entry pooled(std::int64_t index) const;
  expected_entry dense(std::int64_t index) const;
  expected_entry activated(long double total, long double bound) const;
  double layer_cost() const;

  const operation& what_;
  implementation how_;
  dtype type_;
  call it_;
  std::uint64_t seed_;
  softmax_row cached_;
};

}  // namespace prumo::peers
