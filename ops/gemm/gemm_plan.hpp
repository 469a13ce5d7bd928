// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A product for vendors' libraries, and the plans of libraries that propose algorithms: cuBLASLt and hipBLASLt.
/// DataType and ComputeType are a library's own names of types.

#include "blas_form.hpp"
#include "gemm_completion.hpp"

#include <cstddef>
#include <cstdint>
#include <list>

namespace prumo::backend {

/// A library's names for a product of some type in some mode.
template <class DataType, class ComputeType>
struct gemm_library_types {
  DataType element;
  DataType scale;
  ComputeType compute;
  DataType result = element;
  bool accumulates_fast = false;  ///< gemm_mode::fast_accumulation

  bool operator==(const gemm_library_types&) const = default;
};

/// Where a library writes its result, and what it adds to it.
template <class DataType>
struct gemm_library_result {
  void* data;
  DataType type;
  std::int64_t leading_dimension;
  std::int64_t batch_stride;
  const void* beta;  ///< on the host, of the scale type
};

/// C itself, of type `own`, or `f32` in the context's workspace if C is then completed from there.
template <class Exec, class T, class DataType>
gemm_library_result<DataType> library_result_of(context<Exec>& ctx, const blas_form<T>& form, DataType own,
                                                DataType f32) {
  const gemm_problem<T>& problem = form.problem;
  if (!needs_f32_result(problem)) {
    return {problem.c.data, own, form.leading_dimension_of_c, problem.c.batch_stride, &problem.beta};
  }
  static constexpr float nothing = 0;
  const auto entries = static_cast<std::size_t>(problem.m * problem.n * problem.batch);
  return {ctx.workspace(entries * sizeof(float)), f32, problem.n, problem.m * problem.n, &nothing};
}

/// Extents and strides of a product.
struct gemm_plan_shape {
  std::int64_t extents[4];  ///< m, n, k, batch
  std::int64_t leading[3];  ///< of A, B, C; so are the others
  std::int64_t batch_strides[3];
  bool transposed[2];

  bool operator==(const gemm_plan_shape&) const = default;
};

template <class T>
gemm_plan_shape plan_shape_of(const blas_form<T>& form) {
  const gemm_problem<T>& p = form.problem;
  return {{p.m, p.n, p.k, p.batch},
          {form.a.leading_dimension, form.b.leading_dimension, form.leading_dimension_of_c},
          {p.a.batch_stride, p.b.batch_stride, p.c.batch_stride},
          {form.a.transposed, form.b.transposed}};
}

/// What a library does with the sums before it writes them.
struct gemm_plan_epilogue {
  int bias_alignment = 0;  ///< of the bias along the lines of C in memory; 0: no bias

  bool operator==(const gemm_plan_epilogue&) const = default;
};

/// Everything that affects a library's choice of an algorithm.
template <class DataType, class ComputeType>
struct gemm_plan_key {
  gemm_library_types<DataType, ComputeType> types;
  DataType result_type;
  gemm_plan_shape shape;
  bool reads_c;
  int alignments[3];
  int most_algorithms;  ///< the number that the library is asked for
  gemm_plan_epilogue epilogue;

  bool operator==(const gemm_plan_key&) const = default;
};

/// The largest power of two that divides an address, but at most 256, which is the alignment of allocations on devices.
inline int alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<int>(bits & (~bits + 1));
}

/// Whether libraries that propose algorithms may compute the epilogue of a problem with a row-major C together with the
/// product. Their bias has a value for each row of a column-major C, without gaps; these rows are our columns. For a
/// 16-bit C they compute nothing that follows: they round the product before they add a bias to it (on an H200,
/// cuBLASLt of CUDA 13.0 had an error of 17 times the bound of one rounding). They compute no activation: the relu of
/// some algorithms of cuBLASLt makes 0 of a NaN, which would hide it.
template <class T>
constexpr bool can_fuse_epilogue(const gemm_problem<T>& problem) {
  if (!problem.has_epilogue()) return false;
  if constexpr (sizeof(product_result_t<T>) == 2) return false;
  if (problem.has_bias && (problem.bias.row_stride != 0 || problem.bias.column_stride != 1)) return false;
  return problem.activation == activation_function::none;
}

/// The key of a form whose epilogue is `fused`.
template <class T, class DataType, class ComputeType>
gemm_plan_key<DataType, ComputeType> plan_key_of(const blas_form<T>& form,
                                                 const gemm_library_types<DataType, ComputeType>& types,
                                                 const gemm_library_result<DataType>& result, int most_algorithms,
                                                 const gemm_plan_epilogue& fused) {
  const gemm_problem<T>& problem = form.problem;
  gemm_plan_shape shape = plan_shape_of(form);
  shape.leading[2] = result.leading_dimension;
  shape.batch_strides[2] = result.batch_stride;
  return {types,
          result.type,
          shape,
          result.data == problem.c.data && problem.beta != 0,
          {alignment_of(problem.a.data), alignment_of(problem.b.data), alignment_of(result.data)},
          most_algorithms,
          fused};
}

/// Addresses and factors of one product.
struct gemm_plan_operands {
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  void* c;
  const void* bias = nullptr;
};

/// The plans of the products that a context has computed, the latest first. They are kept because asking a library for
/// algorithms takes tens of microseconds, which is more than a small product. A Plan has a `key`, and is made from it
/// and the arguments of `find`.
template <class Plan>
class recent_plans {
 public:
  static constexpr std::size_t most_plans = 64;

  /// Makes the plan if there is none yet.
  template <class Key, class... More>
  Plan& find(const Key& key, const More&... more) {
    for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
      if (plan->key != key) continue;
      plans_.splice(plans_.begin(), plans_, plan);
      return plans_.front();
    }
    if (plans_.size() == most_plans) plans_.pop_back();
    plans_.emplace_front(key, more...);
    return plans_.front();
  }

 private:
  std::list<Plan> plans_;
};

}  // namespace prumo::backend
