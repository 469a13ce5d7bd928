// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layouts that were chosen before. A choice compares many layouts, which takes longer than a small convolution.

#include "convolution_problem.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

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
  /// The layout that choose() returned for this key, which is called if that was too long ago.
  template <class Choose>
  const Layout& find(const layout_key<T>& key, const Choose& choose) {
    for (const entry& each : entries_) {
      if (each.is_set && each.key == key) return each.layout;
    }
    entry& oldest = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    oldest = {key, choose(), true};
    return oldest.layout;
  }

 private:
  struct entry {
    layout_key<T> key;
    Layout layout;
    bool is_set = false;
  };
  std::array<entry, 16> entries_;
  std::size_t next_ = 0;
};

}  // namespace prumo::backend
