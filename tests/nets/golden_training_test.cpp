// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trainings beside PyTorch's, in f64, in every way to take a step: results, losses, gradients, and weights after some
// steps. golden_training.py wrote the numbers.

#include "host_copy.hpp"
#include "random_training.hpp"
#include <prumo/context.hpp>
#include <prumo/data/checkpoint.hpp>
#include <prumo/data/initial_weights.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/error.hpp>
#include <prumo/nets/reference.hpp>
#include <prumo/nets/training.hpp>
#include <prumo/nets/training_reference.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace prumo::data {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using numbers = std::vector<double>;
using nets::loss;
using nets::optimizer;

constexpr double roundoff = 0x1p-53;
constexpr optimizer all_optimizers[] = {optimizer::sgd, optimizer::momentum, optimizer::adam};

/// A file, and what it leaves out: the first weights.
class golden_file {
 public:
  explicit golden_file(const std::string& path)
      : file_(read_tensors(path)), net_(parse_net(file_.metadata.at("net"), path)) {
    for (const numbers& it : initial_weights(net_.description, static_cast<std::uint64_t>(number("seed")))) {
      first_.insert(first_.end(), it.begin(), it.end());
    }
  }

  const net& of() const { return net_; }
  const numbers& first() const { return first_; }
  double number(const std::string& name) const { return std::stod(file_.metadata.at(name)); }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  numbers array(const std::string& name) const { return doubles_of(*file_.find(name)); }
  const std::vector<std::uint8_t>& bytes(const std::string& name) const { return file_.find(name)->bytes; }
  std::size_t stride() const { return static_cast<std::size_t>(number("stride")); }
  std::size_t batch() const { return static_cast<std::size_t>(number("batch")); }

  /// The images [first, last) as numbers.
  numbers pixels(std::size_t first, std::size_t last) const {
    const auto size = static_cast<std::size_t>(net_.description.input.size());
    numbers found;
    for (std::size_t i = first * size; i < last * size; ++i) found.push_back(bytes("images")[i] / 255.0);
    return found;
  }

 private:
  tensor_file file_;
  net net_;
  numbers first_;
};

std::string name_of_training(loss which, optimizer how) {
  return std::string(name_of(which)) + "." + std::string(name_of(how));
}

/// The largest sums of magnitudes of the images' own gradients in the array of each weight, over all images.
numbers magnitudes(const golden_file& golden, loss which, const numbers& weights) {
  const std::vector<long double> exact(weights.begin(), weights.end());
  const std::vector<std::uint8_t>& labels = golden.bytes("labels");
  numbers sums(weights.size());
  for (std::size_t image = 0; image < labels.size(); ++image) {
    const numbers pixels = golden.pixels(image, image + 1);
    const nets::batch_gradient found =
        nets::exact_gradient(golden.of().description, which, exact, {pixels, std::span(labels).subspan(image, 1)});
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(std::fabs(found.gradient[i]));
  }
  std::size_t first = 0;
  for (const nets::parameter& it : golden.of().facts.all_parameters()) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(first), end = begin + it.size();
    std::fill(begin, end, *std::max_element(begin, end));
    first += static_cast<std::size_t>(it.size());
  }
  return sums;
}

/// How far two gradients of these images may be from each other, weight by weight: each is off by gamma(K) times the
/// magnitudes. A mean of the losses of a step is not larger than their sum, so this holds for each loss and step. K
/// counts the rounding of a pixel, too.
numbers gradient_bounds(const golden_file& golden, loss which, const numbers& weights) {
  const auto images = static_cast<std::int64_t>(golden.bytes("labels").size());
  const double terms = (nets::operations_on_longest_way(golden.of().facts, images) + 2) * roundoff;
  numbers bounds = magnitudes(golden, which, weights);
  for (double& it : bounds) it *= 2 * terms / (1 - terms);
  return bounds;
}

/// Adam's constants, as docs/training.md has them.
constexpr double adam_epsilon = 1e-8;

/// A change of a gradient changes the weight that one step of the optimizer makes by at most so much. Momentum goes on
/// with it: 1 + m + m^2 + ... times. Adam's change of a weight is at most about the rate, and its slope by the gradient
/// is at most the rate over epsilon: the worst case is a gradient that is zero but for roundings.
double change_of_weight(const nets::training_options& options, double change) {
  switch (options.optimizer) {
    case optimizer::sgd: return options.learning_rate * change;
    case optimizer::momentum: return options.learning_rate * change / (1 - options.momentum);
    case optimizer::adam: return options.learning_rate * std::min(2.0, change / adam_epsilon);
  }
  return 0;
}

/// The first step of Adam makes g / (|g| + epsilon) of a gradient, whose slope is epsilon / (|g| + epsilon)^2.
double change_of_first_step(const nets::training_options& options, double gradient, double change) {
  if (options.optimizer != optimizer::adam) return options.learning_rate * change;
  const double least = std::max(0.0, std::fabs(gradient) - change) + adam_epsilon;
  return options.learning_rate * std::min(2.0, change * adam_epsilon / (least * least));
}

