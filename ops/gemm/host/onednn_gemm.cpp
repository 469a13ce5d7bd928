// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_gemm.hpp"

#include "gemm_completion.hpp"
#include "gemm_plan.hpp"
#include "openmp_threads.hpp"
#include <prumo/error.hpp>

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <type_traits>

namespace prumo::backend {
namespace {

using dnnl::memory;

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
constexpr memory::data_type element_type = std::is_same_v<T, float> ? memory::data_type::f32
                                           : std::is_same_v<T, f16> ? memory::data_type::f16
                                                                    : memory::data_type::bf16;

/// Why oneDNN would read what does not belong to the problem. Instructions for 16-bit numbers take pairs of them along
/// the sums. With those of AMX, oneDNN 3.12 reads the number behind a row of odd length. It multiplies it by zero, but
/// between rows with gaps that number may be a NaN.
template <class T>
std::string why_reads_gaps(const blas_form<T>& form) {
  const std::int64_t k = form.problem.k;
  const auto ends_in_gap = [k](const blas_operand& operand, bool lies_along_sums) {
    return lies_along_sums && operand.leading_dimension > k;
  };
  if (sizeof(T) != 2 || k % 2 == 0) return {};
  if (!ends_in_gap(form.a, !form.a.transposed) && !ends_in_gap(form.b, form.b.transposed)) return {};
  return "oneDNN would read what lies behind rows of an odd number of elements";
}

/// Whether oneDNN can write the finished C: it adds a bias of the columns, but calls no activation.
template <class T>
bool is_whole(const gemm_problem<T>& problem) {
  if (problem.activation != activation_function::none) return false;
  return !problem.has_bias || (problem.bias.row_stride == 0 && problem.bias.column_stride == 1);
}

/// Everything that a primitive is made for.
struct product_key {
  memory::data_type element;
  gemm_plan_shape shape;
  float alpha;
  float beta;
  bool adds_to_c;  ///< beta C, and writes C
  bool adds_bias;
  int threads;

  bool operator==(const product_key&) const = default;
};

/// The matrices `which` of a key, all of its batch: 0 is A, 1 is B, 2 is C.
memory::desc matrices_of(const product_key& key, int which) {
  const gemm_plan_shape& shape = key.shape;
  const auto [m, n, k, batch] = shape.extents;
  const memory::dim rows = which == 1 ? k : m;
  const memory::dim columns = which == 0 ? k : n;
  const bool is_transposed = which < 2 && shape.transposed[which];
  const memory::dim leading = shape.leading[which];
  const memory::data_type type = which == 2 && !key.adds_to_c ? memory::data_type::f32 : key.element;
  memory::dims extents{rows, columns};
  memory::dims strides = is_transposed ? memory::dims{1, leading} : memory::dims{leading, 1};
  if (batch > 1) {
    // A matrix that all products share has an extent of 1.
    const memory::dim step = shape.batch_strides[which];
    extents.insert(extents.begin(), step == 0 ? 1 : batch);
    strides.insert(strides.begin(), step == 0 ? rows * columns : step);
  }
  return {extents, type, strides};
}

memory::desc bias_of(const product_key& key) {
  const memory::dim n = key.shape.extents[1];
  if (key.shape.extents[3] == 1) return {{1, n}, key.element, memory::dims{n, 1}};
  return {{1, 1, n}, key.element, memory::dims{n, n, 1}};
}

/// A primitive of oneDNN, and what it reads and writes.
class product {
 public:
  product_key key;

