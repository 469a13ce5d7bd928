// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Ownership of what C libraries hand out: handles, events, descriptors, graphs.

#include <utility>

namespace prumo::detail {

/// A handle, which is a pointer, and the library's function that destroys it. As a member it is destroyed also where
/// the constructor of its owner throws later on.
template <class Handle, auto Destroy>
class owned_handle {
 public:
  owned_handle() = default;
  explicit owned_handle(Handle handle) : handle_(handle) {}
  owned_handle(owned_handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned_handle(const owned_handle&) = delete;
  owned_handle& operator=(const owned_handle&) = delete;
  owned_handle& operator=(owned_handle&&) = delete;
  ~owned_handle() {
    if (handle_ != nullptr) (void)Destroy(handle_);
  }

  /// Where the library's creating function writes the handle. Nothing is owned before.
  Handle* receive() { return &handle_; }

  /// For calls of the library.
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  Handle handle_ = nullptr;
};

}  // namespace prumo::detail
