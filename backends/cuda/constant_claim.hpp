// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Who may use prumo's arrays in the constant memory of a device.

#include <prumo/context.hpp>

#include <Kokkos_Core.hpp>

namespace prumo::backend::cuda {

/// Lets one context of each device write to constant memory. Such memory belongs to the process, so kernels of two
/// contexts would read each other's values. The first context that asks keeps it until it is destroyed. Other contexts
/// use kernels that do not need it.
///
/// When a context is destroyed, its work may still be under way. So the stream of the next owner waits for that work.
class constant_claim {
 public:
  explicit constant_claim(const Kokkos::Cuda& instance) : instance_(instance) {}
  constant_claim(constant_claim&& other) noexcept;
  constant_claim(const constant_claim&) = delete;
  constant_claim& operator=(const constant_claim&) = delete;
  constant_claim& operator=(constant_claim&&) = delete;
  ~constant_claim();

  /// Whether the constant memory is this context's. While its stream is captured, a context only keeps what it has.
  bool holds();

 private:
  Kokkos::Cuda instance_;
  bool holds_ = false;
};

/// Whether the constant memory of the context's device is the context's.
bool holds_constant_memory(context<Kokkos::Cuda>& owner);

}  // namespace prumo::backend::cuda
