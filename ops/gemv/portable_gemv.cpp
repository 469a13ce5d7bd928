// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_vector_form.hpp"
#include "gemm_completion.hpp"
#include "portable_gemv_device_columns.hpp"
#include "portable_gemv_device_rows.hpp"
#include "portable_gemv_host.hpp"
#include <prumo/detail/teams/ordered_teams.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>

namespace prumo::backend {
namespace {

const std::string& rows_label() {
  static const std::string label = "prumo::gemv::rows";
  return label;
}
const std::string& columns_label() {
  static const std::string label = "prumo::gemv::columns";
  return label;
}

/// What it takes a host to multiply this number of elements of the matrix.
template <class T>
prumo::detail::host_work work_of(std::int64_t elements) {
  constexpr double of_a_product = 0.1;
  return prumo::detail::host_work::streaming<T>(elements) + prumo::detail::host_work::repeated(elements, of_a_product);
}

/// x in the compute type and without gaps: itself, or a copy at the workspace's begin.
template <class Exec, class T>
const compute_t<T>* vector_on_host(const Exec& instance, const gemv_problem<T>& problem, compute_t<T>* copy) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (problem.x_stride == 1) return problem.x;
  }
  static const std::string label = "prumo::gemv::vector";
  prumo::detail::launch_blocks(instance, label, gemv_vector_kernel<T>{problem.x, problem.x_stride, problem.n, copy},
                               work_of<T>(problem.n));
  return copy;
}

template <class Exec, class T>
void add_parts_on_host(const Exec& instance, const gemv_problem<T>& problem, std::int64_t parts,
                       const compute_t<T>* partial) {
  if (parts == 1) return;
  static const std::string label = "prumo::gemv::parts";
  prumo::detail::launch_blocks(instance, label, gemv_combination_kernel<T>(problem, parts, partial),
                               work_of<compute_t<T>>(parts * problem.m));
}

template <class Exec, class T>
void enqueue_columns_on_host(context<Exec>& ctx, const gemv_problem<T>& problem) {
  using C = compute_t<T>;
  const auto partition = gemv_columns_partition::of(problem.m, problem.n);
  const auto work = work_of<T>(problem.m * problem.n);
  C* partial = nullptr;
  if (partition.parts > 1) {
    partial = static_cast<C*>(ctx.workspace(static_cast<std::size_t>(partition.parts * problem.m) * sizeof(C)));
  }
  if (problem.a.row_stride == 1) {
    prumo::detail::launch_blocks(ctx.instance(), columns_label(),
                                 gemv_columns_host_kernel<T, true>(problem, partition, partial), work);
  } else {
    prumo::detail::launch_blocks(ctx.instance(), columns_label(),
                                 gemv_columns_host_kernel<T, false>(problem, partition, partial), work);
  }
  add_parts_on_host(ctx.instance(), problem, partition.parts, partial);
}

template <class Exec, class T>
void enqueue_rows_on_host(context<Exec>& ctx, const gemv_problem<T>& problem) {
  using C = compute_t<T>;
  const std::int64_t parts = gemv_rows_host_kernel<T, true>::parts_of(problem);
  const bool copies_x = !std::is_same_v<T, C> || problem.x_stride != 1;
  const std::int64_t kept = copies_x ? problem.n : 0;
  const std::int64_t elements = kept + (parts > 1 ? parts * problem.m : 0);
  C* const memory =
      elements > 0 ? static_cast<C*>(ctx.workspace(static_cast<std::size_t>(elements) * sizeof(C))) : nullptr;
  const C* const x = vector_on_host(ctx.instance(), problem, memory);
  C* const partial = parts > 1 ? memory + kept : nullptr;
  const auto work = work_of<T>(problem.m * problem.n);
  if (problem.a.column_stride == 1 || problem.n == 1) {
    prumo::detail::launch_blocks(ctx.instance(), rows_label(), gemv_rows_host_kernel<T, true>(problem, x, partial),
                                 work);
  } else {
    prumo::detail::launch_blocks(ctx.instance(), rows_label(), gemv_rows_host_kernel<T, false>(problem, x, partial),
                                 work);
  }
  add_parts_on_host(ctx.instance(), problem, parts, partial);
}

