// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images that come to the scratch memory of a team one after the other, into a ring of places.
///
/// The readers are the stretches of exchange_threads threads of the team. Each of them waits for the images that it
/// needs next, and leaves those that it needs no more. The reader that is the last to leave an image brings the next
/// one to its place. So readers wait for images, but never for all of the team.
///
/// Devices with bulk copies (NVIDIA's from compute capability 9.0) bring an image by one instruction, which copies
/// while the team computes. Elsewhere one thread copies it, which makes the ring slow.

#include <prumo/detail/team_kernel.hpp>

#include <atomic>
#include <cstdint>
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

/// The state of a place, which all readers share.
struct ring_place {
  std::uint64_t arrivals;  ///< the device's barrier for bulk copies
  int images;              ///< that have been brought here, where there are no bulk copies
  int readers;             ///< that have not left the present image yet
};

/// Waits for the other threads of a stretch of exchange_threads, which all call. Members that run on hosts have a
/// stretch_barrier().
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void stretch_barrier([[maybe_unused]] const Member& member) {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
  __builtin_amdgcn_wave_barrier();
#else
  if constexpr (requires { member.stretch_barrier(); }) member.stretch_barrier();
#endif
}

/// Orders the accesses of this thread to the team's scratch memory, as the team's other threads see them.
KOKKOS_FORCEINLINE_FUNCTION void team_fence() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __threadfence_block();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// A thread's view of the ring. All threads of a reader call the same functions.
template <class C>
class image_ring {
 public:
  static constexpr std::size_t bytes_of_flags(int places) {
    return static_cast<std::size_t>(places) * sizeof(ring_place);
  }

  /// \param images aligned for packs, as is their distance
  /// \param flags aligned for packs
  KOKKOS_FORCEINLINE_FUNCTION image_ring(C* images, int image_elements, void* flags, int places)
      : images_(images),
        places_(static_cast<ring_place*>(flags)),
        image_elements_(image_elements),
        count_of_places_(places) {}

  /// Makes all places empty. After it and a barrier of the team, images may come.
  KOKKOS_FORCEINLINE_FUNCTION void clear(int readers, int thread) const {
    if (thread >= count_of_places_) return;
    ring_place& place = places_[thread];
    place.readers = readers;
    place.images = 0;
#if defined(PRUMO_COPIES_IN_BULK)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_of(thread)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }

  /// Brings the first images. One thread of the team calls.
  /// \param count of the images that will come
  /// \param image_at tells the address of an image of the `count` ones
  template <class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void fill(int count, const ImageAt& image_at) const {
    for (int image = 0; image < count && image < count_of_places_; ++image) bring(image_at(image), image, 0);
  }

  /// Waits for the images up to this one.
  KOKKOS_FORCEINLINE_FUNCTION void wait_for(int image) {
    while (next_.image <= image) {
      wait();
      next_.advance(count_of_places_);
    }
  }

  /// Leaves the images before this one. What the threads of the reader have loaded from them must be in registers.
  template <class Member, class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void leave_before(const Member& member, int image, int count, const ImageAt& image_at,
                                                int readers) {
    while (oldest_.image < image) {
      // Who leaves an image that has not come yet would count as a reader of the one before it.
      wait_for(oldest_.image);
      stretch_barrier(member);
      if (member.team_rank() % prumo::detail::exchange_threads == 0) {
        ring_place& place = places_[oldest_.place];
        team_fence();
        if (Kokkos::atomic_fetch_sub(&place.readers, 1) == 1) {
          const int following = oldest_.image + count_of_places_;
          place.readers = readers;
          if (following < count) bring(image_at(following), oldest_.place, oldest_.turn + 1);
        }
      }
      oldest_.advance(count_of_places_);
    }
  }

  /// An image that the reader has waited for, and not left.
  KOKKOS_FORCEINLINE_FUNCTION const C* image(int which) const {
    const int place = oldest_.place + which - oldest_.image;
    return images_ + (place < count_of_places_ ? place : place - count_of_places_) * image_elements_;
  }

 private:
  struct position {
    int image = 0;
    int place = 0;
    int turn = 0;  ///< images that were in the place before

    KOKKOS_FORCEINLINE_FUNCTION void advance(int places) {
      ++image;
      if (++place == places) {
        place = 0;
        ++turn;
      }
    }
  };

  KOKKOS_FORCEINLINE_FUNCTION void bring(const C* from, int place, [[maybe_unused]] int turn) const {
    C* const to = images_ + place * image_elements_;
#if defined(PRUMO_COPIES_IN_BULK)
    const auto bytes = static_cast<std::uint32_t>(image_elements_ * sizeof(C));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_of(place)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes), "r"(barrier_of(place))
                 : "memory");
#else
    for (int at = 0; at < image_elements_; ++at) to[at] = from[at];
    team_fence();
    *static_cast<volatile int*>(&places_[place].images) = turn + 1;
#endif
  }

  KOKKOS_FORCEINLINE_FUNCTION void wait() const {
#if defined(PRUMO_COPIES_IN_BULK)
    std::uint32_t is_there = 0;
    while (is_there == 0) {
      asm volatile(
          "{\n.reg .pred there;\nmbarrier.try_wait.parity.shared::cta.b64 there, [%1], %2;\n"
          "selp.u32 %0, 1, 0, there;\n}"
          : "=r"(is_there)
          : "r"(barrier_of(next_.place)), "r"(next_.turn & 1)
          : "memory");
    }
#else
    while (*static_cast<const volatile int*>(&places_[next_.place].images) <= next_.turn) {
      KOKKOS_IF_ON_HOST((std::this_thread::yield();))
    }
    team_fence();
#endif
  }

#if defined(PRUMO_COPIES_IN_BULK)
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t barrier_of(int place) const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(&places_[place].arrivals));
  }
#endif

  C* images_;
  ring_place* places_;
  int image_elements_;
  int count_of_places_;
  position next_;    ///< the first image that the reader has not waited for
  position oldest_;  ///< the first image that it has not left
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
