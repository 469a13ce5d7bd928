// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/description.hpp>

#include <array>

namespace prumo::nets {
namespace {

extent2 square(std::int64_t side) { return {side, side}; }

convolution convolve(std::int64_t channels, std::int64_t side, activation activate, bool bias = true) {
  return {.channels = channels, .filter = square(side), .bias = bias, .activate = activate};
}

pooling max_pool(std::int64_t side, rounding round = rounding::down) {
  return {.kind = pooling_kind::maximum, .window = square(side), .stride = square(side), .round = round};
}

description ece408_2019() {
  return {"ece408-2019",
          {1, 48, 48},
          {convolve(6, 5, activation::tanh, false), max_pool(2), convolve(16, 5, activation::tanh, false), max_pool(2),
           dense{128, true, activation::tanh}, dense{10, true, activation::none}, softmax{}}};
}

description ece408_2020() {
  return {"ece408-2020",
          {1, 86, 86},
          {convolve(4, 7, activation::relu), max_pool(2), convolve(16, 7, activation::relu), max_pool(4, rounding::up),
           dense{32, true, activation::relu}, dense{10, true, activation::none}, softmax{}}};
}

description mnist_2f() {
  return {"mnist-2f",
          {1, 28, 28},
          {convolve(6, 5, activation::sigmoid),
           shared_convolution{.filter = square(4), .stride = square(4), .activate = activation::sigmoid},
           dense{10, true, activation::sigmoid}}};
}

description lenet5() {
  convolution first = convolve(6, 5, activation::relu);
  first.padding = square(2);
  return {"lenet5",
          {1, 28, 28},
          {first, max_pool(2), convolve(16, 5, activation::relu), max_pool(2), dense{120, true, activation::relu},
           dense{84, true, activation::relu}, dense{10, true, activation::none}}};
}

struct known_net {
  std::string_view name;
  description (*make)();
};

constexpr std::array<known_net, 4> nets{
    {{"ece408-2019", ece408_2019}, {"ece408-2020", ece408_2020}, {"mnist-2f", mnist_2f}, {"lenet5", lenet5}}};

}  // namespace

std::span<const std::string_view> known_nets() {
  static constexpr std::array<std::string_view, nets.size()> names{nets[0].name, nets[1].name, nets[2].name,
                                                                   nets[3].name};
  return names;
}

description named_net(std::string_view name) {
  for (const known_net& it : nets) {
    if (it.name == name) return it.make();
  }
  throw std::out_of_range("prumo::nets: there is no net '" + std::string(name) +
                          "'; there are ece408-2019, ece408-2020, mnist-2f and lenet5");
}

}  // namespace prumo::nets