double largest(const numbers& of) {
  double found = 0;
  for (const double it : of) found = std::max(found, std::fabs(it));
  return found;
}

numbers difference(const numbers& a, const numbers& b) {
  numbers found(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) found[i] = a[i] - b[i];
  return found;
}

class golden_training : public testing::TestWithParam<std::string> {
 protected:
  nets::trainer<exec> trainer(const nets::training_options& options, const numbers& weights) {
    nets::trainer<exec> made(ctx_, golden_.of().description, dtype::f64, options, golden_.bytes("images"),
                             golden_.bytes("labels"));
    made.set_weights(weights);
    return made;
  }
  /// The trainings that the file has.
  std::vector<std::pair<loss, optimizer>> trainings() const {
    std::vector<std::pair<loss, optimizer>> found;
    for (const loss which : tests::all_losses) {
      for (const optimizer how : all_optimizers) {
        if (golden_.has(name_of_training(which, how) + ".1")) found.emplace_back(which, how);
      }
    }
    return found;
  }
  nets::training_options options_of(loss which, optimizer how, const std::string& way) const {
    return {.loss = which,
            .optimizer = how,
            .learning_rate = golden_.number("rate." + std::string(name_of(how))),
            .momentum = golden_.number("momentum"),
            .batch = static_cast<std::int64_t>(golden_.batch()),
            .shuffle = false,
            .implementation = way};
  }
  /// Whether a way can train the net.
  bool can(const nets::training_options& options) {
    try {
      (void)trainer(options, golden_.first());
      return true;
    } catch (const unsupported_error&) {
      return false;
    }
  }

  /// gradient_bounds() of the first weights.
  const numbers& first_bounds(loss which) {
    numbers& known = first_bounds_[which];
    if (known.empty()) known = gradient_bounds(golden_, which, golden_.first());
    return known;
  }

  /// By how much small changes of the weights grow in a training, as the largest of some random ones shows; at least 1.
  /// The second are the weights at its end.
  std::pair<double, numbers> growth(const nets::training_options& options, std::int64_t steps) {
    constexpr double small = 0x1p-33;
    nets::trainer<exec> plain = trainer(options, golden_.first());
    plain.advance(steps);
    const numbers undisturbed = plain.weights();
    double found = 1;
    tests::random_training random(1);
    for (int direction = 0; direction < 3; ++direction) {
      numbers weights = golden_.first();
      for (double& it : weights) it += random.number() > 0 ? small : -small;
      nets::trainer<exec> disturbed = trainer(options, weights);
      disturbed.advance(steps);
      found = std::max(found, largest(difference(disturbed.weights(), undisturbed)) / small);
    }
    return {found, undisturbed};
  }

  /// Compares the numbers that the file keeps.
  void expect_near(const numbers& found, const std::string& name, const numbers& bounds, const std::string& what) {
    const numbers expected = golden_.array(name);
    const std::size_t stride = golden_.stride();
    ASSERT_EQ(expected.size(), (found.size() + stride - 1) / stride) << what;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double error = std::fabs(found[i * stride] - expected[i]);
      ASSERT_LE(error, bounds[i * stride]) << name << ", number " << i * stride << ", " << what;
    }
  }

  context<exec> ctx_;
  golden_file golden_{GetParam()};
  std::map<loss, numbers> first_bounds_;
};

TEST_P(golden_training, begins_with_the_same_weights) {
  const numbers kept = golden_.array("first");
  for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(golden_.first()[i * golden_.stride()], kept[i]) << i;
}

/// The reference bounds what each of the two is off.
TEST_P(golden_training, makes_the_same_of_images) {
  const nets::description& net = golden_.of().description;
  const nets::arithmetic how{.compute_roundoff = roundoff, .smallest_roundoff = nets::smallest_double_roundoff};
  for (const loss which : tests::all_losses) {
    const std::string name = std::string(name_of(which)) + ".results";
    if (!golden_.has(name)) continue;
    nets::trainer<exec> training = trainer({.loss = which, .shuffle = false}, golden_.first());
    const nets::forward_plan& plan = training.plan();
    const auto images = golden_.batch(), size = static_cast<std::size_t>(net.input.size());
    const auto classes = static_cast<std::size_t>(plan.facts().classes);
    const numbers pixels = golden_.pixels(0, images);
    using array = Kokkos::View<double*, exec>;
    const array x("x", pixels.size()), y("y", images * classes),
        arena("arena", static_cast<std::size_t>(plan.arena_elements(static_cast<std::int64_t>(images))));
    Kokkos::deep_copy(x, Kokkos::View<const double*, Kokkos::HostSpace>(pixels.data(), pixels.size()));
    const auto count = static_cast<std::int64_t>(images);
    plan.run(ctx_,
             array_ref(x.data(), dtype::f64, {count, net.input.channels, net.input.height, net.input.width}, {},
                       array_ref(x).memory),
             training.device_weights(), arena,
             array_ref(y.data(), dtype::f64, {count, plan.facts().classes}, {}, array_ref(y).memory));
    ctx_.fence();
    const auto found = tests::host_copy(y);
    const numbers expected = golden_.array(name);
    ASSERT_EQ(expected.size(), images * classes);
    for (std::size_t image = 0; image < images; ++image) {
      const auto exact = nets::exact_forward(net, golden_.first(), std::span(pixels).subspan(image * size, size), how);
      for (std::size_t k = 0; k < classes; ++k) {
        const std::size_t at = image * classes + k;
        ASSERT_NEAR(found(at), expected[at], 2 * static_cast<double>(exact[k].bound)) << name << ' ' << at;
      }
    }
  }
}

