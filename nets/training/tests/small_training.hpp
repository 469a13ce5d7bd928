// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net, a set of random images and a trainer for tests.

#include "random_training.hpp"
#include <prumo/context.hpp>
#include <prumo/error.hpp>
#include <prumo/nets/image_order.hpp>
#include <prumo/nets/training.hpp>
#include <prumo/nets/training_reference.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::tests {

/// The largest magnitude of the differences of two arrays of equal length.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

/// Random images of a net with random labels.
struct small_set {
  nets::description net;
  nets::net_facts facts;
  std::int64_t images;
  std::vector<double> weights;
  std::vector<std::uint8_t> pixels, labels;

  small_set(const nets::description& of, std::int64_t count) : net(of), facts(nets::facts_of(of)), images(count) {
    random_training random(5);
    weights = random.weights(facts);
    pixels = random.bytes(count * net.input.size(), 256);
    labels = random.bytes(count, facts.classes);
  }

  template <class Exec>
  nets::trainer<Exec> trainer(context<Exec>& ctx, const nets::training_options& options,
                              dtype type = dtype::f64) const {
    nets::trainer<Exec> made(ctx, net, type, options, pixels, labels);
    made.set_weights(weights);
    return made;
  }

  /// The implementations that can train the net with these options.
  template <class Exec>
  std::vector<std::string> implementations(context<Exec>& ctx, nets::training_options options,
                                           dtype type = dtype::f64) const {
    std::vector<std::string> able;
    for (const char* const each : {"layers", "fused", "persistent"}) {
      options.implementation = each;
      try {
        (void)nets::trainer<Exec>(ctx, net, type, options, pixels, labels);
        able.emplace_back(each);
      } catch (const unsupported_error&) {
      }
    }
    return able;
  }

  /// The images of a step of an epoch, and their labels.
  struct batch {
    std::vector<double> pixels;
    std::vector<std::uint8_t> labels;
    nets::labelled_images view() const { return {pixels, labels}; }
  };
  /// \param type the pixels are rounded to it
  batch batch_of(const nets::training_options& options, std::int64_t epoch, std::int64_t step, dtype type) const {
    batch result;
    const std::int64_t first = step * options.batch, last = std::min(images, first + options.batch);
    for (std::int64_t index = first; index < last; ++index) {
      const std::int64_t image =
          options.shuffle ? nets::image_of(options.seed, static_cast<std::uint64_t>(epoch), index, images) : index;
      for (std::int64_t i = 0; i < net.input.size(); ++i) {
        const double pixel = pixels[static_cast<std::size_t>(image * net.input.size() + i)] * (1.0 / 255);
        result.pixels.push_back(type == dtype::f32 ? static_cast<double>(static_cast<float>(pixel)) : pixel);
      }
      result.labels.push_back(labels[static_cast<std::size_t>(image)]);
    }
    return result;
  }
};

}  // namespace prumo::tests
