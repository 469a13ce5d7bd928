// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Huge pages for large arrays of a host. NumPy asks for them, so everything that is measured beside NumPy needs them,
/// too. With small pages, a quarter of the time for reading goes into translating addresses. This header does not use
/// Kokkos, because the peers in C++ include it.

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace prumo::detail {

/// Asks the system for huge pages for memory that nobody has touched yet, if it is as large as where NumPy does the
/// same. Does nothing if the system has no such request.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t least = std::size_t{4} << 20;  // as in NumPy
  if (bytes < least) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  // If the system refuses, the memory can be used all the same.
  (void)madvise(static_cast<char*>(memory) + skipped, bytes - skipped, MADV_HUGEPAGE);
#endif
}

}  // namespace prumo::detail
