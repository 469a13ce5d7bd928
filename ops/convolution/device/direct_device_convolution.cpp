// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_device_kernel.hpp"
#include "recent_layouts.hpp"
#include "sliding_device_choice.hpp"
#include "window_device_convolution.hpp"
#include <prumo/spaces.hpp>

#include <array>
#include <limits>
#include <string>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// The tiles that are compiled. Of those which suit a filter, the one with the least estimated time is taken.
template <class C>
inline constexpr std::array<convolution_tile, 28> tiles = {convolution_tile{8, 6, 1, 0},
                                                           {4, 8, 1, 0},
                                                           {8, 2, 4, 3},
                                                           {6, 1, 4, 5},
                                                           {6, 2, 4, 5},
                                                           {8, 1, 6, 5},
                                                           {4, 1, 6, 5},
                                                           {4, 2, 6, 5},
                                                           {4, 2, 4, 7},
                                                           {4, 4, 4, 7},
                                                           {8, 2, 4, 7},
                                                           {8, 1, 6, 7},
                                                           {4, 1, 8, 7},
                                                           {1, 4, 4, 5},
                                                           {1, 4, 4, 7},
                                                           {1, 4, 4, 3, 3},
                                                           {1, 4, 4, 5, 5},
                                                           {1, 4, 4, 7, 7},
                                                           {1, 8, 4, 7, 7},
                                                           {2, 4, 4, 5, 5},
                                                           {2, 4, 4, 7, 7},
                                                           {3, 1, 4, 5, 5, true},
                                                           {1, 4, 4, 5, 5, true},
                                                           {1, 4, 4, 7, 7, true},
                                                           {2, 4, 4, 5, 5, true},
                                                           {6, 1, 6, 5, 0, false, true},
                                                           {4, 1, 6, 5, 0, false, true},
                                                           {2, 1, 6, 7, 0, false, true}};
template <>
[[maybe_unused]] inline constexpr std::array<convolution_tile, 1> tiles<double> = {convolution_tile{4, 4, 1, 0}};

/// What full convolutions of few channels may take instead. Its number follows those of the tiles.
template <class C>
using sliding_kernel = sliding_device_kernel<C, sliding_tile{7, 7, 8}>;

/// Calls visit(kernel type) with the kernel whose tile is tiles<C>[which], or the sliding one.
template <class C, std::size_t Which = 0, class Visitor>
void with_direct_kernel(int which, const Visitor& visit) {
  if constexpr (Which < tiles<C>.size()) {
    if (which > static_cast<int>(Which)) return with_direct_kernel<C, Which + 1>(which, visit);
    visit(std::type_identity<direct_device_kernel<C, tiles<C>[Which]>> {});
  } else if constexpr (std::is_same_v<C, float>) {
    visit(std::type_identity<sliding_kernel<C>>{});
  }
}

struct timed_layout {
  direct_device_layout layout;  ///< without threads if none fits
  double time = std::numeric_limits<double>::infinity();
};

/// The layout with the least estimated time.
/// \param with_constants whether the kernel may have its weights in constant memory
template <class Exec, class T>
timed_layout best_layout(const Exec& instance, const convolution_problem<T>& problem, bool with_constants) {
  using C = compute_t<T>;
  const auto erased = direct_device_problem(problem);
  direct_device_layout best;
  best.threads = 0;
  team_resources resources = team_resources_of(instance);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t which = 0; which < tiles<C>.size(); ++which) {
    if (!tiles<C>[which].suits(erased)) continue;
    // Without pooling, tiles of two channels that keep weights took up to a third longer than those of one or three.
    if (tiles<C>[which].keeps_weights && tiles<C>[which].channels == 2 && !problem.is_pooled()) continue;
    resources.threads_of_multiprocessor = tiles<C>[which].resident_teams() * resources.threads_of_team;
    const direct_device_choice<C> choice(erased, sizeof(T), tiles<C>[which], resources);
    if (const auto found = choice.best(); found.time < least) {
      least = found.time;
      best = found.layout;
      best.tile = static_cast<int>(which);
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (const timed_window_layout found = best_window_layout(problem, resources, with_constants); found.time < least) {
      least = found.time;
      best = found.layout;
    }
  }
  if constexpr (std::is_same_v<C, float>) {
    const sliding_device_choice<C, sliding_kernel<C>> choice(erased, sizeof(T), resources);
    const double time = choice.suits() ? choice.estimate(choice.layout()) : least;
    if (time < least) {
      least = time;
      best = choice.layout();
      best.tile = static_cast<int>(tiles<C>.size());
    }
  }
  return {best, least};
}

/// The best layout, and the best for contexts that do not hold the constant memory.
struct layout_choice {
  timed_layout best;
  direct_device_layout without_constants;
};

/// The layouts, which are looked for once.
template <class Exec, class T>
layout_choice recent_choice(const Exec& instance, const convolution_problem<T>& problem) {
  thread_local recent_layouts<layout_choice, T> layouts;
  return layouts.find({problem, device_of(instance)}, [&]() -> layout_choice {
    const timed_layout best = best_layout(instance, problem, true);
    if (!has_constant_weights(best.layout)) return {best, best.layout};
    return {best, best_layout(instance, problem, false).layout};
  });
}

template <class Exec, class T>
std::string prepare_direct(const Exec& instance, const convolution_problem<T>& problem,
                           prepared_convolution& prepared) {
  if (std::string why_not = why_not_strict(problem); !why_not.empty()) return why_not;
  const layout_choice choice = recent_choice(instance, problem);
  prepared.layout = choice.best.layout;
  prepared.layout_without_constants = choice.without_constants;
  if (prepared.layout.threads > 0) return {};
  return "some rows of an image and the filters do not fit into a multiprocessor's memory";
}

template <class Exec, class T>
void run_direct(context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution& prepared) {
  static const std::string label = "prumo::convolve::direct";
  using C = compute_t<T>;
  const bool is_best = !has_constant_weights(prepared.layout) || holds_constant_memory(ctx);
  const direct_device_layout& layout = is_best ? prepared.layout : prepared.layout_without_constants;
  if constexpr (std::is_same_v<T, float>) {
    if (layout.tile >= first_window_kernel) return run_window_convolution(ctx.instance(), label, problem, layout);
  }
  const auto erased = direct_device_problem(problem);
  with_direct_kernel<C>(layout.tile, [&]<class Kernel>(std::type_identity<Kernel>) {
    prumo::detail::launch_teams(ctx.instance(), label, Kernel(erased, dtype_of<T>(), layout));
  });
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
double direct_device_time(const Exec& instance, const convolution_problem<T>& problem) {
  // The estimate is for layouts of `direct` among each other. Beside another kernel, chunks of channels take longer
  // than it says: 1.4 to 2.4 times as long in six convolutions of 32 to 512 channels on an H200.
  constexpr double of_chunks = 1.9;
  const timed_layout found = recent_choice(instance, problem).best;
  return (found.layout.chunks > 1 ? of_chunks : 1) * found.time;
}

template <class Exec, class T>
convolution_candidate<Exec, T> direct_device_candidate() {
  if constexpr (is_host_space<Exec>) {
    return {};
  } else {
    return {"direct", prepare_direct<Exec, T>, run_direct<Exec, T>};
  }
}

#define PRUMO_INSTANTIATE_DIRECT_CONVOLUTION(Space, T)                          \
  template convolution_candidate<Space, T> direct_device_candidate<Space, T>(); \
  template double direct_device_time<Space, T>(const Space&, const convolution_problem<T>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, bf16)

}  // namespace prumo::backend
