// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_gemm.hpp"

#include "gemm_completion.hpp"
#include "onednn_product.hpp"
#include "onednn_rows.hpp"
#include "openmp_threads.hpp"
#include <prumo/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {
namespace {

/// Why this processor is not worth asking oneDNN for products of T. Without such instructions, oneDNN has at best what
/// the portable kernel does, too.
template <class T>
std::string why_no_instructions() {
#if DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP && DNNL_CPU_RUNTIME != DNNL_RUNTIME_SEQ
  return "this oneDNN does not run on the threads of OpenMP";
#elif !defined(__x86_64__)
  return "oneDNN is used on x86-64 only";
#else
  constexpr bool is_f16 = std::is_same_v<T, f16>, is_f32 = std::is_same_v<T, float>;
  const auto wanted = static_cast<unsigned>(is_f32   ? dnnl::cpu_isa::avx2
                                            : is_f16 ? dnnl::cpu_isa::avx512_core_fp16
                                                     : dnnl::cpu_isa::avx512_core_bf16);
  const auto there = static_cast<unsigned>(dnnl::get_effective_cpu_isa());  // a bit for each extension
  if ((there & wanted) == wanted) return {};
  if constexpr (is_f32) return "oneDNN multiplies f32 faster with AVX2 only, which this processor does not have";
  return is_f16 ? "oneDNN multiplies f16 faster with AVX512-FP16 only, which this processor does not have"
                : "oneDNN multiplies bf16 faster with AVX512-BF16 only, which this processor does not have";
#endif
}

template <class T>
constexpr auto element_type = std::is_same_v<T, float> ? dnnl::memory::data_type::f32
                              : std::is_same_v<T, f16> ? dnnl::memory::data_type::f16
                                                       : dnnl::memory::data_type::bf16;

/// Whether oneDNN has kernels for AMX that multiply T. See onednn_rows.hpp for what is special about them.
template <class T>
bool has_amx_kernels() {
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 2) {
    constexpr auto wanted = static_cast<unsigned>(std::is_same_v<T, f16> ? dnnl::cpu_isa::avx512_core_amx_fp16
                                                                         : dnnl::cpu_isa::avx512_core_amx);
    static const bool are_there = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
    return are_there;
  }
#endif
  return false;
}

/// Whether oneDNN can write the finished C: it adds a bias of the columns, but calls no activation.
template <class T>
bool is_whole(const gemm_problem<T>& problem) {
  if (problem.activation != activation_function::none) return false;
  return !problem.has_bias || (problem.bias.row_stride == 0 && problem.bias.column_stride == 1);
}

/// A product as it is given to oneDNN: as a whole, or in pieces whose rows of A are copied. So a copy stays in the
/// caches until it is multiplied, and large matrices take no more memory than small ones.
template <class Exec, class T>
class onednn_run {
 public:
  onednn_run(context<Exec>& ctx, const blas_form<T>& form)
      : ctx_(ctx), form_(form), problem_(form.problem), rows_(form), completes_(!is_whole(problem_)) {
    piece_ = {problem_.batch, problem_.m};
    if constexpr (sizeof(T) == 2) {
      if (!has_amx_kernels<T>() || form.a.transposed) return;
      looks_at_c_ = writes_c() && problem_.beta == 0 && !completes_ && tells_special_numbers(rows_, rows_of_c());
      if (!looks_at_c_ && may_load_special_numbers(ctx.instance(), rows_)) copy_rows();
    }
  }

  void operator()() {
    multiply();
    if constexpr (sizeof(T) == 2) {
      if (!looks_at_c_ || !have_special_numbers(ctx_.instance(), rows_of_c())) return;
      copy_rows();
      multiply();
    }
  }

 private:
  /// Some rows of some matrices of C.
  struct piece {
    std::int64_t matrices, rows;
    bool operator==(const piece&) const = default;
  };

  void copy_rows() {
    constexpr std::int64_t copied_elements = std::int64_t{1} << 21, unit = 64;
    const std::int64_t rows = std::max(unit, copied_elements / loaded_length(problem_.k) / unit * unit);
    copies_rows_ = true;
    piece_.rows = std::min(problem_.m, rows);
    piece_.matrices = std::clamp<std::int64_t>(rows / problem_.m, 1, problem_.batch);
  }

  matrix_rows<T> rows_of_c() const {
    return {problem_.c.data,        problem_.batch, problem_.m, problem_.n, form_.leading_dimension_of_c,
            problem_.c.batch_stride};
  }

