// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_device_convolution.hpp"

#include "direct_device_choice.hpp"
#include "direct_device_kernel.hpp"
#include "recent_layouts.hpp"
#include "ring_device_kernel.hpp"
#include <prumo/detail/device/current_device.hpp>
#include <prumo/spaces.hpp>
#if defined(KOKKOS_ENABLE_CUDA)
#include "constant_claim.hpp"
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

struct window_kernel_form {
  convolution_tile tile;
  int window;
  bool has_ring;          ///< for images in bulk copies; otherwise teams take items of them
  bool of_bytes = false;  ///< for images of bytes

  /// Whether the device that kernels are compiled for has what it needs.
  constexpr bool is_compiled() const {
    return (!has_ring || has_bulk_copies) && (!tile.has_constant_weights || has_constant_operands);
  }
  /// Whether it computes the problem. Items of padded images took 5 % longer with constant weights than with kept ones.
  bool suits(const convolution_problem<float>& problem, bool with_constants) const {
    if (!is_compiled() || !tile.suits(problem)) return false;
    return !tile.has_constant_weights ||
           (with_constants && has_weights_without_gaps(problem) && (has_ring || !problem.is_padded()));
  }
};

/// The kernels that are compiled. Items are for images of one channel whose results take as long as the products.
constexpr std::array<window_kernel_form, 13> forms = {window_kernel_form{{3, 1, 4, 5, 5, true}, 1, false},
                                                      {{2, 4, 4, 5, 5, true}, 2, false},
                                                      {{6, 2, 4, 5, 5, true, false, 4, true}, 2, false},
                                                      {{6, 2, 4, 5, 5, true, false, 4, true}, 2, true},
                                                      {{4, 2, 4, 7, 7, true, false, 2, true}, 1, true},
                                                      {{4, 2, 4, 7, 7, true, false, 2, true}, 2, true},
                                                      {{2, 4, 4, 7, 7}, 1, true},
                                                      {{2, 4, 4, 7, 7}, 2, true},
                                                      {{2, 4, 4, 7, 7}, 4, true},
                                                      {{4, 6, 2, 5, 5, false, false, 2}, 1, true},
                                                      {{4, 6, 2, 5, 5, false, false, 2}, 2, true},
                                                      {{6, 2, 4, 5, 5, true, false, 4, true}, 2, true, true},
                                                      {{4, 2, 4, 7, 7, true, false, 2, true}, 2, true, true}};

/// Calls visit(kernel type) with that of a number, from Which on.
template <std::size_t Which = 0, class Visitor>
void with_kernel(std::size_t which, const Visitor& visit) {
  if constexpr (Which < forms.size()) {
    if (which > Which) return with_kernel<Which + 1>(which, visit);
    constexpr window_kernel_form form = forms[Which];
    if constexpr (form.is_compiled() && form.has_ring) {
      visit(std::type_identity<ring_device_kernel<float, form.tile, form.window, form.of_bytes>>{});
    } else if constexpr (form.is_compiled()) {
      visit(std::type_identity<direct_device_kernel<float, form.tile, form.window>>{});
    }
  }
}

template <bool OfBytes, std::size_t Which = 0>
void consider(const convolution_problem<float>& problem, team_resources resources, bool with_constants,
              timed_window_layout& best) {
  if constexpr (Which < forms.size()) {
    constexpr window_kernel_form form = forms[Which];
    if (form.of_bytes == OfBytes && form.suits(problem, with_constants) &&
        window_results<float, form.tile, form.window>::suits(problem)) {
      resources.threads_of_multiprocessor = std::int64_t{form.tile.resident_teams()} * resources.threads_of_team;
      const direct_device_choice<float> choice(problem, sizeof(float), form.tile, resources);
      timed_window_layout found;
      if constexpr (form.has_ring) {
        found.layout = choice.ring(form.tile.ring_threads(), form.of_bytes);
        if (found.layout.threads > 0) found.time = choice.estimate_ring(found.layout);
      } else {
        // Of the time of the kernel for any window: on an H200, whole images take 0.92 to 0.97 of it.
        constexpr double of_whole_images = 0.95;
        const auto of_items = choice.best();
        found = {of_items.layout, (of_items.layout.bands == 1 ? of_whole_images : 1.0) * of_items.time};
      }
      if (found.time < best.time) {
        best = found;
        best.layout.tile = first_window_kernel + static_cast<int>(Which);
      }
    }
    consider<OfBytes, Which + 1>(problem, resources, with_constants, best);
  }
}

