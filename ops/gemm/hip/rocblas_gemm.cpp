// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocblas_gemm.hpp"

#include "gemm_plan.hpp"
#include "rocblas_handle.hpp"

#include <limits>
#include <type_traits>

namespace prumo::backend::hip {
namespace {

// Products with 64-bit integers came with rocBLAS 4.3 (ROCm 6.3).
#if ROCBLAS_VERSION_MAJOR > 4 || (ROCBLAS_VERSION_MAJOR == 4 && ROCBLAS_VERSION_MINOR >= 3)
using library_integer = std::int64_t;
constexpr auto multiply = rocblas_gemm_ex_64;
constexpr auto multiply_batch = rocblas_gemm_strided_batched_ex_64;
#else
// A call's own parentheses keep rocBLAS' macros of the same names away.
using library_integer = rocblas_int;
constexpr auto multiply = &(rocblas_gemm_ex);
constexpr auto multiply_batch = &(rocblas_gemm_strided_batched_ex);
#endif

library_integer narrowed(std::int64_t value) { return static_cast<library_integer>(value); }

template <class T>
std::string why_integers_do_not_fit(const blas_form<T>& form) {
  const auto refused = [](std::string_view name, std::int64_t value) {
    return std::string(name) + " = " + std::to_string(value) + " exceeds the " +
           std::to_string(8 * sizeof(library_integer)) + "-bit integers of this rocBLAS";
  };
  for (const auto& [name, value] : form.integers()) {
    if (value > std::numeric_limits<library_integer>::max()) return refused(name, value);
  }
  if (form.problem.batch > std::numeric_limits<library_integer>::max()) return refused("batch", form.problem.batch);
  return {};
}

template <class T>
constexpr rocblas_datatype element_type() {
  if constexpr (std::is_same_v<T, float>) return rocblas_datatype_f32_r;
  if constexpr (std::is_same_v<T, double>) return rocblas_datatype_f64_r;
  if constexpr (std::is_same_v<T, f16>) return rocblas_datatype_f16_r;
  return rocblas_datatype_bf16_r;
}

/// Only these have matrix units for f32 rounded to 19 bits, which AMD calls XF32.
bool has_xf32(const Kokkos::HIP& instance) {
  const std::string_view target = instance.hip_device_prop().gcnArchName;
  return target.starts_with("gfx940") || target.starts_with("gfx941") || target.starts_with("gfx942");
}

template <class T>
std::string why_not_mode(const Kokkos::HIP& instance, gemm_mode mode) {
  if (mode == gemm_mode::strict) return {};
  const std::string text = "mode " + std::string(gemm_mode_name(mode));
  if (!std::is_same_v<T, float>) return text + " is for f32, not for " + std::string(scalar_traits<T>::name);
  if (mode != gemm_mode::fast_tf32) return "AMD's libraries have no " + text;
  if (!has_xf32(instance)) return text + " needs a device with XF32 units (gfx942)";
  return {};
}

/// What a call needs of a handle: the math mode of this product; of one that is the caller's also alpha and beta on the
/// host and sums in the same order every time. The caller's is put back afterwards.
class handle_state_scope {
 public:
  handle_state_scope(rocblas_context_handle& handle, rocblas_math_mode wanted) : handle_(handle), wanted_(wanted) {
    if (handle.is_owned()) {
      handle.set_math_mode(wanted);
      return;
    }
    rocblas_handle adopted = handle.get();
    require_success(rocblas_get_pointer_mode(adopted, &pointers_), "rocblas_get_pointer_mode");
    require_success(rocblas_get_atomics_mode(adopted, &atomics_), "rocblas_get_atomics_mode");
    require_success(rocblas_get_math_mode(adopted, &math_), "rocblas_get_math_mode");
    if (pointers_ != rocblas_pointer_mode_host) rocblas_set_pointer_mode(adopted, rocblas_pointer_mode_host);
    if (atomics_ != rocblas_atomics_not_allowed) set_atomics_mode(adopted, rocblas_atomics_not_allowed);
    if (math_ != wanted) rocblas_set_math_mode(adopted, wanted);
  }
  ~handle_state_scope() {
    if (handle_.is_owned()) return;
    if (pointers_ != rocblas_pointer_mode_host) rocblas_set_pointer_mode(handle_.get(), pointers_);
    if (atomics_ != rocblas_atomics_not_allowed) set_atomics_mode(handle_.get(), atomics_);
    if (math_ != wanted_) rocblas_set_math_mode(handle_.get(), math_);
  }
  handle_state_scope(const handle_state_scope&) = delete;
  handle_state_scope& operator=(const handle_state_scope&) = delete;

