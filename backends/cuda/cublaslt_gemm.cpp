// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_gemm.hpp"
#include "cublaslt_plan.hpp"
#include <prumo/backend/gemm_accumulation.hpp>
#include <prumo/backend/timing.hpp>

#include <algorithm>
#include <limits>

namespace prumo::backend::cuda {
namespace {

/// Algorithms that a tuned product chooses from, cublasGemmEx() apart. The heuristic knows no more for most problems.
constexpr int most_tuned_algorithms = 32;

/// The largest power of two up to 256, which is what cudaMalloc aligns to, that divides an address.
int alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<int>(bits & (~bits + 1));
}

template <class T>
plan_key key_of(const blas_form<T>& form, const library_types& types, const library_result& result,
                int most_algorithms) {
  const gemm_problem<T>& p = form.problem;
  return {types.element,
          types.scale,
          types.compute,
          result.type,
          {p.m, p.n, p.k, p.batch},
          {form.a.leading_dimension, form.b.leading_dimension, result.leading_dimension},
          {p.a.batch_stride, p.b.batch_stride, result.batch_stride},
          {form.a.transposed, form.b.transposed},
          result.data == p.c.data && p.beta != 0,
          {alignment_of(p.a.data), alignment_of(p.b.data), alignment_of(result.data)},
          most_algorithms};
}

/// A product on its way to the library.
template <class T>
class library_product {
 public:
  library_product(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given, int most_algorithms)
      : ctx_(ctx),
        types_(*library_types_of<T>(given.mode, reason_)),
        form_(*to_blas_form(given, reason_)),
        workspace_(workspace_of(ctx)),
        result_(result_of(ctx, form_, types_)),
        plans_(ctx.attachment<cublaslt_plans>([] { return cublaslt_plans(); })),
        plan_(plans_.find(key_of(form_, types_, result_, most_algorithms), workspace_.bytes)) {}

  matmul_plan& plan() { return plan_; }

  void run(const matmul_algorithm& algorithm) const {
    const gemm_problem<T>& problem = form_.problem;
    plan_.run(plans_.handle(), algorithm, {&problem.alpha, problem.a.data, problem.b.data, result_.beta, result_.data},
              workspace_, ctx_.instance().cuda_stream());
    if (needs_accumulation(problem)) {
      enqueue_accumulation(ctx_.instance(), problem, static_cast<const float*>(result_.data));
    }
  }