/// Enqueues the copy of the weights to constant memory.
template <class Exec>
void bring_weights([[maybe_unused]] const Exec& instance, [[maybe_unused]] const convolution_problem<float>& problem) {
#if defined(KOKKOS_ENABLE_CUDA)
  const prumo::detail::current_device scope(instance);
  const auto bytes = static_cast<std::size_t>(problem.out_channels * problem.taps()) * sizeof(float);
  prumo::detail::require_success(cudaMemcpyToSymbolAsync(constant_weight_values, problem.w.data, bytes, 0,
                                                         cudaMemcpyDefault, instance.cuda_stream()),
                                 "cudaMemcpyToSymbolAsync");
#endif
}

template <class Exec>
void launch(const Exec& instance, const std::string& label, const convolution_problem<float>& problem,
            const direct_device_layout& layout, [[maybe_unused]] const byte_numbers& numbers) {
  with_kernel(static_cast<std::size_t>(layout.tile - first_window_kernel),
              [&]<class Kernel>(std::type_identity<Kernel>) {
                if constexpr (Kernel::tile.has_constant_weights) bring_weights(instance, problem);
                if constexpr (std::is_constructible_v<Kernel, decltype(problem), decltype(layout), byte_numbers>) {
                  prumo::detail::launch_teams(instance, label, Kernel(problem, layout, numbers));
                } else {
                  prumo::detail::launch_teams(instance, label, Kernel(problem, dtype::f32, layout));
                }
              });
}

/// The layout for images of bytes; no threads if none suits, or if it takes longer than to make numbers of them before.
template <class Exec>
direct_device_layout recent_byte_layout(const Exec& instance, const convolution_problem<float>& problem) {
  thread_local recent_layouts<direct_device_layout, float> layouts;
  return layouts.find({problem, device_of(instance)}, [&] {
    const team_resources resources = team_resources_of(instance);
    timed_window_layout best;
    consider<true>(problem, resources, true, best);
    // In cycles of a multiprocessor, as direct_device_estimate tells them. The first convolutions of two nets take 7 %
    // longer with bytes than with numbers.
    constexpr double longer = 1.07, launch_cycles = 4500, bytes_of_cycle = 28;
    const double bytes = 5.0 * static_cast<double>(problem.images * problem.in_channels) *
                         static_cast<double>(problem.height * problem.width);
    const double apart = direct_device_time<Exec, float>(instance, problem) + launch_cycles +
                         bytes / static_cast<double>(resources.multiprocessors) / bytes_of_cycle;
    return longer * best.time < apart ? best.layout : direct_device_layout{};
  });
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

timed_window_layout best_window_layout(const convolution_problem<float>& problem, const team_resources& resources,
                                       bool with_constants) {
  timed_window_layout best;
  consider<false>(problem, resources, with_constants, best);
  return best;
}

bool has_constant_weights(const direct_device_layout& layout) {
  return layout.tile >= first_window_kernel &&
         forms.at(static_cast<std::size_t>(layout.tile - first_window_kernel)).tile.has_constant_weights;
}

template <class Exec>
bool holds_constant_memory([[maybe_unused]] context<Exec>& owner) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return cuda::holds_constant_memory(owner);
#endif
  return false;
}

template <class Exec>
void run_window_convolution([[maybe_unused]] const Exec& instance, [[maybe_unused]] const std::string& label,
                            [[maybe_unused]] const convolution_problem<float>& problem,
                            [[maybe_unused]] const direct_device_layout& layout) {
  if constexpr (!is_host_space<Exec>) launch(instance, label, problem, layout, {});
}

template <class Exec>
bool run_byte_convolution([[maybe_unused]] context<Exec>& ctx,
                          [[maybe_unused]] const convolution_problem<float>& problem, [[maybe_unused]] double scale) {
  if constexpr (!is_host_space<Exec> && has_bulk_copies && has_constant_operands) {
    static const std::string label = "prumo::convolve_bytes::direct";
    if (problem.mode != gemm_mode::strict || !holds_constant_memory(ctx)) return false;
    const direct_device_layout layout = recent_byte_layout(ctx.instance(), problem);
    const auto numbers = byte_numbers::of(scale);
    if (layout.threads == 0 || !numbers) return false;
    launch(ctx.instance(), label, problem, layout, *numbers);
    return true;
  } else {
    return false;
  }
}

#define PRUMO_INSTANTIATE_WINDOW_CONVOLUTION(Space, T)                                                         \
  template bool holds_constant_memory<Space>(context<Space>&);                                                 \
  template void run_window_convolution<Space>(const Space&, const std::string&, const convolution_problem<T>&, \
                                              const direct_device_layout&);                                    \
  template bool run_byte_convolution<Space>(context<Space>&, const convolution_problem<T>&, double);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WINDOW_CONVOLUTION, float)

}  // namespace prumo::backend
