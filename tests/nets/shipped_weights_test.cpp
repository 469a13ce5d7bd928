// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights in nets/weights are those that the README names, and recognize as many images as it says.

#include <prumo/context.hpp>
#include <prumo/data/digits.hpp>
#include <prumo/data/resize.hpp>
#include <prumo/data/weights_file.hpp>
#include <prumo/nets/forward_plan.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace prumo::data {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using numbers = Kokkos::View<float*, exec>;

constexpr std::int64_t images = 1000;

std::vector<std::string> shipped_nets() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PRUMO_WEIGHTS)) {
    constexpr std::string_view end = "-digits.safetensors";
    const std::string name = entry.path().filename().string();
    if (name.ends_with(end)) names.push_back(name.substr(0, name.size() - end.size()));
  }
  std::ranges::sort(names);
  return names;
}

weights_file shipped(const std::string& net) {
  return read_weights(std::string(PRUMO_WEIGHTS) + "/" + net + "-digits.safetensors");
}

/// The first test images of the usual digits, in the size that the net takes.
labelled_images test_images(const nets::image_shape& shape) {
  labelled_images set = generate_digits(usual_train_images, images);
  if (shape.height != set.images.height || shape.width != set.images.width) {
    set.images = resized(set.images, shape.height, shape.width, resizing::area);
  }
  return set;
}

numbers on_device(const std::vector<float>& values) {
  const numbers result("values", values.size());
  Kokkos::deep_copy(result, Kokkos::View<const float*, Kokkos::HostSpace>(values.data(), values.size()));
  return result;
}

std::string text_of_readme() {
  std::ifstream text(PRUMO_WEIGHTS "/README.md");
  return {std::istreambuf_iterator<char>(text), {}};
}

/// How many of the first test images the README says that the net recognizes.
double recognized_in_readme(const std::string& net) {
  std::istringstream lines(text_of_readme());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `" + net + "-digits.safetensors`")) continue;
    std::istringstream row(line);
    std::string cell;
    for (int column = 0; column < 5; ++column) std::getline(row, cell, '|');
    return std::stod(cell);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// How many of the images the net recognizes, as prumo computes it.
std::int64_t recognized(const nets::description& net, const net_weights& weights, const labelled_images& set) {
  const nets::forward_plan plan(net, dtype::f32);
  const auto extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  std::vector<float> packed(extent(plan.weights_elements()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::ranges::copy(weights[i], packed.begin() + plan.parameters()[i].offset);
  }
  std::vector<float> pixels(set.images.pixels.size());
  std::ranges::transform(set.images.pixels, pixels.begin(),
                         [](std::uint8_t byte) { return static_cast<float>(byte) / 255.0F; });
  const numbers arena("arena", extent(plan.arena_elements(images)));
  const std::int64_t classes = plan.facts().classes;
  const Kokkos::View<float**, Kokkos::LayoutRight, exec> y("y", extent(images), extent(classes));
  const numbers x = on_device(pixels);
  context<exec> ctx;
  const array_ref batch(x.data(), dtype::f32, {images, net.input.channels, net.input.height, net.input.width}, {},
                        array_ref(x).memory);
  plan.run(ctx, batch, on_device(packed), arena, y);
  ctx.fence();
  const auto scores = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < extent(images); ++i) {
    const float* const row = &scores(i, 0);
    right += std::max_element(row, row + classes) - row == set.labels.classes[i] ? 1 : 0;
  }
  return right;
}

TEST(shipped_weights, are_those_that_the_readme_names) {
  const std::string readme = text_of_readme();
  const std::vector<std::string> nets = shipped_nets();
  EXPECT_THAT(nets, testing::ElementsAre("ece408-2019", "ece408-2020", "lenet5", "mnist-2f"));
  for (const std::string& net : nets) {
    const weights_file file = shipped(net);
    EXPECT_THAT(readme, testing::HasSubstr(net + "-digits.safetensors"));
    EXPECT_THAT(readme, testing::HasSubstr(file.sha256)) << net;
    EXPECT_EQ(file.trained_on, "digits") << net;
    EXPECT_EQ(file.tensors.metadata.at("net"), net);
    EXPECT_LT(std::filesystem::file_size(file.path), 400000U) << net;
  }
}

TEST(shipped_weights, recognize_the_generated_digits) {
  for (const std::string& net : shipped_nets()) {
    const nets::description description = nets::named_net(net);
    const weights_file file = shipped(net);
    const std::int64_t right =
        recognized(description, weights_for(description, file.tensors, file.path), test_images(description.input));
    // Another device adds in another order, which may decide between two classes that are nearly alike.
    EXPECT_NEAR(static_cast<double>(right), recognized_in_readme(net), 1) << net;
  }
}

/// They recognize as many of the test images as the weights that PyTorch trained before, but for 0.3 points.
TEST(shipped_weights, are_as_good_as_those_of_pytorch) {
  for (const auto& [net, of_pytorch] : {std::pair{"lenet5", 0.9956}, std::pair{"ece408-2019", 0.9977},
                                        std::pair{"ece408-2020", 0.9889}, std::pair{"mnist-2f", 0.9584}}) {
    EXPECT_GE(shipped(net).stated_accuracy.value_or(0), of_pytorch - 0.003) << net;
  }
}

}  // namespace
}  // namespace prumo::data
