// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_gemm.hpp"

#include "gemm_activation.hpp"
#include "gemm_completion.hpp"
#include "onednn_product.hpp"
#include "onednn_rows.hpp"
#include "openmp_threads.hpp"
#include <prumo/detail/host/host_work.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace prumo::backend {
namespace {

template <class T>
inline constexpr bool has_onednn_product =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, float>;

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

/// Whether oneDNN can write the finished C, but for relu: it adds a bias of the columns to a single product, but calls
/// no other activation. Its relu makes 0 of NaN. Ours may follow when numbers are rounded, with the same result.
///
/// Its fast kernels refuse a bias for products of a batch. Those in their place (seen in 3.6) take up to a thousand
/// times as long for f16, where they compute one number after the other, and write to wrong addresses if the matrices
/// of C lie between each other.
template <class T>
bool is_whole(const gemm_problem<T>& problem) {
  if (is_long(problem.activation)) return false;
  return !problem.has_bias || (problem.batch == 1 && problem.bias.row_stride == 0 && problem.bias.column_stride == 1);
}

/// What a product takes one thread, roughly.
template <class T>
prumo::detail::host_work work_of(const gemm_problem<T>& problem) {
  const std::int64_t m = problem.m, n = problem.n, k = problem.k;
  const std::int64_t products = m * n * k * problem.batch;
  const std::int64_t elements = (m * k + k * n + m * n) * problem.batch;
  // Multiply-adds of small products on an Emerald Rapids with AMX: 100 x 100 x 100 in bf16 takes 6 us.
  constexpr double of_matrix_units = 0.004;
  const auto multiplied = has_amx_kernels<T>() ? prumo::detail::host_work::repeated(products, of_matrix_units)
                                               : prumo::detail::multiply_add_work<compute_t<T>>(products);
  return multiplied + prumo::detail::host_work::streaming<T>(elements);
}

/// Some rows of some matrices of C.
struct rows_of_matrices {
  std::int64_t matrices, rows;
  bool operator==(const rows_of_matrices&) const = default;
};

/// A product as it is given to oneDNN: as a whole, or in pieces. Pieces whose rows of A are copied are computed by all
/// threads, one after the other. So a copy stays in the caches until it is multiplied, and large matrices take no more
/// memory than small ones. Pieces whose C tells about special numbers are computed by a thread each, which looks at
/// them while they are in its cache.
template <class Exec, class T>
class onednn_run {
 public:
  onednn_run(context<Exec>& ctx, const blas_form<T>& form)
      : ctx_(ctx),
        form_(form),
        problem_(form.problem),
        rows_(form),
        completes_(!is_whole(problem_)),
        threads_(prumo::detail::threads_for(ctx.instance(), work_of(problem_))),
        piece_{problem_.batch, problem_.m} {}

  void operator()() {
    compute();
    if (leaves_relu()) make_relu();
  }

 private:
  /// The least rows of a thread.
  static constexpr std::int64_t rows_of_thread = 64;

  /// Computes C, but for a relu that oneDNN leaves.
  void compute() {
    if constexpr (sizeof(T) == 2) {
      if (has_amx_kernels<T>() && !form_.a.transposed && load_next_rows(rows_)) {
        if (c_tells()) {
          if (!multiply_by_threads()) return;
          copy_rows();
        } else if (may_load_special_numbers(ctx_.instance(), rows_)) {
          copy_rows();
        }
      }
    }
    multiply();
  }

  /// Whether oneDNN writes C without its relu.
  bool leaves_relu() const { return !completes_ && problem_.activation == activation_function::relu; }

  /// C = relu(C)
  void make_relu() {
    gemm_completion<product_result_t<T>> relu = scaling_of(problem_);
    relu.beta = 1;
    relu.has_bias = false;
    enqueue_gemm_completion(ctx_, relu);
  }

  /// Whether B is so small beside the rows that each thread may rearrange it for itself. To rearrange four elements
  /// takes about as long as to look at a row.
  bool is_b_small() const {
    constexpr std::int64_t most_elements = std::int64_t{1} << 16, elements_of_row = 4;
    return problem_.n * problem_.k <= std::min(most_elements, elements_of_row * problem_.batch * problem_.m);
  }

  /// Whether C tells about special numbers. Each thread computes rows of its own, so there must be enough of them.
  /// Where it does not, A is looked at, which takes little time beside a larger B.
  bool c_tells() const {
    if (!writes_c() || problem_.beta != 0 || completes_ || !rows_.have_no_gaps()) return false;
    return threads_ == 1 || (problem_.batch * problem_.m >= 2 * rows_of_thread && is_b_small());
  }