  product(const product_key& made_for, const dnnl::engine& engine)
      : key(made_for),
        a_(matrices_of(key, 0), engine, nullptr),
        b_(matrices_of(key, 1), engine, nullptr),
        c_(matrices_of(key, 2), engine, nullptr),
        bias_(bias_of(key), engine, nullptr) {
    dnnl::post_ops after;
    if (key.alpha != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, key.alpha, 0);
    if (key.adds_to_c && key.beta != 0) after.append_sum(key.beta);
    if (key.adds_bias) {
      bias_argument_ = DNNL_ARG_ATTR_MULTIPLE_POST_OP(after.len()) | DNNL_ARG_SRC_1;
      after.append_binary(dnnl::algorithm::binary_add, bias_.get_desc());
    }
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description(engine, a_.get_desc(), b_.get_desc(), c_.get_desc(), attributes);
    primitive_ = dnnl::matmul(description);
    scratchpad_ = memory(description.scratchpad_desc(), engine, nullptr);
  }

  std::size_t scratchpad_bytes() const { return scratchpad_.get_desc().get_size(); }

  void run(dnnl::stream& stream, const void* a, const void* b, void* c, const void* bias, void* scratchpad) {
    a_.set_data_handle(const_cast<void*>(a));
    b_.set_data_handle(const_cast<void*>(b));
    c_.set_data_handle(c);
    bias_.set_data_handle(const_cast<void*>(bias));
    scratchpad_.set_data_handle(scratchpad);
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}, {DNNL_ARG_SCRATCHPAD, scratchpad_}};
    if (bias_argument_ != 0) arguments.emplace(bias_argument_, bias_);
    primitive_.execute(stream, arguments);
  }

 private:
  memory a_, b_, c_, bias_, scratchpad_;
  dnnl::matmul primitive_;
  int bias_argument_ = 0;
};

/// What a context keeps: the primitives of its latest products. To make one anew takes longer than a small product.
struct onednn_products {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  recent_plans<product> plans;
};

}  // namespace

template <class Exec, class T>
std::string prepare_onednn(const Exec&, const gemm_problem<T>& problem, blas_form<T>& form) {
  if (problem.mode != gemm_mode::strict) {
    return "oneDNN computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
  }
  std::string reason = why_no_instructions<T>();
  if (reason.empty()) reason = to_blas_form(problem, form);
  return reason.empty() ? why_reads_gaps(form) : reason;
}

template <class Exec, class T>
void run_onednn(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  const gemm_problem<T>& problem = form.problem;
  const int threads = concurrency_of(ctx.instance());
  const bool completes = !is_whole(problem);
  product_key key{element_type<T>, plan_shape_of(form),         problem.alpha,
                  problem.beta,    sizeof(T) > 2 || !completes, problem.has_bias && !completes,
                  threads};
  const auto entries = static_cast<std::size_t>(problem.m * problem.n * problem.batch);
  if (!key.adds_to_c) {
    key.shape.leading[2] = problem.n;
    key.shape.batch_strides[2] = problem.m * problem.n;
  }
  constexpr std::size_t alignment = 256;
  const std::size_t product_bytes =
      key.adds_to_c ? 0 : (entries * sizeof(float) + alignment - 1) / alignment * alignment;
  void* result = problem.c.data;
  try {
    const openmp_threads_scope scope(threads);
    auto& kept = ctx.template attachment<onednn_products>([] { return onednn_products(); });
    product& found = kept.plans.find(key, kept.engine);
    auto* const workspace = static_cast<std::byte*>(ctx.workspace(product_bytes + found.scratchpad_bytes()));
    if (!key.adds_to_c) result = workspace;
    found.run(kept.stream, problem.a.data, problem.b.data, result, problem.bias.data, workspace + product_bytes);
  } catch (const dnnl::error& failure) {
    throw unsupported_error(std::string("prumo::gemm: oneDNN does not compute this product: ") + failure.what());
  }
  if (completes) complete_product(ctx, problem, result);
}

#define PRUMO_INSTANTIATE_ONEDNN_GEMM(Space, T)                                                       \
  template std::string prepare_onednn<Space, T>(const Space&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_onednn<Space, T>(context<Space>&, const gemm_problem<T>&, const blas_form<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_ONEDNN_GEMM, float)

}  // namespace prumo::backend
