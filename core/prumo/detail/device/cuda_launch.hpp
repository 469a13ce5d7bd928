// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches kernels by CUDA's runtime. Kokkos' policies were measured to be slower on CUDA, for three reasons:
///
/// - Each launch takes the host 0.8 us longer.
/// - They mostly choose blocks of 128 threads. A kernel of few instructions then takes as long as the device needs to
///   start all the blocks: a fill of 128 MB takes a third longer than with blocks of 256 threads.
/// - They start a kernel when the one before has ended. From compute capability 9.0 on a kernel can be launched earlier
///   (programmatic dependent launch), which saves 0.3 to 0.5 us of 2.
///
/// What users of Kokkos rely on still holds: the order of the instance's stream, capture of the stream in a graph, and
/// labels for Kokkos' tools.

#include <prumo/detail/device/announced_kernel.hpp>
#include <prumo/detail/device/cuda_error.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/spaces.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <climits>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The first statement of a kernel, before it reads or writes memory. If the kernel was launched early, this waits
/// until the kernels before it on the stream have ended and their results are visible.
__device__ __forceinline__ void wait_for_kernels_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Lets the next kernel of the stream start when all blocks of this one have called, or ended. It is called after
/// wait_for_kernels_before(), so that what the next kernel does before its own wait sees all kernels but this one.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Whether an entry function waits for the kernels before it, and can share scratch memory among teams. It does if its
/// code on this device was compiled for compute capability 9.0 or later, and not translated from code for an earlier
/// one. Graphs can record such launches since CUDA 12.3.
inline bool has_code_of_capability_9(const void* entry) {
#if CUDART_VERSION >= 12030
  int driver = 0;
  cudaFuncAttributes code{};
  const bool known = cudaDriverGetVersion(&driver) == cudaSuccess && cudaFuncGetAttributes(&code, entry) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // the launch will report the error
  return known && driver >= 12030 && code.ptxVersion >= 90;
#else
  (void)entry;
  return false;
#endif
}

/// Remembers an answer, which takes time to find, on each device. Threads that ask at the same time may all find it.
class answer_of_devices {
 public:
  template <class Find>
  bool on(int device, const Find& find) {
    if (device >= static_cast<int>(answers_.size())) return find();
    std::atomic<answer>& known = answers_[static_cast<std::size_t>(device)];
    answer found = known.load(std::memory_order_relaxed);
    if (found == answer::unknown) {
      found = find() ? answer::yes : answer::no;
      known.store(found, std::memory_order_relaxed);
    }
    return found == answer::yes;
  }

 private:
  enum class answer : signed char { unknown, no, yes };
  std::array<std::atomic<answer>, 64> answers_{};
};

/// The blocks of a launch, and the threads and bytes of shared memory of each block.
struct cuda_grid {
  std::int64_t blocks;
  int threads;
  std::size_t shared_bytes;
  int cluster = 1;                ///< neighbouring blocks that share their memory, a divisor of all (team_cluster.hpp)
  bool at_the_same_time = false;  ///< all blocks run then, so that any may wait for any other (resident_teams.hpp)
};

/// The shared memory that a block may have without asking for more.
inline constexpr std::size_t usual_shared_bytes = 48 * 1024;

/// How many clusters of so many blocks the current device runs at a time, or 0 if it runs none.
inline int clusters_at_a_time(const void* entry, int threads, std::size_t shared_bytes, int blocks) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.attrs = &cluster;
  configuration.numAttrs = 1;
  int clusters = 0;
  const bool known = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared_bytes)) == cudaSuccess &&
                     cudaOccupancyMaxActiveClusters(&clusters, entry, &configuration) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // no clusters are launched
  return known ? clusters : 0;
}

