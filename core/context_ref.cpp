// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/context_ref.hpp>

namespace prumo {

std::string_view space_name(space_kind space) {
  constexpr std::string_view names[] = {"Serial", "OpenMP", "Threads", "Cuda", "HIP"};
  return names[static_cast<std::size_t>(space)];
}

const char* instance_ref::why_unusable() const {
  if (is_moved_from_) return "the context was moved from; use the one that it was moved to";
  if (!Kokkos::is_initialized()) return "Kokkos is not initialised, or was finalised before this call";
  return nullptr;
}

}  // namespace prumo
