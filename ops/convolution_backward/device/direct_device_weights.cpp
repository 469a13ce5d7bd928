// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_weights_choice.hpp"
#include "device_weights_kernel.hpp"
#include "partial_sums.hpp"
#include <prumo/spaces.hpp>

#include <array>
#include <limits>
#include <string>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// The tiles that are compiled.
template <class C>
inline constexpr std::array<weights_tile, 7> tiles = {
    weights_tile{8, 3}, {6, 5}, {8, 5}, {4, 7}, {8, 7}, {4, 0}, {8, 0}};
template <>
[[maybe_unused]] inline constexpr std::array<weights_tile, 1> tiles<double> = {weights_tile{4, 0}};

/// Calls visit(kernel type) with the kernel whose tile is tiles<C>[which].
template <class C, std::size_t Which = 0, class Visitor>
void with_weights_kernel(int which, const Visitor& visit) {
  if constexpr (Which < tiles<C>.size()) {
    if (which > static_cast<int>(Which)) return with_weights_kernel<C, Which + 1>(which, visit);
    visit(std::type_identity<device_weights_kernel<C, tiles<C>[Which]>> {});
  }
}

/// The layout with the tile that costs least; one without threads if none fits.
template <class Exec, class T>
direct_weights_layout best_layout(const Exec& instance, const weights_inputs<compute_t<T>>& inputs) {
  using C = compute_t<T>;
  const team_resources resources = team_resources_of(instance);
  direct_weights_layout best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t which = 0; which < tiles<C>.size(); ++which) {
    const double cost_of_tile = tiles<C>[which].cost(inputs.out_channels);
    if (!tiles<C>[which].suits(inputs) || cost_of_tile >= least) continue;
    direct_weights_layout layout = device_weights_choice<C>(inputs, sizeof(T), tiles<C>[which], resources).best();
    if (layout.threads == 0) continue;
    layout.tile = static_cast<int>(which);
    best = layout;
    least = cost_of_tile;
  }
  return best;
}

template <class Exec, class T>
std::string prepare_direct(const Exec& instance, const backward_weights_problem<T>& problem,
                           prepared_backward_weights& prepared) {
  using C = compute_t<T>;
  const weights_inputs<C> inputs(problem);
  prepared.layout = best_layout<Exec, T>(instance, inputs);
  if (prepared.layout.threads == 0) {
    return "a filter has more weights than a team has threads, or a row of images and gradients does not fit into a "
           "multiprocessor's memory";
  }
  prepared.longest_chain = device_weights_choice<C>::longest_chain(inputs, prepared.layout);
  return {};
}

template <class Exec, class T>
void run_direct(context<Exec>& ctx, const backward_weights_problem<T>& problem,
                const prepared_backward_weights& prepared) {
  static const std::string label = "prumo::convolve_backward_weights::direct";
  using C = compute_t<T>;
  const direct_weights_layout& layout = prepared.layout;
  auto* const partial_sums =
      static_cast<C*>(ctx.workspace(static_cast<std::size_t>(layout.groups * problem.outputs()) * sizeof(C)));
  with_weights_kernel<C>(layout.tile, [&]<class Kernel>(std::type_identity<Kernel>) {
    prumo::detail::launch_teams(ctx.instance(), label,
                                Kernel(weights_inputs<C>(problem), dtype_of<T>(), layout, partial_sums));
  });
  enqueue_joining(ctx.instance(), problem, partial_sums, layout.groups);
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
backward_weights_candidate<Exec, T> direct_device_weights_candidate() {
  if constexpr (is_host_space<Exec>) {
    return {};
  } else {
    return {"direct", prepare_direct<Exec, T>, run_direct<Exec, T>};
  }
}

#define PRUMO_INSTANTIATE_DEVICE_WEIGHTS(Space, T) \
  template backward_weights_candidate<Space, T> direct_device_weights_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DEVICE_WEIGHTS, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DEVICE_WEIGHTS, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DEVICE_WEIGHTS, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DEVICE_WEIGHTS, bf16)

}  // namespace prumo::backend
