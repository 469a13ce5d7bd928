// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The pages that large arrays of a host lie on. NumPy asks for huge ones, so whatever is measured beside arrays of
/// NumPy needs them, too: translating the addresses of small ones takes a quarter of the time of reading. No Kokkos:
/// peers in C++ do the same.

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace prumo::detail {

/// Asks the system to put memory that nobody has touched yet on its huge pages, where it is so large that NumPy asks
/// for the same. Does nothing where a system has no such request.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t least = std::size_t{4} << 20;  // as in NumPy
  if (bytes < least) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  // It is a wish: where the system refuses, memory is as good as it was.
  (void)madvise(static_cast<char*>(memory) + skipped, bytes - skipped, MADV_HUGEPAGE);
#endif
}

}  // namespace prumo::detail
