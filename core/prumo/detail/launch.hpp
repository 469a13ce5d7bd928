// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels are handed to Kokkos. On small arrays the host's time of a launch is the time of a call, so what of it
/// depends on the policy is decided here, once.

#include <prumo/detail/instruction_set.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The type of a kernel's indices: Kernel::index_type, or 64 bits where there is none.
template <class Kernel>
struct kernel_index {
  using type = std::int64_t;
};
template <class Kernel>
  requires requires { typename Kernel::index_type; }
struct kernel_index<Kernel> {
  using type = typename Kernel::index_type;
};

/// The largest block of a kernel of single threads. Left to itself Kokkos looks through 32 sizes of a block at each
/// launch on CUDA, up to 1024 threads, which takes the host 0.2 us of 4, and mostly chooses 128. With a limit of 128,
/// or a number of blocks that must fit, nvcc takes half as many registers again for some formulas, which become 17 %
/// slower.
template <class Exec>
struct usual_launch_bounds {
  using type = Kokkos::LaunchBounds<>;
};
PRUMO_IF_CUDA(template <> struct usual_launch_bounds<Kokkos::Cuda> { using type = Kokkos::LaunchBounds<256>; };)

/// What a kernel's registers are limited for: Kernel::launch_bounds, or what is usual where there is none.
template <class Exec, class Kernel>
struct kernel_launch_bounds : usual_launch_bounds<Exec> {};
template <class Exec, class Kernel>
  requires requires { typename Kernel::launch_bounds; }
struct kernel_launch_bounds<Exec, Kernel> {
  using type = typename Kernel::launch_bounds;
};

/// The policy by which a kernel travels as an argument of its launch. With the policy's own bytes, 512 and more would
/// go through constant memory with a hidden synchronisation on CUDA, unless the policy says that the kernel is light;
/// to say so of all kernels would take the host 0.15 us a launch.
template <class Kernel, class Policy>
auto as_launch_argument(const Policy& policy) {
  static_assert(sizeof(Kernel) < 512, "prumo: a kernel of 512 bytes or more is not light-weight");
  constexpr std::size_t clearly_light = 256;
  if constexpr (sizeof(Kernel) <= clearly_light) {
    return policy;
  } else {
    return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  }
}

/// Enqueues kernel(0) ... kernel(kernel.blocks() - 1).
template <class Exec, class Kernel>
void launch_blocks(const Exec& instance, const std::string& label, const Kernel& kernel) {
  const auto blocks = static_cast<std::int64_t>(kernel.blocks());
  if (blocks == 0) return;
  using index = typename kernel_index<Kernel>::type;
  using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<index>, Kokkos::Schedule<Kokkos::Static>,
                                          typename kernel_launch_bounds<Exec, Kernel>::type>;
  Kokkos::parallel_for(label, as_launch_argument<Kernel>(policy_type(instance, 0, static_cast<index>(blocks))), kernel);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
