// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation du/dt = d2u/dx2 + d2u/dy2 on the unit square, with u = 0 on its edge. It is solved by central
// differences and explicit Euler steps. It begins with sin(pi x) sin(pi y), which decays as exp(-2 pi^2 t), so the
// error of every grid is known. It must fall to a quarter when the cells become half as wide.
//
// The program has its own Kokkos, execution space instance, views and stencil. It hands them to prumo as they are.

#include <prumo/prumo.hpp>

#include <cmath>
#include <cstdio>
#include <numbers>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using field = Kokkos::View<double**, exec>;
using number = Kokkos::View<double, exec>;

constexpr double end_time = 0.1;

/// u = sin(pi x) sin(pi y), on points and edges.
struct sine_mode {
  field u;
  double width;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    u(i, j) = Kokkos::sin(std::numbers::pi * i * width) * Kokkos::sin(std::numbers::pi * j * width);
  }
};

/// rate = the five-point Laplacian of u. rate has the inner points only.
struct laplacian {
  field u;
  field rate;
  double per_area;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    const double neighbours = u(i, j + 1) + u(i + 2, j + 1) + u(i + 1, j) + u(i + 1, j + 2);
    rate(i, j) = (neighbours - 4 * u(i + 1, j + 1)) * per_area;
  }
};

/// A formula for prumo::transform: it takes one value of each input and returns the value of the output.
struct euler_step {
  double time_step;
  KOKKOS_FUNCTION double operator()(double u, double rate) const { return u + time_step * rate; }
};

struct square {
  KOKKOS_FUNCTION double operator()(double x) const { return x * x; }
};

template <class Functor>
void on_each_point(const char* label, const exec& instance, int points, const Functor& functor) {
  using policy = Kokkos::MDRangePolicy<exec, Kokkos::Rank<2>>;
  Kokkos::parallel_for(label, policy(instance, {0, 0}, {points, points}), functor);
}

/// The points that are not on the edge, as a view with gaps between its rows.
auto inner_points(const field& u) {
  const auto range = Kokkos::pair<std::size_t, std::size_t>(1, u.extent(0) - 1);
  return Kokkos::subview(u, range, range);
}

struct outcome {
  int steps = 0;
  double error = 0;   ///< root mean square of the difference from exp(-2 pi^2 t) sin(pi x) sin(pi y)
  double energy = 0;  ///< integral of u^2
};

class heat_solver {
 public:
  heat_solver(const exec& instance, int cells)
      : instance_(instance),
        cells_(cells),
        u_("u", cells + 1, cells + 1),
        rate_("rate", cells - 1, cells - 1),
        scratch_("scratch", cells - 1, cells - 1),
        total_("total") {
    on_each_point("heat::sine_mode", instance_, cells_ + 1, sine_mode{u_, 1.0 / cells_});
  }

  outcome run() {
    const double width = 1.0 / cells_;
    // The time step is width^2 / 5 or less. Euler steps are stable up to width^2 / 4.
    const int steps = static_cast<int>(std::ceil(end_time / (width * width / 5)));
    const double time_step = end_time / steps;
    const auto inner = inner_points(u_);
    for (int step = 0; step < steps; ++step) {
      on_each_point("heat::laplacian", instance_, cells_ - 1, laplacian{u_, rate_, 1 / (width * width)});
      prumo::transform(context_, euler_step{time_step}, inner, rate_, inner);  // in place
    }
    return {steps, error(), sum_of_squares(inner) * width * width};
  }

 private:
  template <class View>
  double sum_of_squares(const View& values) {
    prumo::transform(context_, square{}, values, scratch_);
    prumo::sum(context_, scratch_, total_);
    double result = 0;
    Kokkos::deep_copy(instance_, result, total_);
    context_.fence();
    return result;
  }

  double error() {
    const field exact("exact", cells_ + 1, cells_ + 1);
    on_each_point("heat::sine_mode", instance_, cells_ + 1, sine_mode{exact, 1.0 / cells_});
    // u - exp(-2 pi^2 t) sin(pi x) sin(pi y)
    prumo::scale(context_, -std::exp(-2 * std::numbers::pi * std::numbers::pi * end_time), exact, exact);
    prumo::add(context_, u_, exact, exact);
    return std::sqrt(sum_of_squares(inner_points(exact))) / cells_;
  }

  exec instance_;
  prumo::context<exec> context_{instance_};
  int cells_;
  field u_;
  field rate_;
  field scratch_;
  number total_;
};

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const exec instance = Kokkos::Experimental::partition_space(exec(), 1)[0];
  const double decay = std::exp(-4 * std::numbers::pi * std::numbers::pi * end_time);

  std::printf("cells       steps   error       order   energy / exact\n");
  bool as_expected = true;
  double coarser_error = 0;
  for (const int cells : {8, 16, 32, 64}) {
    const outcome found = heat_solver(instance, cells).run();
    const double energy = found.energy / (0.25 * decay);
    std::printf("%3d x %3d %7d   %.4e", cells, cells, found.steps, found.error);
    if (coarser_error > 0) {
      const double order = std::log2(coarser_error / found.error);
      as_expected = as_expected && std::abs(order - 2) < 0.05;
      std::printf("%8.3f", order);
    } else {
      std::printf("%8s", "-");
    }
    std::printf("   %.6f\n", energy);
    coarser_error = found.error;
    as_expected = as_expected && std::abs(energy - 1) < 20.0 / (cells * cells);
  }
  if (!as_expected) std::printf("the order should be 2, and the energy should be that of the decaying mode\n");
  return as_expected ? 0 : 1;
}
