// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_kernels.hpp"

#include "training_step.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/math.hpp>

#include <string>

namespace prumo::nets {
namespace {

using prumo::detail::host_work;
using prumo::detail::launch_blocks;

/// Each image of the step is one thread's. The counters change only in the kernel behind this one.
struct choice_kernel {
  image_choice choice;
  std::int64_t images_of_step, steps_per_epoch;
  const training_counters* counters;
  const std::uint8_t* set_labels;
  std::int64_t* index;
  std::int32_t* labels;

  KOKKOS_FUNCTION std::int64_t blocks() const { return images_of_step; }
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const bool begins_epoch = counters->step == steps_per_epoch;
    const std::int64_t epoch = counters->epoch + (begins_epoch ? 1 : 0), step = begins_epoch ? 0 : counters->step;
    const std::int64_t image = choice(epoch, step, place);
    index[place] = image;
    if (set_labels != nullptr) labels[place] = set_labels[image];
  }
};

/// The end of a step is counted here, too: what follows reads the sums and the optimizer's step only.
struct count_kernel {
  training_counters* counters;
  std::int64_t steps_per_epoch;

  KOKKOS_FUNCTION std::int64_t blocks() const { return 1; }
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    begin_step(*counters, steps_per_epoch);
    end_step(*counters);
  }
};

template <class T>
struct half_kernel {
  training_counters* counters;
  const T* number;

  KOKKOS_FUNCTION std::int64_t blocks() const { return 1; }
  KOKKOS_FUNCTION void operator()(std::int64_t) const { counters->sums[0] += 0.5 * static_cast<double>(*number); }
};

template <class T>
struct softmax_backward_kernel {
  const T *y, *dy;
  T* dx;
  std::int64_t images, classes;

  KOKKOS_FUNCTION std::int64_t blocks() const { return images; }
  KOKKOS_FUNCTION void operator()(std::int64_t image) const {
    const std::int64_t begin = image * classes;
    T sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum = prumo::fma(y[begin + k], dy[begin + k], sum);
    for (std::int64_t k = 0; k < classes; ++k) dx[begin + k] = y[begin + k] * (dy[begin + k] - sum);
  }
};

template <class Exec, class T>
void launch_softmax_backward(const Exec& instance, const array_ref& y, const array_ref& dy, const array_ref& dx) {
  static const std::string label = "prumo::nets::training::softmax_backward";
  const softmax_backward_kernel<T> kernel{y.as<const T>(), dy.as<const T>(), dx.as<T>(), y.extents[0], y.extents[1]};
  launch_blocks(instance, label, kernel, host_work::repeated(y.size(), 1));
}

}  // namespace

void begin_step_of_layers(instance_ref space, const training_task& task, const array_ref& index,
                          const array_ref& labels) {
  static const std::string choice_label = "prumo::nets::training::images", count_label = "prumo::nets::training::count";
  constexpr double of_an_image = 200;  // nanoseconds
  const std::int64_t images = index.extents[0];
  const choice_kernel choice{image_choice(task),
                             images,
                             task.steps_per_epoch(),
                             task.counters,
                             task.labels.as<const std::uint8_t>(),
                             index.as<std::int64_t>(),
                             labels.as<std::int32_t>()};
  prumo::detail::with_space(space.space(), [&]<class Exec> {
    const Exec& instance = space.instance<Exec>();
    launch_blocks(instance, choice_label, choice, host_work::repeated(images, of_an_image));
    launch_blocks(instance, count_label, count_kernel{task.counters, task.steps_per_epoch()},
                  host_work::repeated(1, 1));
  });
}

void add_half_to_loss(instance_ref space, const training_task& task, const array_ref& number) {
  static const std::string label = "prumo::nets::training::loss";
  prumo::detail::with_space(space.space(), [&]<class Exec> {
    const Exec& instance = space.instance<Exec>();
    const host_work work = host_work::repeated(1, 1);
    if (number.type == dtype::f64) {
      launch_blocks(instance, label, half_kernel<double>{task.counters, number.as<const double>()}, work);
    } else {
      launch_blocks(instance, label, half_kernel<float>{task.counters, number.as<const float>()}, work);
    }
  });
}

void softmax_backward(instance_ref space, const array_ref& y, const array_ref& dy, const array_ref& dx) {
  prumo::detail::with_space(space.space(), [&]<class Exec> {
    const Exec& instance = space.instance<Exec>();
    if (y.type == dtype::f64) return launch_softmax_backward<Exec, double>(instance, y, dy, dx);
    launch_softmax_backward<Exec, float>(instance, y, dy, dx);
  });
}

}  // namespace prumo::nets
