// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches kernels: on CUDA by cuda_launch.hpp, elsewhere by Kokkos' policies. A build with PRUMO_LAUNCH_BY_KOKKOS
/// uses the policies on CUDA, too, so that they can be tested on NVIDIA's devices. On a host, the calling thread runs a
/// kernel itself if that is faster (host/host_launch.hpp).

#include <prumo/detail/device/cuda_launch.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/host/host_launch.hpp>
#include <prumo/detail/host/host_work.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The type of a kernel's indices: Kernel::index_type, or 64 bits if the kernel has none.
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

/// The wavefronts that each SIMD of an AMD device holds if a multiprocessor holds `resident_blocks` blocks of
/// `block_threads` threads. For 0 blocks the result is 0, which asks for nothing.
///
/// A compute unit of GCN and CDNA has four SIMDs, whose wavefronts have 64 threads. On RDNA, HIP counts a pair of
/// compute units as one multiprocessor. A pair has four SIMDs, whose wavefronts have 32 threads.
constexpr unsigned wavefronts_per_simd(unsigned block_threads, unsigned resident_blocks, unsigned wavefront_threads) {
  if (resident_blocks == 0) return 0;
  constexpr unsigned simds = 4;
  return std::max(1u, block_threads * resident_blocks / (simds * wavefront_threads));
}

/// Converts launch bounds, whose second number is blocks of a multiprocessor, to what the compiler for Exec expects.
/// Kokkos passes both numbers on. For nvcc the second one is blocks of a multiprocessor, too. hipcc takes it as
/// `amdgpu_waves_per_eu`, the wavefronts of a SIMD (HIP porting guide, "Porting from CUDA __launch_bounds__").
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

/// The largest block of a kernel of single threads. If prumo chooses the block, this is its size. With a limit of 128
/// threads, or with a number of blocks that must fit, nvcc uses one and a half times the registers for some formulas,
/// and these become 17 % slower.
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

/// The launch bounds that limit a kernel's registers: Kernel::launch_bounds, or the usual ones if the kernel has none.
template <class Exec, class Kernel>
struct kernel_launch_bounds : usual_launch_bounds<Exec> {};
template <class Exec, class Kernel>
  requires requires { typename Kernel::launch_bounds; }
struct kernel_launch_bounds<Exec, Kernel> {
  using type = typename Kernel::launch_bounds;
};

/// Whether a kernel is small enough to be an argument of its launch on every device. Larger kernels are refused on all
/// devices, so that code which compiles for one compiles for all.
template <class Kernel>
concept light_kernel = sizeof(Kernel) < 512;

/// Enqueues a kernel by a policy of Kokkos.
///
/// Kokkos copies the label to the heap at each launch. Only tools read it, so it is passed on if there is one.
///
/// If the kernel and the policy together have 512 bytes or more, Kokkos would copy them through constant memory, with a
/// hidden synchronisation. The policy must then say that the kernel is light. It does not say so for all kernels,
/// because that takes the host longer.
template <class Policy, light_kernel Kernel>
void launch_by_policy(const std::string& label, const Policy& policy, const Kernel& kernel) {
  const char* const read_label = Kokkos::Tools::profileLibraryLoaded() ? label.c_str() : "";
  constexpr std::size_t clearly_light = 256;
  if constexpr (sizeof(Kernel) <= clearly_light) {
    Kokkos::parallel_for(read_label, policy, kernel);
  } else {
    constexpr auto is_light = Kokkos::Experimental::WorkItemProperty::HintLightWeight;
    Kokkos::parallel_for(read_label, Kokkos::Experimental::require(policy, is_light), kernel);
  }
}

/// kernel(begin) ... kernel(end - 1), for the host_blocks of a kernel.
template <class Kernel>
void run_blocks(const void* kernel, std::int64_t begin, std::int64_t end) {
  using index = typename kernel_index<Kernel>::type;
  const Kernel& typed = *static_cast<const Kernel*>(kernel);
  for (auto block = static_cast<index>(begin); block < static_cast<index>(end); ++block) typed(block);
}

/// Enqueues kernel(0) ... kernel(kernel.blocks() - 1). A kernel may also have `index_type`, the type of its indices,
/// and `launch_bounds`, which limit its registers. On CUDA it may have `block_threads`, the threads of a block, and
/// `checks_index`, which says that it does nothing for other indices.
///
/// \param work what all blocks take one thread of a host; devices do not ask
template <class Exec, light_kernel Kernel>
void launch_blocks(const Exec& instance, const std::string& label, const Kernel& kernel,
                   [[maybe_unused]] const host_work& work = host_work::unknown()) {
  using index = typename kernel_index<Kernel>::type;
  const auto blocks = static_cast<index>(kernel.blocks());
  if (blocks == 0) return;
  if constexpr (is_host_space<Exec>) {
    launch_on_host(instance, label, host_blocks{&run_blocks<Kernel>, &kernel, blocks}, work);
  } else {
    using bounds = typename kernel_launch_bounds<Exec, Kernel>::type;
    if constexpr (launches_by_cuda_runtime<Exec>) {
      launch_threads(instance, label, kernel, blocks, bounds{});
    } else {
      using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<index>, Kokkos::Schedule<Kokkos::Static>,
                                              typename bounds_for_compiler<Exec, bounds>::type>;
      const current_device<Exec> device(instance);
      launch_by_policy(label, policy_type(instance, 0, blocks), kernel);
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
