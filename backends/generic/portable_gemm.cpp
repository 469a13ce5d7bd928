// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "portable_gemm_device.hpp"
#include "portable_gemm_host.hpp"
#include <prumo/backend/gemm.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// C = beta C, a row or column of C an iteration on the host, an element on a device.
template <class T, bool OnHost>
struct gemm_scaling_kernel {
  gemm_problem<T> problem;

  std::int64_t blocks() const { return problem.m * problem.batch * (OnHost ? 1 : problem.n); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t line = OnHost ? item : item / problem.n;
    T* const row = problem.c.data + line / problem.m * problem.c.batch_stride + line % problem.m * problem.c.row_stride;
    const std::int64_t begin = OnHost ? 0 : item % problem.n;
    const std::int64_t end = OnHost ? problem.n : begin + 1;
    for (std::int64_t j = begin; j < end; ++j) scale(row[j * problem.c.column_stride]);
  }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION void scale(T& entry) const {
    using C = compute_t<T>;
    entry = problem.beta == 0 ? static_cast<T>(C(0)) : static_cast<T>(C(problem.beta) * static_cast<C>(entry));
  }
};

}  // namespace PRUMO_INSTRUCTION_SET

namespace {

template <class T>
gemm_problem<T> with_fast_rows(const gemm_problem<T>& problem) {
  return problem.c.column_stride != 1 && problem.c.row_stride == 1 ? problem.transposed() : problem;
}

template <class Exec, class T>
void enqueue_on_host(context<Exec>& ctx, const gemm_problem<T>& problem) {
  using kernel_type = portable_gemm_host_kernel<T>;
  using policy_type = Kokkos::TeamPolicy<Exec, Kokkos::Schedule<Kokkos::Static>>;
  const std::int64_t workers = std::max(1, concurrency_of(ctx.instance()));
  const auto tiling = choose_host_tiling<compute_t<T>>(problem.m, problem.n, problem.k, problem.batch, workers);
  const std::int64_t tiles = kernel_type(problem, tiling, nullptr).tiles();
  const auto teams = static_cast<int>(std::min(workers, tiles));
  void* const workspace = ctx.workspace(static_cast<std::size_t>(teams) * kernel_type::workspace_bytes(tiling));
  static const std::string label = "prumo::gemm::portable";
  Kokkos::parallel_for(label, policy_type(ctx.instance(), teams, 1), kernel_type(problem, tiling, workspace));
}

template <class Exec, class T>
void enqueue_on_device(context<Exec>& ctx, const gemm_problem<T>& problem) {
  static const std::string label = "prumo::gemm::portable";
  using large_tiles = portable_gemm_device_kernel<T, 8>;
  using middle_tiles = portable_gemm_device_kernel<T, 4>;
  using small_tiles = portable_gemm_device_kernel<T, 4, 8>;
  if (problem.m <= small_tiles::tile_extent && problem.n <= small_tiles::tile_extent) {
    detail::launch_teams(ctx.instance(), label, small_tiles(problem));
    return;
  }
  const large_tiles kernel(problem);
  const middle_tiles finer(problem);
  // Large tiles read less, but must be so many that each multiprocessor has one or two: of its 2048 threads, mostly, a
  // team takes an eighth. A large one is four of the others: much more than that many would be empty.
  const bool are_many = kernel.blocks() * large_tiles::most_threads * 6 >= concurrency_of(ctx.instance());
  if (are_many && 4 * kernel.blocks() * 2 <= finer.blocks() * 3) {
    detail::launch_teams(ctx.instance(), label, kernel);
  } else {
    detail::launch_teams(ctx.instance(), label, finer);
  }
}

/// The one thread of the canonical form.
struct serial_member {
  static constexpr int league_rank() { return 0; }
  static constexpr int league_size() { return 1; }
  static constexpr int team_rank() { return 0; }
  static constexpr int team_size() { return 1; }
  static constexpr void team_barrier() {}
};

}  // namespace

template <class Exec, class T>
gemm_candidate<Exec, T> portable_gemm_candidate() {
  if constexpr (!scalar<T>) {
    // f8 is there for the rate of units for matrix products, which the portable kernel does not use.
    return {"portable",
            [](const Exec&, const gemm_problem<T>&) {
              return std::string(scalar_traits<T>::name) +
                     " is multiplied by cuBLASLt only, on NVIDIA GPUs of compute capability 8.9 and later";
            },
            [](context<Exec>&, const gemm_problem<T>&) {}};
  } else {
    return {"portable",
            [](const Exec&, const gemm_problem<T>& problem) -> std::string {
              if (problem.mode == gemm_mode::strict) return {};
              return "it computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
            },
            [](context<Exec>& ctx, const gemm_problem<T>& problem) {
              if constexpr (is_host_space<Exec>) {
                enqueue_on_host(ctx, with_fast_rows(problem));
              } else {
                enqueue_on_device(ctx, problem);
              }
            }};
  }
}

template <class Exec, class T>
void enqueue_gemm_scaling(context<Exec>& ctx, const gemm_problem<T>& problem) {
  using kernel_type = gemm_scaling_kernel<T, is_host_space<Exec>>;
  if (problem.is_empty() || problem.beta == 1) return;
  static const std::string label = "prumo::gemm::scale";
  detail::launch_blocks(ctx.instance(), label, kernel_type{with_fast_rows(problem)});
}

template <class T>
void run_canonical_gemm(const gemm_problem<T>& problem) {
  if (problem.is_empty()) return;
  if (problem.is_scaling()) {
    const gemm_scaling_kernel<T, true> kernel{problem};
    for (std::int64_t item = 0; problem.beta != 1 && item < kernel.blocks(); ++item) kernel(item);
    return;
  }
  constexpr host_tiling tiling = largest_host_tiling<compute_t<T>>();
  std::vector<std::byte> workspace(portable_gemm_host_kernel<T>::workspace_bytes(tiling) + 64);
  void* begin = workspace.data();
  std::size_t space = workspace.size();
  std::align(64, space - 64, begin, space);
  portable_gemm_host_kernel<T>(problem, tiling, begin)(serial_member{});
}

flop_counts canonical_gemm_counts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, double alpha,
                                  double beta) {
  const auto entries = static_cast<std::uint64_t>(m * n * batch);
  flop_counts counts;
  if (k == 0 || alpha == 0) {
    if (beta != 0 && beta != 1) counts[flop_kind::mul] = entries;
    return counts;
  }
  counts[flop_kind::fma] = entries * static_cast<std::uint64_t>(k);
  switch (choose_epilogue(alpha, beta)) {
    case gemm_epilogue::store: break;
    case gemm_epilogue::scale: counts[flop_kind::mul] += entries; break;
    case gemm_epilogue::add: counts[flop_kind::add] += entries; break;
    case gemm_epilogue::scale_add_scaled: counts[flop_kind::mul] += entries; [[fallthrough]];
    case gemm_epilogue::add_scaled:
    case gemm_epilogue::scale_add: counts[flop_kind::fma] += entries; break;
  }
  return counts;
}

template void run_canonical_gemm(const gemm_problem<counted<float>>&);
template void run_canonical_gemm(const gemm_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_GEMM(Space, T)                        \
  template gemm_candidate<Space, T> portable_gemm_candidate<Space, T>(); \
  template void enqueue_gemm_scaling<Space, T>(context<Space>&, const gemm_problem<T>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMM, bf16)

#define PRUMO_INSTANTIATE_PORTABLE_F8_GEMM(Space) \
  template gemm_candidate<Space, f8_e4m3> portable_gemm_candidate<Space, f8_e4m3>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_F8_GEMM)

}  // namespace prumo::backend
