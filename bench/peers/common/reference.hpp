// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"
#include "operations.hpp"

#include <cstdint>

namespace prumo::peers {

/// An entry of a result as it should be, and how far off it may be.
struct expected_entry {
  long double value = 0;
  long double bound = 0;
};

/// What a call should give, computed in long double from the generator's numbers. A copy belongs to one thread.
///
/// A reference does not know in which order a peer computes, so its bounds hold for any. 16-bit types are computed in
/// f32 and rounded once.
class reference {
 public:
  reference(const operation& what, const implementation& how, dtype type, const call& extents, std::uint64_t seed);

  expected_entry at(std::int64_t index);

  /// How many operations of the processor an entry costs, roughly: one of many neighbours, or one alone.
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

  const operation& what_;
  implementation how_;
  dtype type_;
  call it_;
  std::uint64_t seed_;
  softmax_row cached_;
};

}  // namespace prumo::peers