/// How many blocks of a kernel a multiprocessor of the current device holds at a time. The result is 0 if the device
/// cannot run the kernel, or has no cooperative launches.
inline int blocks_at_a_time(const void* entry, int threads, std::size_t shared_bytes) {
  int device = 0, cooperates = 0, blocks = 0;
  const bool known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device) == cudaSuccess && cooperates != 0 &&
      cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)) ==
          cudaSuccess &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry, threads, shared_bytes) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // no such blocks are launched
  return known ? blocks : 0;
}

/// Enqueues an entry function. The caller's current device stays as it is.
///
/// Returns false if the device does not run all blocks at the same time, but should. If CUDA refuses the launch for
/// another reason, throws like require_success(), with the label and the grid.
template <class... Parameters>
bool launch_entry(const Kokkos::Cuda& instance, const std::string& label, const cuda_grid& grid,
                  void (*entry)(Parameters...), const std::type_identity_t<Parameters>&... arguments) {
  static answer_of_devices overlap;
  const auto require = [&](cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    require_success(status, label + ": " + call + " for " + std::to_string(grid.blocks) + " blocks of " +
                                std::to_string(grid.threads) + " threads and " + std::to_string(grid.shared_bytes) +
                                " bytes of shared memory");
  };
  if (grid.blocks > INT_MAX) require(cudaErrorInvalidConfiguration, "cudaLaunchKernelExC");
  const current_device<Kokkos::Cuda> device(instance);
  const auto* const address = reinterpret_cast<const void*>(entry);
  if (grid.shared_bytes > usual_shared_bytes) {
    require(
        cudaFuncSetAttribute(address, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)),
        "cudaFuncSetAttribute");
  }
  std::array<cudaLaunchAttribute, 3> attributes{};
  unsigned count = 0;
  if (overlap.on(instance.cuda_device(), [&] { return has_code_of_capability_9(address); })) {
    cudaLaunchAttribute& early = attributes[count++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[count++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(grid.cluster), 1, 1};
  }
  if (grid.at_the_same_time) {
    cudaLaunchAttribute& cooperative = attributes[count++];
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
  }
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(grid.threads));
  configuration.dynamicSmemBytes = grid.shared_bytes;
  configuration.stream = instance.cuda_stream();
  configuration.attrs = attributes.data();
  configuration.numAttrs = count;
  void* values[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const announced_kernel announced(instance, label);
  const cudaError_t status = cudaLaunchKernelExC(&configuration, address, values);
  if (grid.at_the_same_time && status == cudaErrorCooperativeLaunchTooLarge) {
    (void)cudaGetLastError();
    return false;
  }
  require(status, "cudaLaunchKernelExC");
  return true;
}

/// The threads of a block, for kernels of single threads: Kernel::block_threads, or else this number, which is also the
/// largest. The compiler knows the number. If the kernel read it instead, that would take 0.04 us of 0.5 to 1.5 us.
inline constexpr int cuda_block_threads = 256;
template <class Kernel>
inline constexpr int block_threads_of = cuda_block_threads;
template <class Kernel>
  requires requires { Kernel::block_threads; }
inline constexpr int block_threads_of<Kernel> = Kernel::block_threads;

/// Whether operator() does nothing for indices from blocks() on, so that the entry function need not check them.
template <class Kernel>
concept checks_index = Kernel::checks_index;

/// The entry function of kernels of single threads.
template <unsigned MostThreads, unsigned ResidentBlocks, class Kernel, class Index>
__global__ void __launch_bounds__(MostThreads, ResidentBlocks)
    run_threads(const __grid_constant__ Kernel kernel, const Index indices) {
  wait_for_kernels_before();
  using unsigned_index = std::make_unsigned_t<Index>;
  const unsigned_index index = static_cast<unsigned_index>(blockIdx.x) * block_threads_of<Kernel> + threadIdx.x;
  if (checks_index<Kernel> || index < static_cast<unsigned_index>(indices)) kernel(static_cast<Index>(index));
}

