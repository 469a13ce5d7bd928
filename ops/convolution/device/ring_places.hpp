// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Places of a team's scratch memory that are filled in turns, and how threads wait until one is full.
///
/// Devices with bulk copies (NVIDIA's from compute capability 9.0) fill a place by one instruction, which copies while
/// the team computes. Elsewhere one thread copies, which makes a ring of such places slow.

#include <prumo/detail/team_kernel.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PRUMO_COPIES_IN_BULK
#endif

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether the device that kernels are compiled for has bulk copies.
#if defined(KOKKOS_ENABLE_CUDA) && (defined(KOKKOS_ARCH_HOPPER) || defined(KOKKOS_ARCH_BLACKWELL))
inline constexpr bool has_bulk_copies = true;
#else
inline constexpr bool has_bulk_copies = false;
#endif

/// Bulk copies copy multiples of so many bytes, from and to multiples of them.
inline constexpr int bulk_bytes = 16;

/// Orders the accesses of this thread to the team's scratch memory, as the team's other threads see them.
KOKKOS_FORCEINLINE_FUNCTION void team_fence() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __threadfence_block();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

#if defined(PRUMO_COPIES_IN_BULK)
/// A barrier in the scratch memory at which threads or bulk copies arrive.
class scratch_barrier {
 public:
  __device__ __forceinline__ explicit scratch_barrier(std::uint64_t* memory)
      : address_(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory))) {}

  /// A phase of the barrier ends when so many have arrived. Copies may follow behind order_copies_behind_barriers().
  __device__ __forceinline__ void initialize(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_) : "memory");
  }
  /// Begins a bulk copy, which arrives when it has ended.
  __device__ __forceinline__ void begin_copy(const void* from, void* to, std::uint32_t bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes), "r"(address_)
                 : "memory");
  }
  /// Waits until as many phases have ended as `phase` and one.
  __device__ __forceinline__ void wait_for_phase(int phase) const {
    std::uint32_t has_ended = 0;
    while (has_ended == 0) {
      asm volatile(
          "{\n.reg .pred ended;\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
          "selp.u32 %0, 1, 0, ended;\n}"
          : "=r"(has_ended)
          : "r"(address_), "r"(phase & 1)
          : "memory");
    }
  }

 private:
  std::uint32_t address_;
};
#endif

/// Makes barriers that this thread has initialized visible to copies.
KOKKOS_FORCEINLINE_FUNCTION void order_copies_behind_barriers() {
#if defined(PRUMO_COPIES_IN_BULK)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// The state of a place.
struct ring_place {
  std::uint64_t arrivals;  ///< the device's barrier for bulk copies
  int images;              ///< that have been brought here, where there are no bulk copies

  KOKKOS_FORCEINLINE_FUNCTION void clear() {
#if defined(PRUMO_COPIES_IN_BULK)
    scratch_barrier(&arrivals).initialize(1);
#endif
    images = 0;
  }

  /// Fills the place.
  /// \param turn images that were in the place before
  /// \param from, to multiples of bulk_bytes, as is `bytes`
  KOKKOS_FORCEINLINE_FUNCTION void bring(const void* from, void* to, int bytes, [[maybe_unused]] int turn) {
#if defined(PRUMO_COPIES_IN_BULK)
    scratch_barrier(&arrivals).begin_copy(from, to, static_cast<std::uint32_t>(bytes));
#else
    memcpy(to, from, static_cast<std::size_t>(bytes));
    team_fence();
    *static_cast<volatile int*>(&images) = turn + 1;
#endif
  }

  /// Waits until the place is full, for the turn that bring() was told.
  KOKKOS_FORCEINLINE_FUNCTION void wait_for(int turn) {
#if defined(PRUMO_COPIES_IN_BULK)
    scratch_barrier(&arrivals).wait_for_phase(turn);
#else
    while (*static_cast<const volatile int*>(&images) <= turn) {
      KOKKOS_IF_ON_HOST((std::this_thread::yield();))
    }
    team_fence();
#endif
  }
};

/// Where images are in a ring of places: the first one that is still needed, and as many behind it as there are places.
class ring_order {
 public:
  struct position {
    int place = 0;
    int turn = 0;  ///< images that were in the place before
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit ring_order(int places) : places_(places) {}

  KOKKOS_FORCEINLINE_FUNCTION position of(int image) const {
    position at = oldest_;
    at.place += image - oldest_image_;
    if (at.place >= places_) {
      at.place -= places_;
      ++at.turn;
    }
    return at;
  }
  /// No image before this one is needed any more.
  KOKKOS_FORCEINLINE_FUNCTION void leave_before(int image) {
    oldest_ = of(image);
    oldest_image_ = image;
  }

 private:
  int places_;
  int oldest_image_ = 0;
  position oldest_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