/// After one step: the loss of its images, the gradient (it is the first velocity), and the weights.
TEST_P(golden_training, takes_the_same_first_step) {
  for (const auto& [which, how] : trainings()) {
    const numbers& gradient_bound = first_bounds(which);
    for (const char* const way : {"layers", "fused", "persistent"}) {
      const nets::training_options options = options_of(which, how, way);
      if (!can(options)) continue;
      nets::trainer<exec> training = trainer(options, golden_.first());
      training.advance(1);
      const nets::training_state state = training.state();
      // A loss of an image is a sum of some terms of each class; gamma(K) of them and of what leads to its scores.
      const std::string of_loss(name_of(which));
      const double loss = golden_.array(of_loss + ".loss")[0];
      const double way_of_loss = nets::operations_on_longest_way(golden_.of().facts, 1);
      EXPECT_NEAR(state.progress.loss_sum, loss, 2 * way_of_loss * roundoff * (loss + 10)) << way << ", " << of_loss;
      const numbers& gradient = state.first_moments;
      if (how == optimizer::momentum) expect_near(gradient, of_loss + ".gradient", gradient_bound, way);
      numbers bounds = gradient_bound;
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        const double of_gradient = how == optimizer::adam ? gradient[i] / (1 - 0.9) : 0;
        bounds[i] = change_of_first_step(options, of_gradient, bounds[i]) + 4 * roundoff * std::fabs(state.weights[i]) +
                    32 * roundoff * std::fabs(state.weights[i] - golden_.first()[i]);
      }
      expect_near(state.weights, name_of_training(which, how) + ".1", bounds, way);
    }
  }
}

/// Errors of a step grow in those behind it as small changes do. So after some steps, the difference is at most the
/// number of steps times what one makes new, times this growth. What a step makes new follows from the gradients'
/// bounds, with the weights of the first and of the last step.
///
/// After 100 steps all devices are to agree to 1e-10, so each is held to half of it beside PyTorch. Adam divides by
/// gradients that may be little more than errors: its bound is wide, and after 100 steps it says nothing.
/// hundred_steps_test.cpp has a bound for that many steps, which it computes from Adam's moments during the training.
TEST_P(golden_training, ends_with_the_same_weights) {
  constexpr double of_devices = 1e-10;
  for (const auto& [which, how] : trainings()) {
    for (const std::int64_t steps : {std::int64_t{10}, std::int64_t{100}}) {
      const std::string name = name_of_training(which, how) + "." + std::to_string(steps);
      if (!golden_.has(name) || (how == optimizer::adam && steps == 100)) continue;
      const nets::training_options usual = options_of(which, how, "layers");
      const auto [grows, last] = growth(usual, steps);
      const double new_error = std::max(largest(first_bounds(which)), largest(gradient_bounds(golden_, which, last)));
      const double of_a_step = change_of_weight(usual, new_error) + 4 * roundoff * largest(last);
      const double analysed = static_cast<double>(steps) * grows * of_a_step;
      const double bound = steps == 100 ? std::min(analysed, of_devices / 2) : analysed;
      // The bound says something: it is far below what the steps have changed.
      EXPECT_LT(bound, (how == optimizer::adam ? 0.05 : 1e-4) * largest(difference(last, golden_.first()))) << name;
      for (const char* const way : {"layers", "fused", "persistent"}) {
        const nets::training_options options = options_of(which, how, way);
        if (!can(options)) continue;
        nets::trainer<exec> training = trainer(options, golden_.first());
        training.advance(steps);
        expect_near(training.weights(), name, numbers(last.size(), bound), way);
      }
    }
  }
}

std::vector<std::string> golden_files() {
  const char* const other = std::getenv("PRUMO_GOLDEN");
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(other != nullptr ? other : PRUMO_GOLDEN)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

std::string name_of_file(const testing::TestParamInfo<std::string>& path) {
  std::string name = std::filesystem::path(path.param).stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(nets, golden_training, testing::ValuesIn(golden_files()), name_of_file);

}  // namespace
}  // namespace prumo::data
