// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images that come to the scratch memory of a team one after the other, into a ring of places.
///
/// The team reads them in turns. A turn begins when all threads have read what they needed in the one before, or have
/// ended that. Then one stretch of exchange_threads threads brings the next images to the places of those that are
/// needed no more. Each thread waits for the image that it needs itself.

#include "ring_places.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A thread's view of the ring.
/// \tparam Overlaps whether a turn may begin while threads are still busy with what they have read in the one before
template <class C, bool Overlaps>
class image_ring {
 public:
  using element = C;  ///< the type of the images' elements

  static constexpr std::size_t bytes_beside_images(int places, [[maybe_unused]] int image_elements) {
    return static_cast<std::size_t>(places) * sizeof(ring_place) + sizeof(std::uint64_t);
  }

  /// \param images aligned for packs, as is their distance
  /// \param memory of bytes_beside_images() bytes, aligned for packs
  /// \param count of the images that will come
  KOKKOS_FORCEINLINE_FUNCTION image_ring(C* images, int image_elements, void* memory, int places, int count)
      : images_(images),
        places_(static_cast<ring_place*>(memory)),
        readers_(reinterpret_cast<std::uint64_t*>(places_ + places)),
        image_elements_(image_elements),
        count_of_places_(places),
        count_(count),
        order_(places) {}

  /// Makes all places empty.
  KOKKOS_FORCEINLINE_FUNCTION void clear(int thread, [[maybe_unused]] int threads) const {
    if (thread >= prumo::detail::exchange_threads) return;
#if defined(PRUMO_COPIES_IN_BULK)
    if (thread == 0) scratch_barrier(readers_).initialize(threads / prumo::detail::exchange_threads);
#endif
    PRUMO_KEEP_LOOP
    for (int place = thread; place < count_of_places_; place += prumo::detail::exchange_threads) places_[place].clear();
    order_copies_behind_barriers();
  }

  /// Begins to bring the first images, after clear(). Each place is filled by the thread that made it empty, so no
  /// barrier is needed. Other threads see the places behind the barrier with which the first turn begins.
  /// \param image_at returns the address of one of the `count` images
  template <class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void bring_first(int thread, const ImageAt& image_at) {
    brought_ = count_of_places_ < count_ ? count_of_places_ : count_;
    if (thread >= prumo::detail::exchange_threads) return;
    PRUMO_KEEP_LOOP
    for (int image = thread; image < brought_; image += prumo::detail::exchange_threads) {
      bring(image_at(image), {image, 0});
    }
  }

  /// Begins a turn, which all threads of the team do. No thread needs the images before `first` any more. The first
  /// stretch brings as many further ones, each of its threads some of them.
  template <class Member, class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void begin_turn(const Member& member, int first, const ImageAt& image_at) {
    if (Overlaps && turns_ > 0) {
      wait_for_readers(member);
    } else {
      member.team_barrier();
    }
    ++turns_;
    const int thread = member.team_rank();
    order_.leave_before(first);
    const int end = first + count_of_places_ < count_ ? first + count_of_places_ : count_;
    if (thread < prumo::detail::exchange_threads) {
      PRUMO_KEEP_LOOP
      for (int image = brought_ + thread; image < end; image += prumo::detail::exchange_threads) {
        bring(image_at(image), order_.of(image));
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
    if (thread % prumo::detail::exchange_threads == 0) scratch_barrier(readers_).arrive();
#endif
  }

  /// Waits for an image, which is not older than the present turn's first one. If turns overlap, all threads of a
  /// stretch call and go on together.
  /// \return where it is
  KOKKOS_FORCEINLINE_FUNCTION const C* wait_for(int image) const {
    const ring_order::position at = order_.of(image);
    places_[at.place].wait_for(at.turn);
#if defined(__CUDA_ARCH__)
    if (Overlaps) __syncwarp();
#endif
    return images_ + at.place * image_elements_;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void bring(const C* from, const ring_order::position& to) const {
    const int bytes = image_elements_ * static_cast<int>(sizeof(C));
    places_[to.place].bring(from, images_ + to.place * image_elements_, bytes, to.turn);
  }

  /// Waits until all stretches have ended reading in the turn before.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void wait_for_readers([[maybe_unused]] const Member& member) const {
#if defined(PRUMO_COPIES_IN_BULK)
    scratch_barrier(readers_).wait_for_phase(turns_ - 1);
#else
    member.team_barrier();
#endif
  }

  C* images_;
  ring_place* places_;
  std::uint64_t* readers_;  ///< the device's barrier, at which a stretch arrives when it has read its images
  int image_elements_;
  int count_of_places_;
  int count_;
  int brought_ = 0;
  int turns_ = 0;  ///< that have begun
  ring_order order_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
