// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Large arrays are wanted on huge pages, as Linux tells of every mapping.

#include <prumo/detail/huge_pages.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace prumo::detail {
namespace {

/// The line `VmFlags:` of the mapping that holds an address, or an empty string where the system tells of none.
std::string flags_of_mapping(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream mappings("/proc/self/smaps");
  std::string line;
  bool is_here = false;
  while (std::getline(mappings, line)) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') is_here = begin <= wanted && wanted < end;
    if (is_here && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(large_arrays, are_wanted_on_huge_pages) {
  constexpr std::size_t bytes = std::size_t{16} << 20;
  const Kokkos::View<std::byte*, Kokkos::HostSpace> array(Kokkos::view_alloc(Kokkos::WithoutInitializing, "array"),
                                                          bytes);
  prefer_huge_pages(array.data(), bytes);
  const std::string flags = flags_of_mapping(array.data() + bytes / 2);
  if (flags.empty() || !std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system tells nothing of its pages";
  }
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
}

TEST(large_arrays, may_be_of_any_size) {
  prefer_huge_pages(nullptr, 0);
  std::byte small[64];
  prefer_huge_pages(small, sizeof(small));
}

}  // namespace
}  // namespace prumo::detail
