// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/serving/last_level_cache.hpp>

#include <fstream>
#include <map>
#include <string>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <cstdint>
#include <sys/sysctl.h>
#endif

namespace prumo::protocol {
namespace {

struct cache {
  int level = 0;
  std::size_t bytes = 0;
  std::string processors;  ///< that share it
};

/// None if the folder has no cache of data.
cache read_cache(const std::filesystem::path& folder) {
  cache found;
  std::string kind;
  std::size_t kibibytes = 0;
  std::ifstream(folder / "type") >> kind;
  std::ifstream(folder / "level") >> found.level;
  std::ifstream(folder / "size") >> kibibytes;  // the kernel always writes K
  std::ifstream(folder / "shared_cpu_list") >> found.processors;
  if (kind == "Instruction" || kibibytes == 0) return {};
  found.bytes = kibibytes * 1024;
  return found;
}

std::vector<int> usable_processors() {
  std::vector<int> result;
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return result;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) result.push_back(processor);
  }
#endif
  return result;
}

}  // namespace

std::size_t last_level_cache_bytes(const std::filesystem::path& system, const std::vector<int>& processors) {
  int last = 0;
  std::map<std::string, std::size_t> caches;  // bytes of each; the key lists the processors that share it
  for (const int processor : processors) {
    const std::filesystem::path folder = system / ("cpu" + std::to_string(processor)) / "cache";
    for (int index = 0; std::filesystem::exists(folder / ("index" + std::to_string(index))); ++index) {
      cache found = read_cache(folder / ("index" + std::to_string(index)));
      if (found.level < last || found.bytes == 0) continue;
      if (found.level > last) caches.clear();
      last = found.level;
      caches[std::move(found.processors)] = found.bytes;
    }
  }
  std::size_t bytes = 0;
  for (const auto& [shared, size] : caches) bytes += size;
  return bytes;
}

namespace {

std::size_t ask_system() {
#if defined(__APPLE__)
  for (const char* name : {"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"}) {
    std::uint64_t bytes = 0;
    std::size_t size = sizeof(bytes);
    if (sysctlbyname(name, &bytes, &size, nullptr, 0) == 0 && bytes > 0) return static_cast<std::size_t>(bytes);
  }
#endif
  const std::size_t bytes = last_level_cache_bytes("/sys/devices/system/cpu", usable_processors());
  return bytes > 0 ? bytes : std::size_t{32} << 20;
}

}  // namespace

std::size_t last_level_cache_bytes() {
  static const std::size_t bytes = ask_system();
  return bytes;
}

}  // namespace prumo::protocol