template <class T>
bool loads_packs(const T* data, std::int64_t inner_stride, std::int64_t outer_stride, std::int64_t outer_extent) {
  return inner_stride == 1 && prumo::detail::can_load_packs(data, outer_extent == 1 ? 0 : outer_stride);
}

template <class T, int Elements, class Exec>
void enqueue_rows_on_device(context<Exec>& ctx, const gemv_problem<T>& problem) {
  const auto partition = gemv_rows_partition::of<T>(problem.m, problem.n, Elements);
  const auto launch = [&](const auto& kernel) { prumo::detail::launch_teams(ctx.instance(), rows_label(), kernel); };
  if (partition.rows_at_once > 1) {
    launch(gemv_rows_device_kernel<T, Elements, gemv_tuning::rows_at_once>(problem, partition, nullptr));
  } else if (partition.parts == 1) {
    launch(gemv_rows_device_kernel<T, Elements, 1>(problem, partition, nullptr));
  } else {
    prumo::detail::launch_ordered_teams(
        ctx, rows_label(),
        gemv_rows_device_kernel<T, Elements, 1>(problem, partition, prumo::detail::published_words_of(ctx)));
  }
}

template <class T, int Elements, class Exec>
void enqueue_columns_on_device(context<Exec>& ctx, const gemv_problem<T>& problem) {
  using C = compute_t<T>;
  const prumo::detail::row_tiles tiles = gemv_row_tiles<T>(problem.m, problem.n, Elements);
  C* partial = nullptr;
  unsigned* counters = nullptr;
  if (tiles.chunks > 1) {
    partial = static_cast<C*>(ctx.workspace(static_cast<std::size_t>(problem.m * tiles.chunks) * sizeof(C)));
    counters = prumo::detail::arrival_counters_of(ctx);
  }
  prumo::detail::launch_teams(ctx.instance(), columns_label(),
                              gemv_columns_device_kernel<T, Elements>(problem, tiles, partial, counters));
}

/// Whole packs where the matrix allows them, in the direction in which its elements lie closer together.
template <class Exec, class T>
void enqueue_on_device(context<Exec>& ctx, const gemv_problem<T>& problem) {
  constexpr int pack = prumo::detail::device_pack_elements<T>;
  const gemm_matrix<const T>& a = problem.a;
  const bool by_columns = problem.m > 1 && (problem.n == 1 || a.row_stride < a.column_stride);
  if (by_columns && loads_packs(a.data, a.row_stride, a.column_stride, problem.n)) {
    enqueue_columns_on_device<T, pack>(ctx, problem);
  } else if (by_columns) {
    enqueue_columns_on_device<T, 1>(ctx, problem);
  } else if (loads_packs(a.data, a.column_stride, a.row_stride, problem.m)) {
    enqueue_rows_on_device<T, pack>(ctx, problem);
  } else {
    enqueue_rows_on_device<T, 1>(ctx, problem);
  }
}

}  // namespace

template <class Exec, class T>
gemv_candidate<Exec, T> portable_gemv_candidate() {
  return {"portable", [](const Exec&, const gemv_problem<T>&, blas_vector_form<T>&) { return std::string(); },
          [](context<Exec>& ctx, const gemv_problem<T>& problem, const blas_vector_form<T>&) {
            if constexpr (!is_host_space<Exec>) {
              enqueue_on_device(ctx, problem);
            } else if (takes_columns(problem)) {
              enqueue_columns_on_host(ctx, problem);
            } else {
              enqueue_rows_on_host(ctx, problem);
            }
          }};
}

template <class T>
void run_canonical_gemv(const gemv_problem<T>& problem) {
  if (problem.is_empty()) return;
  if (problem.is_scaling()) {
    run_canonical_completion(scaling_of(problem.as_product()));
    return;
  }
  const auto partition = gemv_columns_partition::whole(problem.m, problem.n);
  const gemv_columns_host_kernel<T, false> kernel(problem, partition, nullptr);
  for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
}

template void run_canonical_gemv(const gemv_problem<counted<float>>&);
template void run_canonical_gemv(const gemv_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_GEMV(Space, T) template gemv_candidate<Space, T> portable_gemv_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, bf16)

}  // namespace prumo::backend
