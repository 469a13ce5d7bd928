// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/build_identity.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string_view>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#elif __has_include(<link.h>)
#include <cstring>
#include <link.h>
#define PRUMO_HAS_PROGRAM_HEADERS
#endif

namespace prumo::protocol {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class fingerprint {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * 1099511628211U;
    used_ = used_ || !bytes.empty();
  }
  [[nodiscard]] bool used() const { return used_; }
  [[nodiscard]] std::string text() const {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(state_));
    return digits.data();
  }

 private:
  std::uint64_t state_ = 14695981039346656037U;
  bool used_ = false;
};

#if defined(PRUMO_HAS_PROGRAM_HEADERS)
/// The build id among the notes of a segment, or an empty text. A note is three words (the sizes of its name and its
/// content, and its type), the name and the content, each padded to whole words.
std::string_view build_id_among(std::string_view notes) {
  constexpr std::size_t word = 4;
  constexpr std::uint32_t build_id_type = 3;
  const auto padded = [](std::size_t size) { return (size + word - 1) / word * word; };
  while (notes.size() >= 3 * word) {
    std::array<std::uint32_t, 3> head{};
    std::memcpy(head.data(), notes.data(), sizeof(head));
    notes.remove_prefix(sizeof(head));
    const std::size_t name = padded(head[0]);
    const std::size_t content = padded(head[1]);
    if (name > notes.size() || content > notes.size() - name) break;
    if (head[2] == build_id_type && notes.substr(0, head[0]) == std::string_view("GNU", 4)) {
      return notes.substr(name, head[1]);
    }
    notes.remove_prefix(name + content);
  }
  return {};
}

/// Adds the build id of an object that is loaded. The program comes first, and without a name.
int add_object(dl_phdr_info* object, std::size_t, void* data) {
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const bool wanted = path.empty() || file.starts_with("libprumo") || file.starts_with("libkokkos");
  auto& all = *static_cast<fingerprint*>(data);
  if (!path.empty() && !all.used()) return 1;  // the program itself has no build id
  for (int i = 0; wanted && i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): this is how the loader tells addresses
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    all.add(build_id_among({notes, segment.p_memsz}));
  }
  return 0;
}
#endif

std::string program_file() {
#if defined(__APPLE__)
  std::array<char, 4096> path{};
  auto size = static_cast<std::uint32_t>(path.size());
  return _NSGetExecutablePath(path.data(), &size) == 0 ? std::string(path.data()) : std::string();
#else
  return "/proc/self/exe";
#endif
}

std::string find_identity() {
  fingerprint all;
#if defined(PRUMO_HAS_PROGRAM_HEADERS)
  dl_iterate_phdr(add_object, &all);
  if (all.used()) return all.text();
#endif
  std::ifstream program(program_file(), std::ios::binary);
  std::string block(std::size_t{1} << 20, '\0');
  while (program) {
    program.read(block.data(), static_cast<std::streamsize>(block.size()));
    all.add(std::string_view(block).substr(0, static_cast<std::size_t>(program.gcount())));
  }
  return all.used() ? all.text() : std::string();
}

}  // namespace

std::string build_identity() {
  static const std::string identity = find_identity();
  return identity;
}

}  // namespace prumo::protocol
