// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels are launched: on CUDA as cuda_launch.hpp does, elsewhere by Kokkos' policies. A build with
/// PRUMO_LAUNCH_BY_KOKKOS uses the policies on CUDA, too, so that this way can be tested on NVIDIA's devices.

#include <prumo/detail/device/cuda_launch.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
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

/// Whether kernels on Exec are launched by CUDA's runtime itself.
#if defined(PRUMO_LAUNCH_BY_KOKKOS)
template <class Exec>
inline constexpr bool launches_by_cuda_runtime = false;
#else
template <class Exec>
inline constexpr bool launches_by_cuda_runtime = is_cuda_space<Exec>;
#endif

/// Wavefronts that each SIMD of an AMD device holds where a multiprocessor holds `resident_blocks` blocks of
/// `block_threads` threads; 0 blocks: 0, which asks for nothing.
///
/// A compute unit of GCN and CDNA has four SIMDs, whose wavefronts have 64 threads. On RDNA HIP counts pairs of compute
/// units as multiprocessors, which have four SIMDs together, with wavefronts of 32.
constexpr unsigned wavefronts_per_simd(unsigned block_threads, unsigned resident_blocks, unsigned wavefront_threads) {
  if (resident_blocks == 0) return 0;
  constexpr unsigned simds = 4;
  return std::max(1u, block_threads * resident_blocks / (simds * wavefront_threads));
}

/// Launch bounds as the compiler for Exec counts them, of those whose second number is blocks a multiprocessor. Kokkos
/// hands both numbers on as they are. nvcc takes the second one so; hipcc makes it `amdgpu_waves_per_eu`, wavefronts
/// that a SIMD holds (HIP porting guide, "Porting from CUDA __launch_bounds__").
template <class Exec, class Bounds>
struct bounds_for_compiler {
  using type = Bounds;
};
#if defined(KOKKOS_ENABLE_HIP)
template <unsigned MostThreads, unsigned ResidentBlocks>
struct bounds_for_compiler<Kokkos::HIP, Kokkos::LaunchBounds<MostThreads, ResidentBlocks>> {
  static constexpr unsigned block_threads = MostThreads != 0 ? MostThreads : 1024;
  using type = Kokkos::LaunchBounds<MostThreads, wavefronts_per_simd(block_threads, ResidentBlocks,
                                                                     Kokkos::Impl::HIPTraits::WarpSize)>;
};
#endif

/// The largest block of a kernel of single threads: as large as it is where prumo chooses it. With a limit of 128
/// threads, or a number of blocks that must fit, nvcc takes one and a half times the registers for some formulas, which
/// become 17 % slower.
template <class Exec>
struct usual_launch_bounds {
  using type = Kokkos::LaunchBounds<>;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct usual_launch_bounds<Kokkos::Cuda> {
  using type = Kokkos::LaunchBounds<launches_by_cuda_runtime<Kokkos::Cuda> ? cuda_block_threads : 0>;
};
#endif

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
  if constexpr (launches_by_cuda_runtime<Exec>) {
    launch_threads(instance, label, kernel, blocks, bounds{});
  } else {
    using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<index>, Kokkos::Schedule<Kokkos::Static>,
                                            typename bounds_for_compiler<Exec, bounds>::type>;
    const current_device<Exec> device(instance);
    Kokkos::parallel_for(label, as_launch_argument<Kernel>(policy_type(instance, 0, blocks)), kernel);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
