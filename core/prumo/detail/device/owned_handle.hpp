// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Owns the handles, events, descriptors and graphs of C libraries.

#include <utility>

namespace prumo::detail {

/// A handle, which is a pointer, and the library's function that destroys it. A member of this type is also destroyed
/// if the constructor of its owner throws later.
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

  /// The place where the library's function writes the new handle. Nothing must be owned yet.
  Handle* receive() { return &handle_; }

  /// For calls of the library.
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  Handle handle_ = nullptr;
};

}  // namespace prumo::detail
