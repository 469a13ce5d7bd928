// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Ownership of what C libraries hand out: handles, events, descriptors, graphs.

#include <memory>
#include <type_traits>

namespace prumo::detail {

template <auto Destroy>
struct destroy_by {
  template <class Object>
  void operator()(Object* handle) const {
    (void)Destroy(handle);
  }
};

/// A handle, which is a pointer, and the library's function that destroys it. As a member it is destroyed also where
/// the constructor of its owner throws later on.
template <class Handle, auto Destroy>
using owned_handle = std::unique_ptr<std::remove_pointer_t<Handle>, destroy_by<Destroy>>;

}  // namespace prumo::detail
