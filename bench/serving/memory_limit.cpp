// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>
#include <prumo/serving/memory_limit.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#if defined(__APPLE__)
#include <mach/mach.h>
#endif

namespace prumo::protocol {
namespace {

namespace fs = std::filesystem;

/// The number in a file; unknown if there is no such file, or if it says `max`.
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

/// The number after `key` in a file of lines `key value`.
std::optional<std::int64_t> number_after(const fs::path& file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> lesser(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The bytes that a group with this limit may still use. Pages of files that were not used lately count as free,
/// because the system drops them if memory is short.
std::optional<std::int64_t> left_in_group(const fs::path& group, const char* limit_file, const char* usage_file,
                                          const char* inactive_key) {
  const auto limit = number_in(group / limit_file);
  const auto usage = number_in(group / usage_file);
  // The first version of control groups spells "no limit" as a number near 2^63.
  if (!limit || !usage || *limit > (std::int64_t{1} << 60)) return std::nullopt;
  const std::int64_t inactive = number_after(group / "memory.stat", inactive_key).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + inactive);
}

/// A limit holds for every group below it, so all groups of the path count. In a container, the path that the process
/// sees may not exist in the mounted tree. The root of the tree is then the container's own group.
std::optional<std::int64_t> left_on_path(const fs::path& mount, const fs::path& group, const char* limit_file,
                                         const char* usage_file, const char* inactive_key) {
  std::optional<std::int64_t> left = left_in_group(mount, limit_file, usage_file, inactive_key);
  fs::path current = mount;
  for (const fs::path& part : group.relative_path()) {
    current /= part;
    left = lesser(left, left_in_group(current, limit_file, usage_file, inactive_key));
  }
  return left;
}

}  // namespace

std::optional<std::int64_t> available_memory_bytes_linux(const fs::path& root) {
  std::optional<std::int64_t> available = number_after(root / "proc/meminfo", "MemAvailable:");
  if (available) *available *= 1024;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      available = lesser(available,
                         left_on_path(root / "sys/fs/cgroup", group, "memory.max", "memory.current", "inactive_file"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      available = lesser(available, left_on_path(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                                 "memory.usage_in_bytes", "total_inactive_file"));
    }
  }
  return available;
}

std::optional<std::int64_t> available_memory_bytes() {
#if defined(__linux__)
  return available_memory_bytes_linux("/");
#elif defined(__APPLE__)
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) !=
      KERN_SUCCESS) {
    return std::nullopt;
  }
  const std::int64_t free_pages = std::int64_t{pages.free_count} + pages.inactive_count + pages.purgeable_count;
  return free_pages * static_cast<std::int64_t>(vm_page_size);
#else
  return std::nullopt;
#endif
}

std::int64_t memory_reserve_bytes(std::int64_t available) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  return std::clamp(available / 16, 128 * mebibyte, 1024 * mebibyte);
}

void require_memory(const std::string& what, std::int64_t needed) {
  const auto available = available_memory_bytes();
  if (!available) return;
  const std::int64_t usable = std::max<std::int64_t>(0, *available - memory_reserve_bytes(*available));
  if (needed <= usable) return;
  throw request_error(error_kind::memory, what + " needs " + std::to_string(needed) + " bytes of memory, but only " +
                                              std::to_string(usable) + " bytes are available");
}

std::int64_t bytes_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

std::int64_t bytes_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

}  // namespace prumo::protocol