/// Enqueues kernel(0) ... kernel(indices - 1), a thread each. Registers are limited so that ResidentBlocks blocks
/// of MostThreads threads (0: the largest block) fit on a multiprocessor.
template <class Kernel, class Index, unsigned MostThreads, unsigned ResidentBlocks>
void launch_threads(const Kokkos::Cuda& instance, const std::string& label, const Kernel& kernel, Index indices,
                    Kokkos::LaunchBounds<MostThreads, ResidentBlocks>) {
  constexpr unsigned most_threads = MostThreads != 0 ? MostThreads : 1024;
  static_assert(most_threads >= block_threads_of<Kernel>);
  constexpr int threads = block_threads_of<Kernel>;
  launch_entry(instance, label, {(std::int64_t{indices} + threads - 1) / threads, threads, 0},
               run_threads<most_threads, ResidentBlocks, Kernel, Index>, kernel, indices);
}

/// Shared memory that a launch asked for; aligned to most_scratch_alignment (team_kernel.hpp).
extern __shared__ __align__(32) unsigned char cuda_team_memory[];

/// A block with the functions of a Kokkos team member that kernels of teams use.
class cuda_team_member {
 public:
  class scratch_space {
   public:
    KOKKOS_FORCEINLINE_FUNCTION void* get_shmem_aligned(std::size_t bytes, std::size_t alignment) const {
      const std::size_t begin = (taken_ + alignment - 1) / alignment * alignment;
      taken_ = begin + bytes;
      KOKKOS_IF_ON_DEVICE((return cuda_team_memory + begin;))
      KOKKOS_IF_ON_HOST((return nullptr;))
    }

   private:
    mutable std::size_t taken_ = 0;
  };

  KOKKOS_FORCEINLINE_FUNCTION int league_rank() const {
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(blockIdx.x);))
    KOKKOS_IF_ON_HOST((return 0;))
  }
  KOKKOS_FORCEINLINE_FUNCTION int league_size() const {
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(gridDim.x);))
    KOKKOS_IF_ON_HOST((return 0;))
  }
  KOKKOS_FORCEINLINE_FUNCTION int team_rank() const {
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(threadIdx.x);))
    KOKKOS_IF_ON_HOST((return 0;))
  }
  KOKKOS_FORCEINLINE_FUNCTION void team_barrier() const { KOKKOS_IF_ON_DEVICE((__syncthreads();)) }
  /// For kernels that wait themselves.
  KOKKOS_FORCEINLINE_FUNCTION void wait_for_kernels_before() const {
    KOKKOS_IF_ON_DEVICE((prumo::detail::wait_for_kernels_before();))
  }
  KOKKOS_FORCEINLINE_FUNCTION void let_next_kernel_start() const {
    KOKKOS_IF_ON_DEVICE((prumo::detail::let_next_kernel_start();))
  }
  KOKKOS_FORCEINLINE_FUNCTION const scratch_space& team_scratch(int) const { return scratch_; }

 private:
  scratch_space scratch_;
};

/// Whether operator() calls wait_for_kernels_before(), after what it does in the scratch memory alone.
template <class Kernel>
concept waits_itself = Kernel::waits_itself;

/// The entry function of kernels of teams.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::most_threads, Kernel::resident_teams)
    run_teams(const __grid_constant__ Kernel kernel) {
  if constexpr (!waits_itself<Kernel>) wait_for_kernels_before();
  kernel(cuda_team_member());
}

/// Enqueues a kernel of teams. Returns what launch_entry() does.
template <class Kernel>
bool launch_team_blocks(const Kokkos::Cuda& instance, const std::string& label, const Kernel& kernel, int teams,
                        std::size_t scratch_bytes) {
  cuda_grid grid{teams, kernel.team_threads(), scratch_bytes};
  if constexpr (requires { kernel.teams_of_cluster(); }) grid.cluster = kernel.teams_of_cluster();
  if constexpr (requires { Kernel::teams_wait_for_each_other; }) grid.at_the_same_time = true;
  return launch_entry(instance, label, grid, run_teams<Kernel>, kernel);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail

#endif
