// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_form.hpp"
#include "device_choice.hpp"
#include "direct_gemm.hpp"
#include "gemm_completion.hpp"
#include "portable_gemm_device.hpp"
#include "portable_gemm_host.hpp"
#include "short_sums_device.hpp"
#include "thin_gemm.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::backend {
namespace {

template <class T>
gemm_problem<T> with_fast_rows(const gemm_problem<T>& problem) {
  return problem.c.column_stride != 1 && problem.c.row_stride == 1 ? problem.transposed() : problem;
}

/// A host's thread as the kernel sees it: the only member of its team.
struct single_thread_team {
  int rank = 0;
  int size = 1;

  int league_rank() const { return rank; }
  int league_size() const { return size; }
  static constexpr int team_rank() { return 0; }
  static constexpr int team_size() { return 1; }
  static constexpr void team_barrier() {}
};

/// A block is what a thread computes.
template <class T>
struct host_product {
  portable_gemm_host_kernel<T> kernel;
  int threads;

  std::int64_t blocks() const { return threads; }
  void operator()(std::int64_t thread) const { kernel(single_thread_team{static_cast<int>(thread), threads}); }
};

/// What it takes one thread: the multiply-adds, and the copies of A and B.
template <class T>
detail::host_work work_of(const gemm_problem<T>& problem) {
  constexpr double of_a_copy = 0.3;
  const std::int64_t copied = (problem.m + problem.n) * problem.k;
  return detail::multiply_add_work<compute_t<T>>(problem.m * problem.n * problem.k * problem.batch) +
         detail::host_work::repeated(copied * problem.batch, of_a_copy);
}

template <class Exec, class T>
void enqueue_on_host(context<Exec>& ctx, const gemm_problem<T>& problem) {
  using kernel_type = portable_gemm_host_kernel<T>;
  const detail::host_work work = work_of(problem);
  const std::int64_t workers = detail::threads_for(ctx.instance(), work);
  const auto tiling = choose_host_tiling<compute_t<T>>(problem.m, problem.n, problem.k, problem.batch, workers);
  const std::int64_t tiles = kernel_type(problem, tiling, nullptr).tiles();
  const auto threads = static_cast<int>(std::min(workers, tiles));
  void* const workspace = ctx.workspace(static_cast<std::size_t>(threads) * kernel_type::workspace_bytes(tiling));
  static const std::string label = "prumo::gemm::portable";
  detail::launch_blocks(ctx.instance(), label, host_product<T>{kernel_type(problem, tiling, workspace), threads}, work);
}

template <class Exec, class T>
void enqueue_tiles_on_device(context<Exec>& ctx, const gemm_problem<T>& problem, compute_t<T>* product) {
  static const std::string label = "prumo::gemm::portable";
  using large_tiles = portable_gemm_device_kernel<T, 8>;
  using middle_tiles = portable_gemm_device_kernel<T, 4>;
  using small_tiles = portable_gemm_device_kernel<T, 4, 8>;
  if (problem.m <= small_tiles::tile_extent && problem.n <= small_tiles::tile_extent) {
    detail::launch_teams(ctx.instance(), label, small_tiles(problem, product));
    return;
  }
  const large_tiles kernel(problem, product);
  const middle_tiles finer(problem, product);
  // Large tiles read less. But there must be enough of them to give each multiprocessor one or two teams, which mostly
  // take an eighth of its 2048 threads. A large tile covers four of the others. If four times its number is much more
  // than the number of the others, large tiles would be partly empty.
  const bool are_many = kernel.blocks() * large_tiles::most_threads * 6 >= concurrency_of(ctx.instance());
  if (are_many && 4 * kernel.blocks() * 2 <= finer.blocks() * 3) {
    detail::launch_teams(ctx.instance(), label, kernel);
  } else {
    detail::launch_teams(ctx.instance(), label, finer);
  }
}

/// Neighbouring threads take neighbouring columns of C, so these should be neighbours in memory.
template <class Exec, class T>
void enqueue_short_sums_on_device(context<Exec>& ctx, const gemm_problem<T>& given) {
  static const std::string label = "prumo::gemm::short_sums";
  constexpr std::int64_t short_row = 64;
  const gemm_problem<T> problem = with_fast_rows(given);
  const std::int64_t multiprocessors = detail::team_resources_of(ctx.instance()).multiprocessors;
  const auto launch = [&]<int Depth, int Columns>() {
    detail::launch_teams(ctx.instance(), label, short_sums_device_kernel<T, Depth, Columns>(problem, multiprocessors));
  };
  const auto launch_for_row = [&]<int Depth, int Columns>() {
    problem.n <= short_row ? launch.template operator()<Depth, 1>() : launch.template operator()<Depth, Columns>();
  };
  if (problem.k <= 4) return launch_for_row.template operator()<4, 4>();
  if (problem.k <= 8) return launch_for_row.template operator()<8, 4>();
  launch_for_row.template operator()<16, 2>();
}

/// The registers of tiles are needed for sums, so an epilogue is a separate pass.
template <class Exec, class T>
void enqueue_on_device(context<Exec>& ctx, const gemm_problem<T>& problem) {
  if constexpr (has_short_sums_kernel<T>) {
    if (has_short_sums_for_device(problem)) return enqueue_short_sums_on_device(ctx, problem);
    if (has_few_long_rows_for_device(problem)) return enqueue_vector_product(ctx, problem);
  }
  if (!problem.has_epilogue()) return enqueue_tiles_on_device<Exec, T>(ctx, problem, nullptr);
  if constexpr (sizeof(T) == 2) {
    const auto entries = static_cast<std::size_t>(problem.m * problem.n * problem.batch);
    auto* const product = static_cast<compute_t<T>*>(ctx.workspace(entries * sizeof(compute_t<T>)));
    enqueue_tiles_on_device(ctx, problem, product);
    complete_product(ctx, problem, product);
  } else {
    enqueue_tiles_on_device<Exec, T>(ctx, problem, nullptr);
    complete_product(ctx, problem, problem.c.data);
  }
}

/// The operations of alpha A B + beta C for one entry of C, without those of the product.
flop_counts scaling_counts(bool multiplies, double alpha, double beta) {
  flop_counts counts;
  if (!multiplies) {
    counts[flop_kind::mul] = beta != 0 && beta != 1;
    return counts;
  }
  switch (choose_form(alpha, beta)) {
    case scaled_form::store: break;
    case scaled_form::scale: counts[flop_kind::mul] = 1; break;
    case scaled_form::add: counts[flop_kind::add] = 1; break;
    case scaled_form::scale_add_scaled: counts[flop_kind::mul] = 1; [[fallthrough]];
    case scaled_form::add_scaled:
    case scaled_form::scale_add: counts[flop_kind::fma] = 1; break;
  }
  return counts;
}

}  // namespace