  void multiply() {
    auto& kept = ctx_.template attachment<onednn_products>([] { return onednn_products(); });
    onednn_product& whole = kept.plans.find(key_of(piece_), kept.engine);
    // The last piece of rows or matrices, which may be smaller.
    const piece last{(problem_.batch - 1) % piece_.matrices + 1, (problem_.m - 1) % piece_.rows + 1};
    onednn_product& rest = last == piece_ ? whole : kept.plans.find(key_of(last), kept.engine);

    const std::size_t copy_bytes =
        copies_rows_ ? static_cast<std::size_t>(piece_.matrices * piece_.rows * loaded_length(problem_.k)) * sizeof(T)
                     : 0;
    const std::size_t scratchpad = aligned(product_bytes()) + aligned(copy_bytes);
    auto* const workspace = static_cast<std::byte*>(
        ctx_.workspace(scratchpad + std::max(whole.scratchpad_bytes(), rest.scratchpad_bytes())));
    auto* const copied = reinterpret_cast<T*>(workspace + aligned(product_bytes()));
    auto* const result = writes_c() ? reinterpret_cast<std::byte*>(problem_.c.data) : workspace;

    for (std::int64_t matrix = 0; matrix < problem_.batch; matrix += piece_.matrices) {
      const std::int64_t matrices = std::min(piece_.matrices, problem_.batch - matrix);
      for (std::int64_t row = 0; row < problem_.m; row += piece_.rows) {
        const std::int64_t rows = std::min(piece_.rows, problem_.m - row);
        const T* a = problem_.a.data;
        if (copies_rows_) {
          copy_with_zeros_behind(ctx_.instance(), rows_.part(matrix, matrices, row, rows), copied);
          a = copied;
        }
        onednn_product& own = matrices == piece_.matrices && rows == piece_.rows ? whole : rest;
        own.run(kept.stream, a, problem_.b.data + matrix * problem_.b.batch_stride,
                result + (matrix * batch_stride_of_result() + row * line_of_result()) * result_bytes(),
                problem_.bias.data, workspace + scratchpad);
      }
    }
    if (completes_) complete_product(ctx_, problem_, result);
  }

  bool writes_c() const { return sizeof(T) > 2 || !completes_; }
  std::int64_t line_of_result() const { return writes_c() ? form_.leading_dimension_of_c : problem_.n; }
  std::int64_t batch_stride_of_result() const { return writes_c() ? problem_.c.batch_stride : problem_.m * problem_.n; }
  std::int64_t result_bytes() const { return static_cast<std::int64_t>(writes_c() ? sizeof(T) : sizeof(float)); }
  std::size_t product_bytes() const {
    return writes_c() ? 0 : static_cast<std::size_t>(problem_.m * problem_.n * problem_.batch) * sizeof(float);
  }
  static std::size_t aligned(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    return (bytes + alignment - 1) / alignment * alignment;
  }

  onednn_product_key key_of(const piece& some) const {
    onednn_product_key key{element_type<T>,
                           plan_shape_of(form_),
                           problem_.alpha,
                           problem_.beta,
                           writes_c(),
                           problem_.has_bias && !completes_,
                           concurrency_of(ctx_.instance())};
    key.shape.extents[0] = some.rows;
    key.shape.extents[3] = some.matrices;
    key.shape.leading[2] = line_of_result();
    key.shape.batch_strides[2] = batch_stride_of_result();
    if (copies_rows_) {
      key.shape.leading[0] = loaded_length(problem_.k);
      if (problem_.a.batch_stride != 0) key.shape.batch_strides[0] = some.rows * loaded_length(problem_.k);
    }
    return key;
  }

  context<Exec>& ctx_;
  const blas_form<T>& form_;
  const gemm_problem<T>& problem_;
  matrix_rows<T> rows_;
  bool completes_;  ///< a pass over C is left
  bool copies_rows_ = false;
  bool looks_at_c_ = false;  ///< afterwards, for special numbers
  piece piece_{};
};

}  // namespace

template <class Exec, class T>
std::string prepare_onednn(const Exec&, const gemm_problem<T>& problem, blas_form<T>& form) {
  if (problem.mode != gemm_mode::strict) {
    return "oneDNN computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
  }
  static const std::string reason = why_no_instructions<T>();
  return reason.empty() ? to_blas_form(problem, form) : reason;
}

template <class Exec, class T>
void run_onednn(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  const openmp_threads_scope scope(concurrency_of(ctx.instance()));
  try {
    onednn_run<Exec, T> run(ctx, form);
    run();
  } catch (const dnnl::error& failure) {
    throw unsupported_error(std::string("prumo::gemm: oneDNN does not compute this product: ") + failure.what());
  }
}

#define PRUMO_INSTANTIATE_ONEDNN_GEMM(Space, T)                                                       \
  template std::string prepare_onednn<Space, T>(const Space&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_onednn<Space, T>(context<Space>&, const gemm_problem<T>&, const blas_form<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, float)

}  // namespace prumo::backend
