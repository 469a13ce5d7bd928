// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions that tests compute by each implementation.

#include <prumo/convolution.hpp>
#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <string_view>

namespace prumo::tests {

/// Calls visit(options) for each implementation that can compute the convolution.
template <class X, class W, class Y, class Visitor>
void for_each_implementation(const X& x, const W& w, const Y& y, convolution_options options, const Visitor& visit) {
  const Kokkos::DefaultExecutionSpace space;
  const instance_ref instance(space);
  const array_ref x_array(x), w_array(w), y_array(y);
  for (const std::string_view name : convolution_implementations(instance.space(), y_array.type)) {
    options.implementation = name;
    try {
      convolution_implementation(instance, x_array, w_array, y_array, options);
    } catch (const unsupported_error&) {
      continue;
    }
    visit(options);
  }
}

}  // namespace prumo::tests