 private:
  rocblas_context_handle& handle_;
  rocblas_math_mode wanted_;
  rocblas_pointer_mode pointers_ = rocblas_pointer_mode_host;
  rocblas_atomics_mode atomics_ = rocblas_atomics_not_allowed;
  rocblas_math_mode math_ = rocblas_default_math;
};

rocblas_operation operation_of(const blas_operand& operand) {
  return operand.transposed ? rocblas_operation_transpose : rocblas_operation_none;
}

}  // namespace

template <class T>
std::string prepare_rocblas(const Kokkos::HIP& instance, const gemm_problem<T>& problem, blas_form<T>& form) {
  std::string reason = why_not_mode<T>(instance, problem.mode);
  if (reason.empty()) reason = to_blas_form(problem, form);
  return reason.empty() ? why_integers_do_not_fit(form) : reason;
}

template <class T>
void run_rocblas(context<Kokkos::HIP>& ctx, const blas_form<T>& form) {
  const gemm_problem<T>& problem = form.problem;
  constexpr rocblas_datatype element = element_type<T>();
  constexpr rocblas_datatype compute = std::is_same_v<T, double> ? rocblas_datatype_f64_r : rocblas_datatype_f32_r;
  const current_device device(ctx.instance());
  rocblas_context_handle& context_handle = rocblas_of(ctx);
  rocblas_handle handle = context_handle.get();
  const gemm_library_result<rocblas_datatype> result = library_result_of(ctx, form, element, rocblas_datatype_f32_r);
  const handle_state_scope state(
      context_handle, problem.mode == gemm_mode::fast_tf32 ? rocblas_xf32_xdl_math_op : rocblas_default_math);
  const library_integer m = narrowed(problem.m), n = narrowed(problem.n), k = narrowed(problem.k);
  const library_integer lda = narrowed(form.a.leading_dimension), ldb = narrowed(form.b.leading_dimension);
  const library_integer ldc = narrowed(result.leading_dimension);
  // Columns for rows: C' = B' A'.
  if (problem.batch == 1) {
    require_success(
        multiply(handle, operation_of(form.b), operation_of(form.a), n, m, k, &problem.alpha, problem.b.data, element,
                 ldb, problem.a.data, element, lda, result.beta, result.data, result.type, ldc, result.data,
                 result.type, ldc, compute, rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
        "prumo::gemm: rocblas_gemm_ex");
  } else {
    require_success(
        multiply_batch(handle, operation_of(form.b), operation_of(form.a), n, m, k, &problem.alpha, problem.b.data,
                       element, ldb, problem.b.batch_stride, problem.a.data, element, lda, problem.a.batch_stride,
                       result.beta, result.data, result.type, ldc, result.batch_stride, result.data, result.type, ldc,
                       result.batch_stride, narrowed(problem.batch), compute, rocblas_gemm_algo_standard, 0,
                       rocblas_gemm_flags_none),
        "prumo::gemm: rocblas_gemm_strided_batched_ex");
  }
  complete_product(ctx, problem, result.data);
}

#define PRUMO_INSTANTIATE_ROCBLAS(T)                                                                  \
  template std::string prepare_rocblas<T>(const Kokkos::HIP&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_rocblas<T>(context<Kokkos::HIP>&, const blas_form<T>&);
PRUMO_INSTANTIATE_ROCBLAS(float)
PRUMO_INSTANTIATE_ROCBLAS(double)
PRUMO_INSTANTIATE_ROCBLAS(f16)
PRUMO_INSTANTIATE_ROCBLAS(bf16)

}  // namespace prumo::backend::hip
