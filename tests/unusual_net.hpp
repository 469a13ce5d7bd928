// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/description.hpp>

namespace prumo::tests {

/// No size of the known nets, and every kind of layer, with strides and paddings that differ between rows and columns.
inline nets::description unusual_net() {
  return {
      "unusual",
      {3, 37, 29},
      {nets::convolution{
           .channels = 5, .filter = {3, 4}, .stride = {2, 1}, .padding = {1, 2}, .activate = nets::activation::tanh},
       nets::pooling{
           .kind = nets::pooling_kind::average, .window = {3, 2}, .stride = {2, 2}, .round = nets::rounding::up},
       nets::shared_convolution{.filter = {2, 3}, .stride = {1, 2}, .activate = nets::activation::relu},
       nets::pooling{.kind = nets::pooling_kind::maximum, .window = {2, 3}, .stride = {1, 1}, .padding = {1, 1}},
       nets::convolution{.channels = 9, .filter = {2, 2}, .bias = false},
       nets::dense{21, false, nets::activation::sigmoid}, nets::dense{17}, nets::softmax{}}};
}

}  // namespace prumo::tests