 private:
  context<Kokkos::Cuda>& ctx_;
  std::string reason_;
  library_types types_;
  blas_form<T> form_;
  library_workspace& workspace_;
  library_result result_;
  cublaslt_plans& plans_;
  matmul_plan& plan_;
};

/// Memory of C's size and alignment, so that trials do not add to what beta keeps of C.
template <class T>
Kokkos::View<std::byte*, Kokkos::CudaSpace> result_for_trials(const Kokkos::Cuda& instance,
                                                              const gemm_problem<T>& problem) {
  const gemm_matrix<T>& c = problem.c;
  const std::int64_t elements =
      (problem.m - 1) * c.row_stride + (problem.n - 1) * c.column_stride + (problem.batch - 1) * c.batch_stride + 1;
  constexpr std::size_t alignment = 256;
  return Kokkos::View<std::byte*, Kokkos::CudaSpace>(
      Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::gemm::tuning"),
      static_cast<std::size_t>(elements) * sizeof(T) + alignment);
}

/// Seconds of one product: the best of `times`, after `warm_ups` that do not count. Infinite where the library refuses.
template <class Run>
double seconds_of(device_clock& clock, int warm_ups, int times, const Run& run) {
  double best = std::numeric_limits<double>::infinity();
  try {
    for (int i = 0; i < warm_ups; ++i) run();
    for (int i = 0; i < times; ++i) {
      clock.mark(0);
      run();
      clock.mark(1);
      best = std::min(best, clock.seconds_between(0, 1));
    }
  } catch (const backend_error&) {
    return std::numeric_limits<double>::infinity();
  }
  return best;
}

/// The place of what computes the product fastest, as matmul_plan::fastest has it. Each algorithm is tried once, the
/// best few more often, so that a product of tenths of a second takes seconds to tune and not a minute.
template <class T>
std::size_t find_fastest(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given) {
  gemm_problem<T> trial = given;
  Kokkos::View<std::byte*, Kokkos::CudaSpace> own_result;
  if (given.beta != 0) {
    own_result = result_for_trials(ctx.instance(), given);
    constexpr std::uintptr_t alignment = 256;
    const auto address = reinterpret_cast<std::uintptr_t>(own_result.data());
    const auto wanted = reinterpret_cast<std::uintptr_t>(given.c.data) % alignment;
    trial.c.data = reinterpret_cast<T*>(own_result.data() + (alignment + wanted - address % alignment) % alignment);
  }
  library_product<T> product(ctx, trial, most_tuned_algorithms);
  const auto& algorithms = product.plan().algorithms();
  const auto run = [&](std::size_t which) {
    which < algorithms.size() ? product.run(algorithms[which]) : run_cublas(ctx, trial);
  };
  struct candidate {
    std::size_t which;
    double seconds;
  };
  const auto clock = make_device_clock(ctx.instance(), 2);
  std::vector<candidate> candidates;
  for (std::size_t which = 0; which <= algorithms.size(); ++which) {
    candidates.push_back({which, seconds_of(*clock, 1, 1, [&] { run(which); })});
  }
  std::ranges::sort(candidates, {}, &candidate::seconds);
  constexpr std::size_t finalists = 5;
  constexpr double enough_seconds = 0.2;
  if (candidates.size() > finalists) candidates.resize(finalists);
  for (candidate& it : candidates) {
    const int times = std::clamp(static_cast<int>(enough_seconds / finalists / it.seconds), 2, 50);
    it.seconds = seconds_of(*clock, 0, times, [&] { run(it.which); });
  }
  return std::ranges::min_element(candidates, {}, &candidate::seconds)->which;
}

bool is_captured(const Kokkos::Cuda& instance) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require_success(cudaStreamIsCapturing(instance.cuda_stream(), &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

template <class T>
std::string why_not_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem) {
  std::string reason = why_not_cublas(instance, problem);
  if (!reason.empty()) return reason;
  constexpr std::int64_t most_matrices = INT32_MAX;
  if (problem.batch > most_matrices) return "batches of cuBLASLt have at most 2^31 - 1 matrices";
  return {};
}

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given) {
  const current_device device(ctx.instance().cuda_device());
  library_product<T> product(ctx, given, 1);
  if (product.plan().algorithms().empty()) return run_cublas(ctx, given);
  product.run(product.plan().algorithms().front());
}

template <class T>
void run_tuned(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given) {
  const current_device device(ctx.instance().cuda_device());
  library_product<T> product(ctx, given, most_tuned_algorithms);
  matmul_plan& plan = product.plan();
  if (!plan.fastest) {
    if (is_captured(ctx.instance())) return run_cublaslt(ctx, given);
    plan.fastest = find_fastest(ctx, given);
  }
  if (*plan.fastest >= plan.algorithms().size()) return run_cublas(ctx, given);
  product.run(plan.algorithms()[*plan.fastest]);
}

#define PRUMO_INSTANTIATE_CUBLASLT(T)                                                    \
  template std::string why_not_cublaslt<T>(const Kokkos::Cuda&, const gemm_problem<T>&); \
  template void run_cublaslt<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&);         \
  template void run_tuned<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&);
PRUMO_INSTANTIATE_CUBLASLT(float)
PRUMO_INSTANTIATE_CUBLASLT(double)
PRUMO_INSTANTIATE_CUBLASLT(f16)
PRUMO_INSTANTIATE_CUBLASLT(bf16)

}  // namespace prumo::backend::cuda
