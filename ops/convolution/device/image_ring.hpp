// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images that come to the scratch memory of a team one after the other, into a ring of places.
///
/// The team reads them in turns. A turn begins when all threads have read what they needed in the one before, or have
/// ended that. Then one stretch of exchange_threads threads brings the next images to the places of those that are
/// needed no more. Each thread waits for the image that it needs itself.
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

/// The state of a place.
struct ring_place {
  std::uint64_t arrivals;  ///< the device's barrier for bulk copies
  int images;              ///< that have been brought here, where there are no bulk copies
};

/// Orders the accesses of this thread to the team's scratch memory, as the team's other threads see them.
KOKKOS_FORCEINLINE_FUNCTION void team_fence() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __threadfence_block();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// A thread's view of the ring.
/// \tparam Overlaps whether a turn may begin while threads are still busy with what they have read in the one before
template <class C, bool Overlaps>
class image_ring {
 public:
  static constexpr std::size_t bytes_of_flags(int places) {
    return static_cast<std::size_t>(places) * sizeof(ring_place) + sizeof(std::uint64_t);
  }

  /// \param images aligned for packs, as is their distance
  /// \param flags aligned for packs
  /// \param count of the images that will come
  KOKKOS_FORCEINLINE_FUNCTION image_ring(C* images, int image_elements, void* flags, int places, int count)
      : images_(images),
        places_(static_cast<ring_place*>(flags)),
        readers_(reinterpret_cast<std::uint64_t*>(places_ + places)),
        image_elements_(image_elements),
        count_of_places_(places),
        count_(count) {}

  /// Makes all places empty, before the first turn.
  KOKKOS_FORCEINLINE_FUNCTION void clear(int thread, [[maybe_unused]] int threads) const {
#if defined(PRUMO_COPIES_IN_BULK)
    if (thread == 0) initialize(address_of(readers_), threads / prumo::detail::exchange_threads);
    if (thread < count_of_places_) initialize(address_of(&places_[thread].arrivals), 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    if (thread < count_of_places_) places_[thread].images = 0;
  }

  /// Begins a turn, which all threads of the team do. No thread needs the images before `first` any more. The first
  /// stretch brings as many further ones, each of its threads some of them.
  /// \param image_at tells the address of an image of the `count` ones
  template <class Member, class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void begin_turn(const Member& member, int first, const ImageAt& image_at) {
    if (Overlaps && turns_ > 0) {
      wait_for_readers(member);
    } else {
      member.team_barrier();
    }
    ++turns_;
    const int thread = member.team_rank();
    oldest_ = position_of(first);
    oldest_image_ = first;
    const int end = first + count_of_places_ < count_ ? first + count_of_places_ : count_;
    if (thread < prumo::detail::exchange_threads) {
      for (int image = brought_ + thread; image < end; image += prumo::detail::exchange_threads) {
        const position at = position_of(image);
        bring(image_at(image), at.place, at.turn);
      }
    }
    brought_ = end;
  }

  /// If turns overlap: tells that this stretch has read the images that it needed in the present one. All its threads
  /// call.
  KOKKOS_FORCEINLINE_FUNCTION void end_reading([[maybe_unused]] int thread) const {
#if defined(PRUMO_COPIES_IN_BULK)
    if (!Overlaps) return;
    __syncwarp();
    if (thread % prumo::detail::exchange_threads != 0) return;
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(readers_)) : "memory");
#endif
  }

  /// Waits for an image, which is not older than the present turn's first one. If turns overlap, all threads of a
  /// stretch call and go on together.
  /// \return where it is
  KOKKOS_FORCEINLINE_FUNCTION const C* wait_for(int image) const {
    const position at = position_of(image);
    wait_at(at);
#if defined(__CUDA_ARCH__)
    if (Overlaps) __syncwarp();
#endif
    return images_ + at.place * image_elements_;
  }

 private:
  struct position {
    int place = 0;
    int turn = 0;  ///< images that were in the place before
  };

  /// Of an image that is in a place, or comes to one in this turn.
  KOKKOS_FORCEINLINE_FUNCTION position position_of(int image) const {
    position at = oldest_;
    at.place += image - oldest_image_;
    if (at.place >= count_of_places_) {
      at.place -= count_of_places_;
      ++at.turn;
    }
    return at;
  }

  KOKKOS_FORCEINLINE_FUNCTION void bring(const C* from, int place, [[maybe_unused]] int turn) const {
    C* const to = images_ + place * image_elements_;
#if defined(PRUMO_COPIES_IN_BULK)
    const auto bytes = static_cast<std::uint32_t>(image_elements_ * sizeof(C));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&places_[place].arrivals)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes), "r"(address_of(&places_[place].arrivals))
                 : "memory");
#else
    for (int at = 0; at < image_elements_; ++at) to[at] = from[at];
    team_fence();
    *static_cast<volatile int*>(&places_[place].images) = turn + 1;
#endif
  }

  KOKKOS_FORCEINLINE_FUNCTION void wait_at(const position& at) const {
#if defined(PRUMO_COPIES_IN_BULK)
    wait_for_phase(address_of(&places_[at.place].arrivals), at.turn);
#else
    while (*static_cast<const volatile int*>(&places_[at.place].images) <= at.turn) {
      KOKKOS_IF_ON_HOST((std::this_thread::yield();))
    }
    team_fence();
#endif
  }

  /// Waits until all stretches have ended reading in the turn before.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void wait_for_readers([[maybe_unused]] const Member& member) const {
#if defined(PRUMO_COPIES_IN_BULK)
    wait_for_phase(address_of(readers_), turns_ - 1);
#else
    member.team_barrier();
#endif
  }

#if defined(PRUMO_COPIES_IN_BULK)
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t address_of(const std::uint64_t* barrier) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  }
  KOKKOS_FORCEINLINE_FUNCTION static void initialize(std::uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
  }
  /// Waits until as many phases have ended as `phase` and one.
  KOKKOS_FORCEINLINE_FUNCTION static void wait_for_phase(std::uint32_t barrier, int phase) {
    std::uint32_t has_ended = 0;
    while (has_ended == 0) {
      asm volatile(
          "{\n.reg .pred ended;\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
          "selp.u32 %0, 1, 0, ended;\n}"
          : "=r"(has_ended)
          : "r"(barrier), "r"(phase & 1)
          : "memory");
    }
  }
#endif

  C* images_;
  ring_place* places_;
  std::uint64_t* readers_;  ///< the device's barrier, at which a stretch arrives when it has read its images
  int image_elements_;
  int count_of_places_;
  int count_;
  int brought_ = 0;
  int turns_ = 0;         ///< that have begun
  int oldest_image_ = 0;  ///< the first image of the present turn
  position oldest_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
