// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels are launched: on CUDA as cuda_launch.hpp does, elsewhere by Kokkos' policies.

#include <prumo/detail/cuda_launch.hpp>
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

/// The largest block of a kernel of single threads: as large as it is where prumo chooses it. With a limit of 128
/// threads, or a number of blocks that must fit, nvcc takes half as many registers again for some formulas, which
/// become 17 % slower.
template <class Exec>
struct usual_launch_bounds {
  using type = Kokkos::LaunchBounds<>;
};
PRUMO_IF_CUDA(template <>
              struct usual_launch_bounds<Kokkos::Cuda> { using type = Kokkos::LaunchBounds<cuda_block_threads>; };)

/// What a kernel's registers are limited for: Kernel::launch_bounds, or what is usual where there is none.
template <class Exec, class Kernel>
struct kernel_launch_bounds : usual_launch_bounds<Exec> {};
template <class Exec, class Kernel>
  requires requires { typename Kernel::launch_bounds; }
struct kernel_launch_bounds<Exec, Kernel> {
  using type = typename Kernel::launch_bounds;
};

/// Whether a kernel can travel as an argument of its launch everywhere; larger ones are refused on every device, so
/// that what compiles for one compiles for all.
template <class Kernel>
concept light_kernel = sizeof(Kernel) < 512;

/// The policy by which a kernel travels as an argument of its launch. With the policy's own bytes, 512 and more would
/// go through constant memory with a hidden synchronisation on devices, unless the policy says that the kernel is
/// light; to say so of all kernels would take the host longer.
template <light_kernel Kernel, class Policy>
auto as_launch_argument(const Policy& policy) {
  constexpr std::size_t clearly_light = 256;
  if constexpr (sizeof(Kernel) <= clearly_light) {
    return policy;
  } else {
    return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  }
}

/// Enqueues kernel(0) ... kernel(kernel.blocks() - 1). Besides these a kernel may have `index_type`, the type of its
/// indices, and `launch_bounds`, what its registers are limited for; on CUDA also `block_threads`, the threads of a
/// block, and `checks_index`, that it does nothing for other indices.
template <class Exec, light_kernel Kernel>
void launch_blocks(const Exec& instance, const std::string& label, const Kernel& kernel) {
  using index = typename kernel_index<Kernel>::type;
  using bounds = typename kernel_launch_bounds<Exec, Kernel>::type;
  const auto blocks = static_cast<index>(kernel.blocks());
  if (blocks == 0) return;
  if constexpr (is_cuda_space<Exec>) {
    launch_threads(instance, label, kernel, blocks, bounds{});
  } else {
    using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<index>, Kokkos::Schedule<Kokkos::Static>, bounds>;
    Kokkos::parallel_for(label, as_launch_argument<Kernel>(policy_type(instance, 0, blocks)), kernel);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
