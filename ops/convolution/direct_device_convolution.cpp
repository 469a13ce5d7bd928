// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_device_kernel.hpp"
#include <prumo/spaces.hpp>

#include <string>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// Calls visit(kernel type) with the kernel whose tiles suit the output channels and the filter.
template <class C, class Visitor>
auto with_direct_kernel(const convolution_problem<C>& problem, const Visitor& visit) {
  const auto with = [&]<int TileChannels, int TileRows, int FilterRows>() {
    return visit(std::type_identity<direct_device_kernel<C, TileChannels, TileRows, FilterRows>>{});
  };
  if constexpr (std::is_same_v<C, double>) {
    return with.template operator()<4, 4, 0>();
  } else {
    const std::int64_t rows = problem.row_stride == 1 ? problem.filter_rows : 0;
    const std::int64_t left = problem.out_channels % 8;
    if (problem.out_channels <= 4 || (problem.out_channels < 16 && left > 0 && left <= 4)) {
      switch (rows) {
        case 5: return with.template operator()<4, 9, 5>();
        case 7: return with.template operator()<4, 12, 7>();
        default: return with.template operator()<4, 8, 0>();
      }
    }
    if (problem.out_channels <= 6 && rows == 5) return with.template operator()<6, 4, 5>();
    switch (rows) {
      case 3: return with.template operator()<8, 6, 3>();
      case 5: return with.template operator()<4, 9, 5>();
      case 7: return with.template operator()<8, 7, 7>();
      default: return with.template operator()<8, 6, 0>();
    }
  }
}

/// What the device has for the teams of a kernel.
template <class Kernel, class Exec>
team_resources resources_of(const Exec& instance) {
  team_resources resources;
  resources.threads_of_multiprocessor = Kernel::most_threads * Kernel::resident_teams;
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (prumo::detail::launches_by_cuda_runtime<Exec>) {
    const auto value_of = [&](cudaDeviceAttr attribute) {
      int value = 0;
      prumo::detail::require_success(cudaDeviceGetAttribute(&value, attribute, instance.cuda_device()),
                                     "cudaDeviceGetAttribute");
      return value;
    };
    resources.multiprocessors = value_of(cudaDevAttrMultiProcessorCount);
    resources.bytes_of_team = value_of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    resources.bytes_of_multiprocessor = value_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    return resources;
  }
#endif
  constexpr int threads_of_multiprocessor = 2048;
  resources.multiprocessors = std::max(1, concurrency_of(instance) / threads_of_multiprocessor);
  resources.bytes_of_team = Kokkos::TeamPolicy<Exec>::scratch_size_max(0);
  return resources;
}

template <class T, class Kernel, class Exec>
direct_device_choice<compute_t<T>> choice_of(const Exec& instance, const convolution_problem<compute_t<T>>& problem) {
  return {problem, sizeof(T), Kernel::tile, Kernel::most_threads, resources_of<Kernel>(instance)};
}

template <class Exec, class T>
std::string prepare_direct(const Exec& instance, const convolution_problem<T>& problem,
                           prepared_convolution& prepared) {
  if (std::string why_not = why_not_strict(problem); !why_not.empty()) return why_not;
  const auto erased = direct_device_problem(problem);
  return with_direct_kernel(erased, [&]<class Kernel>(std::type_identity<Kernel>) -> std::string {
    prepared.layout = choice_of<T, Kernel>(instance, erased).best();
    if (prepared.layout.threads > 0) return {};
    return "some rows of an image and the filters do not fit into a multiprocessor's memory";
  });
}

template <class Exec, class T>
void run_direct(context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution& prepared) {
  static const std::string label = "prumo::convolve::direct";
  const auto erased = direct_device_problem(problem);
  with_direct_kernel(erased, [&]<class Kernel>(std::type_identity<Kernel>) {
    const std::int64_t teams = choice_of<T, Kernel>(ctx.instance(), erased).teams(prepared.layout);
    prumo::detail::launch_teams(ctx.instance(), label, Kernel(erased, dtype_of<T>(), prepared.layout, teams));
  });
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
convolution_candidate<Exec, T> direct_device_candidate() {
  if constexpr (is_host_space<Exec>) {
    return {};
  } else {
    return {"direct", prepare_direct<Exec, T>, run_direct<Exec, T>};
  }
}

#define PRUMO_INSTANTIATE_DIRECT_CONVOLUTION(Space, T) \
  template convolution_candidate<Space, T> direct_device_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, bf16)

}  // namespace prumo::backend
