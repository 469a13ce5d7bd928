// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The one object an operation that serves tests, measurement, verification and counting. CONTRIBUTING.md shows how to
/// write one.

#include <prumo/array_ref.hpp>
#include <prumo/case/specification.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/error.hpp>

#include <functional>
#include <span>
#include <vector>

namespace prumo::cases {

/// The numbers that a case's inputs hold, made again wherever they are wanted: the reference needs no copy of the
/// data, and checks the filling too.
class input_values {
 public:
  explicit input_values(const specification& choice) : type_(choice.type), seed_(choice.seed) {}

  /// Of arrays of another type than the case's.
  input_values of_type(dtype type) const {
    input_values other = *this;
    other.type_ = type;
    return other;
  }

  /// Element `index`, in row-major order of the extents, of array number `which`: the generator's number, whatever the
  /// array's domain.
  double at(std::size_t which, std::int64_t index) const;

  /// Elements begin ... begin + out.size() - 1; several times faster than a call of at() for each.
  void read(std::size_t which, std::int64_t begin, std::span<double> out) const;

  /// Element `index` of array number `which` of indices in [0, below).
  std::int64_t index_at(std::size_t which, std::int64_t index, std::int64_t below) const;

 private:
  dtype type_;
  std::uint64_t seed_;
};

/// One entry of an output as it should be.
struct reference_entry {
  std::size_t which = 0;   ///< the array's place in operation_case::arrays()
  std::int64_t index = 0;  ///< in row-major order of the extents
  long double value = 0;   ///< exact, or computed in a wider type
  long double bound = 0;   ///< the largest |result - value| that the operation's analysis allows
};

/// The arrays of one call, as operation_case::arrays() lists them.
using case_arrays = std::span<const array_ref>;

/// An operation as tests and measurements see it, for one execution space. Stateless: one object serves all cases.
template <class Exec>
class operation_case {
 public:
  virtual ~operation_case() = default;

  virtual case_info info() const = 0;

  /// Completes a shape: axes that `given` lacks take their fallback, or follow from `bytes_per_array` bytes an array.
  /// `bytes_per_array` is 0 where all axes are given. Throws argument_error that names the axis.
  virtual shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const = 0;

  /// The arrays of one call. For an invalid choice, too, those with which the operation can be called and refuses.
  virtual std::vector<array_specification> arrays(const shape& extents, const parameters& values) const = 0;

  virtual cost model(dtype type, const shape& extents, const parameters& values) const = 0;

  /// Enqueues one call on the context's instance; asynchronous.
  virtual void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const = 0;

  /// The same call as a function, which may be called again and again as long as the arguments live. What a program
  /// would know before, such as parameters by their names, is found out only once. Between calls the `data` of `arrays`
  /// may change, and nothing else of them.
  virtual std::function<void()> repeatable_call(context<Exec>& ctx, const specification& choice,
                                                case_arrays arrays) const {
    return [this, &ctx, &choice, arrays] { run(ctx, choice, arrays); };
  }

  /// In how many independent parts the reference can be computed: rows, say. At least 1 where there is output.
  virtual std::int64_t reference_parts(const shape& extents, const parameters& values) const = 0;

  /// Appends the entries of one part.
  virtual void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                         std::vector<reference_entry>& out) const = 0;

  /// Whether what the outputs hold depends on the implementation, as with partial sums of which each has its own
  /// number. References of such a case cannot be kept for another implementation.
  virtual bool has_reference_for_each_implementation() const { return false; }

  /// Rough operations that one part of the reference costs; decides how many parts a large case can be checked by.
  virtual double reference_part_cost(const shape& extents, const parameters& values) const = 0;

  /// Why the operation throws an error for the choice, or an empty string: a window that is larger than its image, for
  /// example. Workers refuse such a choice with this reason; tests call the operation and see that it throws.
  virtual std::string why_invalid(const specification&) const { return {}; }

  /// What the implementation that the choice ends at is called in results: the path that a dispatching operation took.
  /// Throws unsupported_error if this space cannot run the choice: for a type that no implementation has, for example.
  virtual std::string implementation_name(const specification& choice) const { return choice.implementation; }

  /// Why this space cannot run the choice, or an empty string. Workers and tests as for why_invalid().
  virtual std::string why_unsupported(const specification& choice) const {
    try {
      (void)implementation_name(choice);
      return {};
    } catch (const unsupported_error& refusal) {
      return refusal.what();
    }
  }

  /// The unit that the implementation which the choice ends at computes with, among those that the device may have:
  /// `tensor` where it takes a unit for matrix products if there is one of the type and mode, else `vector`.
  virtual std::string_view unit(const specification&) const { return "vector"; }

  /// Whether the flops of this operation can be counted.
  virtual bool countable() const { return true; }

  /// The implementation whose kernel count_kernel() runs, by its name in results.
  virtual std::string counted_implementation() const { return info().implementations.front(); }

  /// Runs the operation's own kernel in its canonical host form with counting scalars, on the case's data.
  virtual flop_counts count_kernel(const specification& choice) const = 0;

  /// The same by a formula in the extents. Tests and workers prove the two equal (<prumo/case/count_proof.hpp>).
  virtual flop_counts count_closed_form(const specification& choice) const = 0;
};

}  // namespace prumo::cases
