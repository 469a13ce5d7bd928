// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A net learns what a time step of a simulation does, and then takes its place in the time loop. The simulation is that
// of examples/heat: du/dt = d2u/dx2 + d2u/dy2 on the unit square with u = 0 on its edge, by central differences and
// Euler steps. The program's own kernel makes the training set, on the instance on which the net is trained: random
// fields, and what they are after a step. New ones are made again and again, and nothing leaves the device.
//
// The net is a filter of 3 x 3 weights. A step of this simulation is such a filter, so the program knows what has to be
// learned: 1/5 for a point and for each of its neighbours, and 0 at the corners.

#include <prumo/nets/training.hpp>
#include <prumo/prumo.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
/// Fields without their edges: [fields x 1 x rows x columns], as nets take images.
using fields = Kokkos::View<double****, Kokkos::LayoutRight, exec>;
namespace nets = prumo::nets;

constexpr int cells = 32;
constexpr int points = cells - 1;
/// The share of width^2 that is the time step.
constexpr double step_of_area = 0.2;

/// after = a time step of before, the edge of which is 0.
struct heat_step {
  fields before, after;

  KOKKOS_FUNCTION double value(int field, int i, int j) const {
    return i < 0 || j < 0 || i >= points || j >= points ? 0 : before(field, 0, i, j);
  }
  KOKKOS_FUNCTION void operator()(int field, int i, int j) const {
    const double neighbours =
        value(field, i - 1, j) + value(field, i + 1, j) + value(field, i, j - 1) + value(field, i, j + 1);
    const double u = value(field, i, j);
    after(field, 0, i, j) = u + step_of_area * (neighbours - 4 * u);
  }
};

/// u = sin(pi x) sin(pi y), which decays as exp(-2 pi^2 t).
struct sine_mode {
  fields u;
  KOKKOS_FUNCTION void operator()(int field, int i, int j) const {
    u(field, 0, i, j) =
        Kokkos::sin(std::numbers::pi * (i + 1) / cells) * Kokkos::sin(std::numbers::pi * (j + 1) / cells);
  }
};

template <class Functor>
void on_each_point(const char* label, const exec& instance, const fields& u, const Functor& functor) {
  using policy = Kokkos::MDRangePolicy<exec, Kokkos::Rank<3>>;
  const auto count = static_cast<int>(u.extent(0));
  Kokkos::parallel_for(label, policy(instance, {0, 0, 0}, {count, points, points}), functor);
}

nets::description filter() {
  return {"heat step",
          {1, points, points},
          {nets::convolution{.channels = 1, .filter = {3, 3}, .padding = {1, 1}, .bias = false}}};
}

/// The largest difference of two fields.
double distance(const fields& u, const fields& v) {
  const auto on_host = [](const fields& from) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), from);
  };
  const auto first = on_host(u), second = on_host(v);
  double largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    largest = std::max(largest, std::abs(first.data()[i] - second.data()[i]));
  }
  return largest;
}

/// The largest difference of the weights from those of the step.
double weights_error(const std::vector<double>& weights) {
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_corner = i % 2 == 0 && i != 4;
    largest = std::max(largest, std::abs(weights[i] - (is_corner ? 0 : step_of_area)));
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const exec instance = Kokkos::Experimental::partition_space(exec(), 1)[0];
  prumo::context<exec> ctx(instance);

  constexpr int count = 64;
  const fields before("before", count, 1, points, points), after("after", count, 1, points, points);
  nets::trainer<exec> training(ctx, filter(), {.loss = nets::loss::squared, .learning_rate = 2e-3, .batch = 8}, before,
                               after);
  training.initialize();

  std::printf("epoch   loss of a field   error of the weights\n");
  prumo::random_position position{.seed = 1};
  double error = 1;
  int epoch = 0;
  for (; epoch < 20 && error > 1e-14; ++epoch) {
    position = prumo::random_uniform(ctx, position, -1, 1, before);
    on_each_point("surrogate::heat_step", instance, before, heat_step{before, after});
    training.advance(training.steps_per_epoch());
    error = weights_error(training.weights());
    std::printf("%5d   %15.3e   %20.3e\n", epoch, training.progress().loss_sum / count, error);
  }

  // The same time loop twice: with the program's kernel, and with the net.
  constexpr int steps = 200;
  const fields u("u", 1, 1, points, points), v("v", 1, 1, points, points), next("next", 1, 1, points, points);
  on_each_point("surrogate::sine_mode", instance, u, sine_mode{u});
  on_each_point("surrogate::sine_mode", instance, v, sine_mode{v});
  const nets::forward_plan& net = training.plan();
  const Kokkos::View<double*, exec> arena("arena", static_cast<std::size_t>(net.arena_elements(1)));
  for (int step = 0; step < steps; step += 2) {
    on_each_point("surrogate::heat_step", instance, u, heat_step{u, next});
    on_each_point("surrogate::heat_step", instance, u, heat_step{next, u});
    net.run(ctx, v, training.device_weights(), arena, next);
    net.run(ctx, next, training.device_weights(), arena, v);
  }
  ctx.fence();
  const double decay = std::pow(1 - 8 * step_of_area * std::pow(std::sin(std::numbers::pi / 2 / cells), 2), steps);
  const double apart = distance(u, v);
  std::printf("after %d steps the mode has decayed to %.6f; kernel and net differ by %.1e\n", steps, decay, apart);
  const bool as_expected = error < 1e-12 && apart < 1e-10;
  if (!as_expected) std::printf("the weights should be those of the step, and both loops should agree\n");
  return as_expected ? 0 : 1;
}
