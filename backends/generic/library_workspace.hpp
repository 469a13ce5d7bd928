// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Memory that a context lends to a vendor's library.

#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace prumo::backend {

/// Memory for the temporaries of a library. It is no part of the context's workspace, because libraries keep its
/// address. It is allocated before anything is captured in a graph.
template <class Exec>
struct library_workspace {
  /// Throws memory_error, which names `library`, if the memory cannot be allocated.
  library_workspace(const Exec& instance, std::size_t wanted_bytes, std::string_view library) : bytes(wanted_bytes) {
    // Kokkos' memory begins after a header, so it may not be aligned.
    constexpr std::size_t alignment = 256;
    try {
      memory_ = memory_type(Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::gemm::library_workspace"),
                            bytes + alignment);
    } catch (const std::exception& cause) {
      throw memory_error("prumo::gemm: a workspace of " + std::to_string(bytes) + " bytes for " + std::string(library) +
                         " cannot be had: " + cause.what());
    }
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    data = memory_.data() + (alignment - address % alignment) % alignment;
  }

  void* data = nullptr;
  std::size_t bytes = 0;

 private:
  using memory_type = Kokkos::View<std::byte*, typename Exec::memory_space>;
  memory_type memory_;
};

}  // namespace prumo::backend
