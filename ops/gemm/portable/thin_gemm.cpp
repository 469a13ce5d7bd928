// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_gemm.hpp"
#include "openmp_threads.hpp"
#include "thin_columns_host.hpp"
#include "thin_rows_host.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace prumo::backend {
namespace {

using prumo::detail::host_work;
using prumo::detail::launch_blocks;

/// What it takes a host to multiply elements of A by `columns` columns.
template <class T>
host_work work_of(std::int64_t elements, std::int64_t columns) {
  constexpr double of_a_product = 0.1;
  return host_work::repeated(elements * columns, host_work::nanoseconds_of<T> + of_a_product);
}

/// The same where rows of A are read once for all columns.
template <class T>
host_work work_of_rows(const gemm_problem<T>& problem) {
  const std::int64_t elements = problem.batch * problem.m * problem.k;
  return host_work::streaming<T>(elements) + prumo::detail::multiply_add_work<compute_t<T>>(elements * problem.n);
}

template <class Exec, class T>
void add_parts(const Exec& instance, const gemm_problem<T>& problem, std::int64_t parts, const compute_t<T>* partial) {
  if (parts == 1) return;
  static const std::string label = "prumo::gemm::parts";
  const thin_combination_kernel<T> kernel(problem, parts, partial);
  launch_blocks(instance, label, kernel, work_of<compute_t<T>>(parts * problem.m, problem.n * problem.batch));
}

template <class Exec, class T>
void enqueue_columns(context<Exec>& ctx, const gemm_problem<T>& problem) {
  using C = compute_t<T>;
  const host_work work = work_of<T>(problem.m * problem.k, problem.n * problem.batch);
  static const std::string label = "prumo::gemm::columns";
  const auto partition = thin_columns_partition::of(problem.m, problem.k);
  const std::int64_t sums = problem.batch * problem.n * partition.parts * problem.m;
  C* const partial =
      partition.parts > 1 ? static_cast<C*>(ctx.workspace(static_cast<std::size_t>(sums) * sizeof(C))) : nullptr;
  if (problem.a.row_stride == 1) {
    launch_blocks(ctx.instance(), label, thin_columns_of_a_kernel<T, true>(problem, partition, partial), work);
  } else {
    launch_blocks(ctx.instance(), label, thin_columns_of_a_kernel<T, false>(problem, partition, partial), work);
  }
  add_parts(ctx.instance(), problem, partition.parts, partial);
}

template <class Exec, class T>
void enqueue_rows(context<Exec>& ctx, const gemm_problem<T>& problem) {
  using C = compute_t<T>;
  const auto bytes_of_a = static_cast<std::size_t>(problem.batch * problem.m * problem.k) * sizeof(T);
  const host_work work = work_of_rows(problem) + prumo::detail::memory_work(bytes_of_a, ctx.working_set());
  static const std::string label = "prumo::gemm::rows";
  const auto run = [&]<bool Contiguous>(std::bool_constant<Contiguous>) {
    thin_rows_kernel<T, Contiguous> kernel(problem, prumo::detail::threads_for(ctx.instance(), work),
                                           prumo::detail::exceeds_caches(bytes_of_a, ctx.working_set()));
    const std::int64_t elements = kernel.workspace_elements();
    C* const partial =
        elements > 0 ? static_cast<C*>(ctx.workspace(static_cast<std::size_t>(elements) * sizeof(C))) : nullptr;
    kernel.set_workspace(partial);
    launch_blocks(ctx.instance(), label, kernel, work);
    add_parts(ctx.instance(), problem, kernel.parts(), partial);
  };
  problem.a.column_stride == 1 || problem.k == 1 ? run(std::true_type()) : run(std::false_type());
}

}  // namespace

template <class Exec, class T>
void enqueue_thin_product(context<Exec>& ctx, const gemm_problem<T>& given) {
  const gemm_problem<T> problem = with_few_columns(given);
  if constexpr (std::is_floating_point_v<T>) {
    if (!multiplies_few_columns(problem)) return enqueue_direct_product(ctx, given);
    enqueue_rows(ctx, problem);
  } else if (has_short_sums(problem)) {
    enqueue_direct_product(ctx, given);
  } else if (takes_columns(problem)) {
    enqueue_columns(ctx, problem);
  } else {
    enqueue_rows(ctx, problem);
  }
}

#define PRUMO_INSTANTIATE_THIN_PRODUCT(Space, T) \
  template void enqueue_thin_product<Space, T>(context<Space>&, const gemm_problem<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_THIN_PRODUCT, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_THIN_PRODUCT, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_THIN_PRODUCT, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_THIN_PRODUCT, bf16)

}  // namespace prumo::backend
