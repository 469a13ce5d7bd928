// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_vector_form.hpp"
#include "device_choice.hpp"
#include "gemm_completion.hpp"
#include "portable_gemv_device_columns.hpp"
#include "portable_gemv_device_rows.hpp"
#include "thin_gemm.hpp"
#include <prumo/detail/teams/ordered_teams.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>

namespace prumo::backend {
namespace {

[[maybe_unused]] const std::string& rows_label() {
  static const std::string label = "prumo::gemv::rows";
  return label;
}
const std::string& columns_label() {
  static const std::string label = "prumo::gemv::columns";
  return label;
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
void enqueue_vector_product([[maybe_unused]] context<Exec>& ctx, [[maybe_unused]] const gemm_problem<T>& problem) {
  if constexpr (!is_host_space<Exec>) enqueue_on_device(ctx, as_matrix_and_vector(problem));
}

template <class Exec, class T>
gemv_candidate<Exec, T> portable_gemv_candidate() {
  return {"portable", [](const Exec&, const gemv_problem<T>&, blas_vector_form<T>&) { return std::string(); },
          [](context<Exec>& ctx, const gemv_problem<T>& problem, const blas_vector_form<T>&) {
            if constexpr (is_host_space<Exec>) {
              enqueue_thin_product(ctx, problem.as_product());
            } else {
              enqueue_on_device(ctx, problem);
            }
          }};
}

template <class T>
void run_canonical_gemv(const gemv_problem<T>& problem) {
  run_canonical_gemm(problem.as_product());
}

template void run_canonical_gemv(const gemv_problem<counted<float>>&);
template void run_canonical_gemv(const gemv_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_GEMV(Space, T)                                          \
  template void enqueue_vector_product<Space, T>(context<Space>&, const gemm_problem<T>&); \
  template gemv_candidate<Space, T> portable_gemv_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_GEMV, bf16)

}  // namespace prumo::backend
