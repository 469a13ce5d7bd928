// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels are launched on CUDA: by its runtime itself. Kokkos' policies were measured to be slower there in three
/// ways. They take the host 0.8 us a launch more. They mostly choose blocks of 128 threads, and kernels of a few
/// instructions then take as long as a device needs to start so many blocks: a fill of 128 MB a third longer than with
/// 256. And they start a kernel only when the one before has ended, where it can be brought to the processors before
/// (programmatic dependent launch, compute capability 9.0): 0.3 to 0.5 us of 2. What users of Kokkos rely on stays:
/// the order of the instance's stream, capture of the stream as a graph, and the labels that Kokkos' tools see.

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

/// A kernel's first statement, before it reads or writes memory: waits until the kernels before it on the stream have
/// ended and their results can be seen, where it may have been launched before that.
__device__ __forceinline__ void wait_for_kernels_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Whether the code that a device runs of an entry function waits for the kernels before it: it was compiled for
/// compute capability 9.0 or later, not translated from code for an earlier one. Graphs can record such launches since
/// CUDA 12.3.
inline bool waits_for_kernels_before(const void* entry) {
#if CUDART_VERSION >= 12030
  int driver = 0;
  cudaFuncAttributes code{};
  const bool known = cudaDriverGetVersion(&driver) == cudaSuccess && cudaFuncGetAttributes(&code, entry) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // the launch itself tells of it
  return known && driver >= 12030 && code.ptxVersion >= 90;
#else
  (void)entry;
  return false;
#endif
}

/// The answer of waits_for_kernels_before() for one entry function, asked once for each device.
class launch_overlap {
 public:
  bool on(int device, const void* entry) {
    if (device >= static_cast<int>(answers_.size())) return waits_for_kernels_before(entry);
    std::atomic<answer>& known = answers_[static_cast<std::size_t>(device)];
    answer found = known.load(std::memory_order_relaxed);
    if (found == answer::unknown) {
      found = waits_for_kernels_before(entry) ? answer::yes : answer::no;
      known.store(found, std::memory_order_relaxed);
    }
    return found == answer::yes;
  }

 private:
  enum class answer : signed char { unknown, no, yes };
  std::array<std::atomic<answer>, 64> answers_{};
};

/// Tells Kokkos' tools of a kernel, as Kokkos::parallel_for does.
class announced_kernel {
 public:
  announced_kernel(const Kokkos::Cuda& instance, const std::string& label)
      : announced_(Kokkos::Tools::profileLibraryLoaded()) {
    if (announced_) Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance), &number_);
  }
  ~announced_kernel() {
    if (announced_) Kokkos::Tools::endParallelFor(number_);
  }
  announced_kernel(const announced_kernel&) = delete;
  announced_kernel& operator=(const announced_kernel&) = delete;

 private:
  bool announced_;
  std::uint64_t number_ = 0;
};

/// Blocks of a launch, the threads of each and the bytes of its shared memory.
struct cuda_grid {
  std::int64_t blocks;
  int threads;
  std::size_t shared_bytes;
};

/// Enqueues an entry function. The caller's current device stays as it is.
///
/// Throws as require_success() does where CUDA refuses it, with the label and the grid.
template <class... Parameters>
void launch_entry(const Kokkos::Cuda& instance, const std::string& label, const cuda_grid& grid,
                  void (*entry)(Parameters...), const std::type_identity_t<Parameters>&... arguments) {
  static launch_overlap overlap;
  const auto require = [&](cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    require_success(status, label + ": " + call + " for " + std::to_string(grid.blocks) + " blocks of " +
                                std::to_string(grid.threads) + " threads and " + std::to_string(grid.shared_bytes) +
                                " bytes of shared memory");
  };
  if (grid.blocks > INT_MAX) require(cudaErrorInvalidConfiguration, "cudaLaunchKernelExC");
  const current_device<Kokkos::Cuda> device(instance);
  const auto* const address = reinterpret_cast<const void*>(entry);
  constexpr std::size_t usual_shared_bytes = 48 * 1024;  // more must be asked for
  if (grid.shared_bytes > usual_shared_bytes) {
    require(
        cudaFuncSetAttribute(address, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)),
        "cudaFuncSetAttribute");
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(grid.threads));
  configuration.dynamicSmemBytes = grid.shared_bytes;
  configuration.stream = instance.cuda_stream();
  configuration.attrs = &attribute;
  configuration.numAttrs = overlap.on(instance.cuda_device(), address) ? 1 : 0;
  void* values[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const announced_kernel announced(instance, label);
  require(cudaLaunchKernelExC(&configuration, address, values), "cudaLaunchKernelExC");
}

/// Threads of a block of kernels of single threads: Kernel::block_threads, or what is usual, the most there are. The
/// compiler knows them: to read the block's size instead takes 0.04 us of kernels that take 0.5 to 1.5.
inline constexpr int cuda_block_threads = 256;
template <class Kernel>
inline constexpr int block_threads_of = cuda_block_threads;
template <class Kernel>
  requires requires { Kernel::block_threads; }
inline constexpr int block_threads_of<Kernel> = Kernel::block_threads;

/// Whether operator() does nothing for indices of blocks() and more, so that the entry function need not look.
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

/// What kernels of teams use of a member of a Kokkos team, for a block.
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
  KOKKOS_FORCEINLINE_FUNCTION const scratch_space& team_scratch(int) const { return scratch_; }

 private:
  scratch_space scratch_;
};

/// The entry function of kernels of teams.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::most_threads, Kernel::resident_teams)
    run_teams(const __grid_constant__ Kernel kernel) {
  wait_for_kernels_before();
  kernel(cuda_team_member());
}

/// Enqueues a kernel of teams.
template <class Kernel>
void launch_team_blocks(const Kokkos::Cuda& instance, const std::string& label, const Kernel& kernel, int teams,
                        std::size_t scratch_bytes) {
  launch_entry(instance, label, {teams, kernel.team_threads(), scratch_bytes}, run_teams<Kernel>, kernel);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail

#endif