  void copy_rows() {
    constexpr std::int64_t copied_elements = std::int64_t{1} << 21, unit = 64;
    const std::int64_t rows = std::max(unit, copied_elements / loaded_length(problem_.k) / unit * unit);
    copies_rows_ = true;
    piece_.rows = std::min(problem_.m, rows);
    piece_.matrices = std::clamp<std::int64_t>(rows / problem_.m, 1, problem_.batch);
  }

  /// The products of a piece and of the last piece, which may be smaller.
  struct piece_products {
    rows_of_matrices piece;
    onednn_product& whole;
    onednn_product& rest;

    onednn_product& of(const rows_of_matrices& some) const { return some == piece ? whole : rest; }
    std::size_t scratchpad_bytes() const { return std::max(whole.scratchpad_bytes(), rest.scratchpad_bytes()); }
  };
  piece_products products_of_pieces(int threads) {
    auto& kept = ctx_.template attachment<onednn_products>([] { return onednn_products(); });
    const rows_of_matrices last{(problem_.batch - 1) % piece_.matrices + 1, (problem_.m - 1) % piece_.rows + 1};
    onednn_product& whole = kept.find(key_of(piece_, threads));
    return {piece_, whole, last == piece_ ? whole : kept.find(key_of(last, threads))};
  }

  void multiply() {
    const piece_products products = products_of_pieces(threads_);
    const std::size_t copy_bytes =
        copies_rows_ ? static_cast<std::size_t>(piece_.matrices * piece_.rows * loaded_length(problem_.k)) * sizeof(T)
                     : 0;
    const std::size_t scratchpad = aligned(product_bytes()) + aligned(copy_bytes);
    auto* const workspace = static_cast<std::byte*>(ctx_.workspace(scratchpad + products.scratchpad_bytes()));
    auto* const copied = reinterpret_cast<T*>(workspace + aligned(product_bytes()));
    auto* const result = writes_c() ? reinterpret_cast<std::byte*>(problem_.c.data) : workspace;
    const openmp_threads_scope scope(threads_);

    for (std::int64_t matrix = 0; matrix < problem_.batch; matrix += piece_.matrices) {
      const std::int64_t matrices = std::min(piece_.matrices, problem_.batch - matrix);
      for (std::int64_t row = 0; row < problem_.m; row += piece_.rows) {
        const std::int64_t rows = std::min(piece_.rows, problem_.m - row);
        const T* a = problem_.a.data;
        if (copies_rows_) {
          copy_with_zeros_behind(ctx_.instance(), rows_.part(matrix, matrices, row, rows), copied);
          a = copied;
        }
        require(products.of({matrices, rows})
                    .run({a, problem_.b.data + matrix * problem_.b.batch_stride,
                          result + (matrix * batch_stride_of_result() + row * line_of_result()) * result_bytes(),
                          problem_.bias.data, workspace + scratchpad}));
      }
    }
    if (completes_) complete_product(ctx_, problem_, result);
  }

  /// The pieces that a thread computes one after the other.
  struct pieces_of_threads {
    const onednn_run* run;
    piece_products products;
    std::int64_t pieces, row_pieces, shares;
    std::byte* scratchpads;
    std::size_t scratchpad_bytes;  ///< of a share
    std::atomic<dnnl_status_t>* failure;
    std::atomic<bool>* found;

    std::int64_t blocks() const { return shares; }
    void operator()(std::int64_t share) const {
      const gemm_problem<T>& problem = run->problem_;
      const rows_of_matrices& piece = run->piece_;
      for (std::int64_t which = share * pieces / shares; which < (share + 1) * pieces / shares; ++which) {
        const std::int64_t matrix = which / row_pieces * piece.matrices, row = which % row_pieces * piece.rows;
        const std::int64_t matrices = std::min(piece.matrices, problem.batch - matrix);
        const std::int64_t rows = std::min(piece.rows, problem.m - row);
        const matrix_rows<T> c = run->rows_of_c().part(matrix, matrices, row, rows);
        const dnnl_status_t status =
            products.of({matrices, rows})
                .run({run->rows_.part(matrix, matrices, row, rows).data,
                      problem.b.data + matrix * problem.b.batch_stride, const_cast<T*>(c.data), problem.bias.data,
                      scratchpads + static_cast<std::size_t>(share) * scratchpad_bytes},
                     share);
        if (status != dnnl_success) failure->store(status, std::memory_order_relaxed);
        if (are_special(c)) found->store(true, std::memory_order_relaxed);
      }
    }
  };

