// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A case with its memory: allocated, filled, run, compared.

#include <prumo/case/case_memory.hpp>
#include <prumo/case/operation_case.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace prumo::cases {

/// Bytes of one copy of all arrays of a case.
std::size_t footprint_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout);

/// The bytes that a call brings into the caches: whole lines of each array, without the rows that no index chooses.
std::size_t touched_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout);

/// The entries of each part of a reference, kept for cases that differ in their implementation alone.
using kept_reference = std::vector<std::vector<reference_entry>>;

/// A case whose arrays exist, `copies` times over so that calls can rotate past the caches.
template <class Exec>
class prepared_case {
 public:
  /// Allocates and fills on the context's instance. Throws memory_error with needed and available bytes,
  /// argument_error where the shape does not fit. The context must outlive the case.
  prepared_case(context<Exec>& ctx, const operation_case<Exec>& operation, const specification& choice,
                std::size_t copies);
  prepared_case(const prepared_case&) = delete;  // calls refer to the choice
  prepared_case& operator=(const prepared_case&) = delete;

  /// From now on runs another implementation or compute mode of the operation, on the same arrays.
  void choose(std::string_view implementation, std::string_view compute_mode) {
    choice_.implementation = implementation;
    choice_.compute_mode = compute_mode;
    bind();
  }

  /// Enqueues one call on the arrays of copy `which`.
  void run(std::size_t which) {
    point_to(which);
    call_();
  }

  /// Bytes that a case with so many copies of these arrays allocates.
  static std::size_t allocated_bytes(const std::vector<array_specification>& arrays, const specification& choice,
                                     std::size_t copies);

  std::size_t copies() const { return memory_.copies(); }
  /// The arrays of all copies.
  std::size_t footprint_bytes() const {
    return copies() * cases::footprint_bytes(specifications_, choice_.type, choice_.layout);
  }
  context<Exec>& owner() const { return context_; }
  const specification& choice() const { return choice_; }

  /// An array of a copy: its memory, gaps included, and what the operation does with it.
  struct array_memory {
    void* data;
    std::size_t bytes;
    array_role role;
  };
  std::size_t array_count() const { return specifications_.size(); }
  array_memory memory_of(std::size_t copy, std::size_t which) const;

  /// Whether a call reads what an earlier one wrote: there is an array that is input and output.
  bool reads_results() const;

  /// Fills the outputs of one copy with NaN, runs once, and compares with the reference: every entry where that takes
  /// `budget` operations or fewer, else of evenly chosen parts, the first and last among them.
  /// `call` takes the place of run(copy) where given: a replay of recorded calls, say. Inputs are not
  /// filled again, so what an earlier call did to them is found, too. Parts that `kept` has are not
  /// computed again, and those that are computed are added to it.
  check_result verify(double budget, const std::function<void()>& call = {}, kept_reference* kept = nullptr,
                      std::size_t copy = 0);

 private:
  void bind() { call_ = operation_.repeatable_call(context_, choice_, arrays_); }
  /// Calls and fills then take the arrays of this copy.
  void point_to(std::size_t copy) {
    for (std::size_t which = 0; which < arrays_.size(); ++which) arrays_[which].data = memory_.data(copy, which);
  }
  void fill(std::size_t which);
  void fill_inputs();
  /// Fills what calls write: outputs with NaN, and arrays that are both input and output with the input.
  void fill_outputs();

  context<Exec>& context_;
  const operation_case<Exec>& operation_;
  specification choice_;
  std::vector<array_specification> specifications_;
  case_memory<Exec> memory_;
  /// One description for all copies. With one for each, a call on cold arrays would wait for its description, too.
  std::vector<array_ref> arrays_;
  std::function<void()> call_;
};

}  // namespace prumo::cases
