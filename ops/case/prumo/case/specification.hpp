// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a case is, in plain types: an operation's axes and parameters, and one choice of them.

#include <prumo/counted.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::cases {

/// Values by name, in the order in which they were declared.
template <class Value>
class named_values {
 public:
  named_values() = default;
  named_values(std::initializer_list<std::pair<std::string, Value>> entries) : entries_(entries) {}

  /// Throws argument_error where there is no such name.
  const Value& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, Value value);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  friend bool operator==(const named_values&, const named_values&) = default;

 private:
  const Value* find(std::string_view name) const {
    for (const auto& [key, value] : entries_) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  std::vector<std::pair<std::string, Value>> entries_;
};

/// Extents by axis: `rows`, `columns`; `m`, `n`, `k`; `n`.
using shape = named_values<std::int64_t>;
/// Numeric parameters: `alpha`, `trans_a` (0 or 1).
using parameters = named_values<double>;

struct axis {
  std::string name;
  std::string description;
  std::int64_t fallback = 0;  ///< 0: follows from the size of the arrays
  /// The extents that tests try; empty: the usual ones (<prumo/case/test_choices.hpp>).
  std::vector<std::int64_t> test_extents = {};
};

/// How the elements of a case's arrays lie: row-major, column-major, or row-major with gaps between the elements and
/// between the rows.
enum class array_layout : std::uint8_t { right, left, strided };
std::string_view layout_name(array_layout layout);

struct parameter {
  std::string name;
  std::string description;
  double fallback = 0;
  /// Where some types or layouts have another one.
  double (*fallback_by_choice)(dtype type, array_layout layout) = nullptr;
  /// The values that tests try beside the default; empty: the usual ones (<prumo/case/test_choices.hpp>).
  std::vector<double> test_values = {};

  double fallback_of(dtype type, array_layout layout) const {
    return fallback_by_choice != nullptr ? fallback_by_choice(type, layout) : fallback;
  }
};

/// What an operation's case says of itself.
struct case_info {
  std::string op;
  std::string description;
  std::vector<axis> axes;
  std::vector<parameter> values;
  std::vector<std::string> implementations = {"kernel"};  ///< the first one is taken where none is named
  std::vector<std::string> compute_modes = {"strict"};
  std::vector<dtype> types = {dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
  std::vector<array_layout> layouts = {array_layout::right, array_layout::left, array_layout::strided};
  /// The shapes that tests try; empty: a walk through the extents of the axes.
  std::vector<shape> test_shapes = {};
  bool is_probe = false;          ///< measures a ceiling of the machine, is no operation of the library
  bool in_default_sweep = false;  ///< part of `prumo bench` without filters
};

enum class array_role : std::uint8_t { input, output, input_output };

/// Which numbers an input holds.
enum class input_domain : std::uint8_t {
  symmetric,  ///< the generator's, in (-1, 1)
  positive,   ///< their absolute values, for functions that are not defined below zero
};

/// One array of a case. Inputs are filled with stream number i of the generator, i the array's place in the list.
struct array_specification {
  std::string name;
  array_role role = array_role::input;
  std::vector<std::int64_t> extents;  ///< of rank 0 to max_rank
  std::optional<dtype> type = {};     ///< where it is another than the case's
  input_domain domain = input_domain::symmetric;
  /// Set: the elements are whole numbers in [0, indices_below): indices of i64, or of `type` (i32), or pixels (u8).
  std::optional<std::int64_t> indices_below = {};
  /// Set: a call reads at most so many of the rows, because indices choose them.
  std::optional<std::int64_t> rows_read = {};
  /// The result of a matrix product: of product_result_type() of the case's type.
  bool is_product_result = false;
};

/// The type of the elements of an array in a case of that type.
dtype element_type(const array_specification& array, dtype type);

/// Bytes of one element of an array in a case of that type.
std::size_t element_bytes(const array_specification& array, dtype type);

/// The strides of an array of any rank, in elements. `strided` leaves gaps: every second element of rows that are three
/// elements longer than they need to be, and three elements more after each further dimension.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& extents, array_layout layout);

/// Algorithmic cost of one call: each input read once, each output written once.
struct cost {
  double bytes = 0;
  double flops = 0;
  double elements = 0;
  /// The unit whose peak applies: `tensor` for what units for matrix products can compute, where a device has one of
  /// the type and mode and the implementation takes it (operation_case::unit()).
  std::string_view unit = "vector";
};

/// One choice of everything, complete.
struct specification {
  std::string op;
  dtype type = dtype::f32;
  cases::shape shape;
  cases::parameters values;
  array_layout layout = array_layout::right;
  std::string implementation;
  std::string compute_mode = "strict";
  std::uint64_t seed = 1;
};

/// One line that names a choice in messages: `add f32 right n=1000 alpha=2 kernel`.
std::string label_of(const specification& choice);

/// What a comparison with the reference found. `error` is the largest |result - reference| over its bound.
struct check_result {
  bool verified = false;
  double error = 0;        ///< NaN where the result has a NaN that the reference lacks
  double error_bound = 1;  ///< verified means error <= error_bound
  std::uint64_t checked = 0;
  std::string_view method = "all";
  std::string message;
};

/// The shape of a case with the one axis `n`, which follows from the size of an array. Throws argument_error for a
/// negative extent and for axes that the operation does not have.
shape resolve_vector(std::string_view op, dtype type, std::int64_t bytes_per_array, const shape& given);

/// The shape of a case with the axes `rows` and `columns`. Columns take the fallback of `info`, and rows follow from
/// the size of an array; where only rows are given, columns follow from it. What follows is at least 1.
shape resolve_rows(const case_info& info, dtype type, std::int64_t bytes_per_array, const shape& given);

/// The shape of a case with the axes `rows` and `columns` that are alike: where neither is given, the square that fits
/// into an array; else what is left of it for the other one.
shape resolve_matrix(std::string_view op, dtype type, std::int64_t bytes_per_array, const shape& given);

/// The shape of an array that has the axes of `info`, whose first one follows from the bytes of the array; the others
/// take their fallbacks.
/// \param of_other_arrays axes of `info` that the array does not have
shape resolve_axes(const case_info& info, dtype type, std::int64_t bytes_per_array, const shape& given,
                   std::initializer_list<std::string_view> of_other_arrays = {});

/// Throws unsupported_error: only matrix products take the type, or it is one of indices or pixels.
[[noreturn]] void refuse_type(dtype type);

/// Calls `function(T{})` with the scalar type that `type` names, of those that every operation takes.
template <class Function>
decltype(auto) with_type(dtype type, Function&& function) {
  switch (type) {
    case dtype::f64: return function(double{});
    case dtype::f16: return function(f16{});
    case dtype::bf16: return function(bf16{});
    case dtype::f32: return function(float{});
    default: break;
  }
  refuse_type(type);
}

/// As with_type(), with every type that an array may hold.
template <class Function>
decltype(auto) with_stored_type(dtype type, Function&& function) {
  if (type == dtype::f8_e4m3) return function(f8_e4m3{});
  return with_type(type, std::forward<Function>(function));
}

/// Calls `function` with a value of the type of an array's elements in a case of type `type`.
template <class Function>
decltype(auto) with_element_type(const array_specification& array, dtype type, Function&& function) {
  switch (element_type(array, type)) {
    case dtype::i64: return function(std::int64_t{});
    case dtype::i32: return function(std::int32_t{});
    case dtype::u8: return function(std::uint8_t{});
    default: return with_stored_type(element_type(array, type), std::forward<Function>(function));
  }
}

}  // namespace prumo::cases