  /// Computes the product in pieces, each on a thread. Returns whether C has special numbers, so that there may be too
  /// many of them.
  bool multiply_by_threads() {
    constexpr std::int64_t cached_elements = std::int64_t{3} << 18;
    constexpr std::int64_t unit_rows = 16;
    using prumo::detail::divide_up;
    const rows_of_matrices all = piece_;
    const std::int64_t cached_rows =
        std::max(rows_of_thread, is_b_small() ? cached_elements / (problem_.k + problem_.n) : all.rows);
    // Each thread gets as many pieces as the others.
    if (all.matrices == 1) {
      const std::int64_t of_thread = std::max(divide_up(all.rows, threads_), rows_of_thread);
      const std::int64_t rows = divide_up(of_thread, divide_up(of_thread, cached_rows));
      piece_.rows = std::min(all.rows, prumo::detail::round_up(rows, unit_rows));
    } else {
      const std::int64_t of_thread = divide_up(all.matrices, threads_);
      piece_.matrices = divide_up(of_thread, divide_up(of_thread * all.rows, std::max(cached_rows, all.rows)));
    }
    std::atomic<dnnl_status_t> failure = dnnl_success;
    std::atomic<bool> found = false;
    pieces_of_threads kernel{this, products_of_pieces(1), 0, 0, 0, nullptr, 0, &failure, &found};
    kernel.row_pieces = divide_up(all.rows, piece_.rows);
    kernel.pieces = divide_up(all.matrices, piece_.matrices) * kernel.row_pieces;
    kernel.shares = std::min<std::int64_t>(threads_, kernel.pieces);
    kernel.scratchpad_bytes = aligned(kernel.products.scratchpad_bytes());
    kernel.scratchpads =
        static_cast<std::byte*>(ctx_.workspace(static_cast<std::size_t>(kernel.shares) * kernel.scratchpad_bytes));
    kernel.products.whole.prepare_callers(kernel.shares);
    kernel.products.rest.prepare_callers(kernel.shares);
    static const std::string label = "prumo::gemm::onednn";
    const openmp_threads_scope scope(threads_);
    prumo::detail::launch_blocks(ctx_.instance(), label, kernel);
    require(failure);
    piece_ = all;
    return found;
  }

  static void require(dnnl_status_t status) {
    if (status != dnnl_success) throw dnnl::error(status, "could not execute a product");
  }

  matrix_rows<T> rows_of_c() const {
    return {problem_.c.data,        problem_.batch, problem_.m, problem_.n, form_.leading_dimension_of_c,
            problem_.c.batch_stride};
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
    return prumo::detail::round_up(bytes, alignment);
  }

  onednn_product_key key_of(const rows_of_matrices& some, int threads) const {
    onednn_product_key key{element_type<T>, plan_shape_of(form_), problem_.alpha,
                           problem_.beta,   writes_c(),           problem_.has_bias && !completes_,
                           threads};
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
  int threads_;     ///< that pay
  bool copies_rows_ = false;
  rows_of_matrices piece_;
};

}  // namespace

template <class Exec, class T>
std::string prepare_onednn(const Exec&, const gemm_problem<T>& problem, blas_form<T>& form) {
  if constexpr (!has_onednn_product<T>) {
    return "oneDNN has no product for " + std::string(scalar_traits<T>::name);
  } else {
    if (problem.mode != gemm_mode::strict) {
      return "oneDNN computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
    }
    static const std::string reason = why_no_instructions<T>();
    return reason.empty() ? to_blas_form(problem, form) : reason;
  }
}

template <class Exec, class T>
void run_onednn(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  if constexpr (has_onednn_product<T>) {
    try {
      onednn_run<Exec, T> run(ctx, form);
      run();
    } catch (const dnnl::error& failure) {
      throw unsupported_error(std::string("prumo::gemm: oneDNN does not compute this product: ") + failure.what());
    }
  }
}

#define PRUMO_INSTANTIATE_ONEDNN_GEMM(Space, T)                                                       \
  template std::string prepare_onednn<Space, T>(const Space&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_onednn<Space, T>(context<Space>&, const gemm_problem<T>&, const blas_form<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, f8_e4m3)

}  // namespace prumo::backend