template <class Exec, class T>
gemm_candidate<Exec, T> portable_gemm_candidate() {
  if constexpr (!scalar<T>) {
    // f8 only makes sense with units for matrix products, which the portable kernel does not use.
    return {"portable",
            [](const Exec&, const gemm_problem<T>&, blas_form<T>&) {
              return std::string(scalar_traits<T>::name) +
                     " is multiplied by cuBLASLt only, on NVIDIA GPUs of compute capability 8.9 and later";
            },
            [](context<Exec>&, const gemm_problem<T>&, const blas_form<T>&) {}};
  } else {
    return {"portable",
            [](const Exec&, const gemm_problem<T>& problem, blas_form<T>&) -> std::string {
              if (problem.mode == gemm_mode::strict) return {};
              return "it computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
            },
            [](context<Exec>& ctx, const gemm_problem<T>& problem, const blas_form<T>&) {
              if constexpr (is_host_space<Exec>) {
                if constexpr (has_direct_kernel<T>) {
                  if (is_direct(problem)) return enqueue_direct_product(ctx, problem);
                }
                if (is_thin(problem)) return enqueue_thin_product(ctx, problem);
                enqueue_on_host(ctx, with_fast_rows(problem));
              } else {
                enqueue_on_device(ctx, problem);
              }
            }};
  }
}

template <class T>
void run_canonical_gemm(const gemm_problem<T>& problem) {
  if (problem.is_empty()) return;
  if (problem.is_scaling()) {
    run_canonical_completion(scaling_of(problem));
    return;
  }
  constexpr host_tiling tiling = largest_host_tiling<compute_t<T>>();
  std::vector<std::byte> workspace(portable_gemm_host_kernel<T>::workspace_bytes(tiling) + 64);
  void* begin = workspace.data();
  std::size_t space = workspace.size();
  std::align(64, space - 64, begin, space);
  portable_gemm_host_kernel<T>(problem, tiling, begin)(single_thread_team{});
}

flop_counts canonical_gemm_counts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, double alpha,
                                  double beta, bool has_bias, activation_function activation) {
  const bool multiplies = k != 0 && alpha != 0;
  flop_counts counts = scaling_counts(multiplies, alpha, beta);
  if (multiplies) counts[flop_kind::fma] += static_cast<std::uint64_t>(k);
  counts[flop_kind::add] += has_bias;
  counts += activation_counts(activation);
  return counts * static_cast<std::uint64_t>(m * n * batch);
}

template void run_canonical_gemm(const gemm_problem<counted<float>>&);
template void run_canonical_gemm(const gemm_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_GEMM(Space, T) template gemm_candidate<Space, T> portable_gemm_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, bf16)

#define PRUMO_INSTANTIATE_PORTABLE_F8_GEMM(Space) \
  template gemm_candidate<Space, f8_e4m3> portable_gemm_candidate<Space, f8_e4m3>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_F8_GEMM)

}  // namespace prumo::backend
