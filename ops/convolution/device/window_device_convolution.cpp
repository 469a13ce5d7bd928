// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_device_convolution.hpp"

#include "direct_device_choice.hpp"
#include "direct_device_kernel.hpp"
#include "ring_device_kernel.hpp"
#include <prumo/spaces.hpp>

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
  bool has_ring;  ///< for images in bulk copies; otherwise teams take items of them
};

/// The kernels that are compiled. Items are for images of one channel whose results take as long as the products.
constexpr std::array<window_kernel_form, 9> forms = {window_kernel_form{{3, 1, 4, 5, 5, true}, 1, false},
                                                     {{2, 4, 4, 5, 5, true}, 2, false},
                                                     {{2, 4, 4, 7, 7, true, false, 2}, 1, true},
                                                     {{2, 4, 4, 7, 7, true, false, 2}, 2, true},
                                                     {{2, 4, 4, 7, 7}, 1, true},
                                                     {{2, 4, 4, 7, 7}, 2, true},
                                                     {{2, 4, 4, 7, 7}, 4, true},
                                                     {{4, 6, 2, 5, 5, false, false, 2}, 1, true},
                                                     {{4, 6, 2, 5, 5, false, false, 2}, 2, true}};

/// Calls visit(kernel type) with that of a number, from Which on.
template <std::size_t Which = 0, class Visitor>
void with_kernel(std::size_t which, const Visitor& visit) {
  if constexpr (Which < forms.size()) {
    if (which > Which) return with_kernel<Which + 1>(which, visit);
    constexpr window_kernel_form form = forms[Which];
    if constexpr (!form.has_ring) {
      visit(std::type_identity<direct_device_kernel<float, form.tile, form.window>>{});
    } else if constexpr (has_bulk_copies) {
      visit(std::type_identity<ring_device_kernel<float, form.tile, form.window>>{});
    }
  }
}

template <std::size_t Which = 0>
void consider(const convolution_problem<float>& problem, team_resources resources, timed_window_layout& best) {
  if constexpr (Which < forms.size()) {
    constexpr window_kernel_form form = forms[Which];
    const bool suits = form.tile.suits(problem) && window_results<float, form.tile, form.window>::suits(problem);
    if (suits && (has_bulk_copies || !form.has_ring)) {
      resources.threads_of_multiprocessor = std::int64_t{form.tile.resident_teams()} * resources.threads_of_team;
      const direct_device_choice<float> choice(problem, sizeof(float), form.tile, resources);
      timed_window_layout found;
      if constexpr (form.has_ring) {
        found.layout = choice.ring(form.tile.ring_threads());
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
    consider<Which + 1>(problem, resources, best);
  }
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

timed_window_layout best_window_layout(const convolution_problem<float>& problem, const team_resources& resources) {
  timed_window_layout best;
  consider(problem, resources, best);
  return best;
}

template <class Exec>
void run_window_convolution([[maybe_unused]] const Exec& instance, [[maybe_unused]] const std::string& label,
                            [[maybe_unused]] const convolution_problem<float>& problem,
                            [[maybe_unused]] const direct_device_layout& layout) {
  if constexpr (!is_host_space<Exec>) {
    with_kernel(static_cast<std::size_t>(layout.tile - first_window_kernel),
                [&]<class Kernel>(std::type_identity<Kernel>) {
                  prumo::detail::launch_teams(instance, label, Kernel(problem, dtype::f32, layout));
                });
  }
}

#define PRUMO_INSTANTIATE_WINDOW_CONVOLUTION(Space, T)                                                         \
  template void run_window_convolution<Space>(const Space&, const std::string&, const convolution_problem<T>&, \
                                              const direct_device_layout&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WINDOW_CONVOLUTION, float)

}  // namespace prumo::backend
