// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layouts that were chosen before. A choice compares many layouts, which takes longer than a small convolution.

#include "convolution_problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::backend {

/// All that a layout may depend on: a problem, whose addresses tell their alignment alone, and the number of a device.
template <class T>
struct layout_key {
  convolution_problem<T> problem;
  int device = 0;

  layout_key() = default;
  layout_key(const convolution_problem<T>& of, int device_number) : problem(of), device(device_number) {
    keep_alignment(problem.x.data);
    keep_alignment(problem.w.data);
    keep_alignment(problem.y.data);
    if (problem.bias != nullptr) problem.bias = reinterpret_cast<const T*>(most_alignment);  // it is there
  }

  bool operator==(const layout_key&) const = default;

 private:
  static constexpr std::uintptr_t most_alignment = 256;

  template <class Pointer>
  static void keep_alignment(Pointer& data) {
    data = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(data) % most_alignment);
  }
};

/// The layouts that were chosen last, those of one thread.
template <class Layout, class T>
class recent_layouts {
 public:
  /// A net that takes its images in chunks has one for each convolution and each size of a chunk.
  static constexpr std::size_t most = 64;

  /// The layout that choose() returned for this key, which is called if that was too long ago.
  template <class Choose>
  Layout find(const layout_key<T>& key, const Choose& choose) {
    for (const entry& each : entries_) {
      if (each.key == key) return each.layout;
    }
    entry chosen{key, choose()};
    if (entries_.size() < most) return entries_.emplace_back(chosen).layout;
    entry& oldest = entries_[next_];
    next_ = (next_ + 1) % most;
    return (oldest = chosen).layout;
  }

 private:
  struct entry {
    layout_key<T> key;
    Layout layout;
  };
  std::vector<entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace prumo::backend
