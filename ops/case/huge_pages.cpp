// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "huge_pages.hpp"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace prumo::cases::detail {

void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t least = std::size_t{4} << 20;  // as in NumPy
  if (bytes < least) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  // It is a wish: where the system refuses, memory is as good as it was.
  (void)madvise(static_cast<char*>(memory) + skipped, bytes - skipped, MADV_HUGEPAGE);
#endif
}

}  // namespace prumo::cases::detail
