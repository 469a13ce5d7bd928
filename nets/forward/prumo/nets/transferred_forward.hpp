// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net for images that lie as bytes in the host's memory.

#include <prumo/backend/copy_stream.hpp>
#include <prumo/context.hpp>
#include <prumo/error.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/image_chunks.hpp>
#include <prumo/nets/split_plan.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace prumo::nets {

/// Takes batches of images from bytes in the host's memory to results there. A batch is cut into chunks: while one is
/// computed on the context's instance, the next one is copied on a stream of its own. Where the host's memory is the
/// device's, nothing is copied.
///
/// Only the layers before the first dense one take a chunk at a time. The others take several chunks together, because
/// each of them has so little to do that a device computes a whole batch in little more time than a chunk.
///
/// All memory is allocated by the constructor. run() waits for nothing and enqueues everything, in the order of the
/// instance's work: it begins behind what was enqueued before, and the results are there when the instance is fenced.
/// If the host's memory is not pinned, run() returns later, because the runtime reads it before.
///
///     nets::transferred_forward<Kokkos::Cuda> net(ctx, plan, 10000);
///     net.run(weights, pixels, images, scores);
///     ctx.fence();
template <class Exec>
class transferred_forward {
 public:
  /// \param owner, plan have to outlive this object. The last layer of the net is dense or a softmax
  /// \param most_images of a batch
  /// \param first_chunk images that are copied before anything is computed; 0: a suitable number
  transferred_forward(context<Exec>& owner, const forward_plan& plan, std::int64_t most_images,
                      std::int64_t first_chunk = 0)
      : owner_(owner),
        plan_(plan),
        most_images_(std::max<std::int64_t>(0, most_images)),
        parts_(plan),
        chunks_(most_images_, plan.net().input.size(), first_chunk),
        copies_(backend::make_copy_stream(owner.instance())),
        // A host computes a few images as efficiently as many, and has them in a cache then.
        most_together_(copies_ != nullptr ? parts_.images_together(chunks_, most_images_) : chunks_.largest()),
        numbers_(memory("numbers", chunks_.largest() * plan.net().input.size() * width())),
        features_(memory("features", parts_.from_dense ? most_together_ * parts_.features() * width() : 0)),
        arena_(memory("arena", arena_elements() * width())) {
    if (copies_ == nullptr) return;
    for (bytes_view& it : pixels_) it = memory("pixels", whole_packs(chunks_.largest() * plan.net().input.size()));
    results_ = memory("results", most_images_ * plan.facts().classes * width());
  }

  /// Enqueues a batch.
  /// \param weights on the device, as forward_plan::run() takes them
  /// \param pixels [images x channels x height x width] in the host's memory; a byte b becomes the number b / 255
  /// \param results [images x classes] of the plan's type in the host's memory
  /// \throws argument_error for more images than the constructor was told; what the operations throw
  void run(const array_ref& weights, const std::uint8_t* pixels, std::int64_t images, void* results) {
    if (images < 0 || images > most_images_) {
      throw argument_error("prumo::nets::transferred_forward: expected 0 to " + std::to_string(most_images_) +
                           " images, as many as the constructor was told; got " + std::to_string(images));
    }
    if (images == 0) return;
    chunk now = after({}, images), next = after(now, images), second = after(next, images);
    const bool overlaps = copies_ != nullptr && next.images > 0;
    if (overlaps) {
      copies_->mark_work();
      copies_->wait_for_work();
      send(0, pixels, now);
    } else if (copies_ != nullptr) {
      const std::int64_t bytes = now.images * image_bytes();
      Kokkos::deep_copy(owner_.instance(), device_view(pixels_[0].data(), bytes), host_view(pixels, bytes));
    }
    chunk together;  // whose features wait for the dense layers
    for (std::size_t which = 0; now.images > 0; which = 1 - which) {
      if (overlaps) copies_->make_work_wait(which);
      const std::byte* const source = copies_ != nullptr
                                          ? pixels_[which].data()
                                          : reinterpret_cast<const std::byte*>(pixels) + now.first * image_bytes();
      run_images(weights, source, now, now.first - together.first, results, overlaps);
      together.images += now.images;
      if (together.images + next.images > most_together_ || next.images == 0) {
        run_dense(weights, together, results);
        together = {next.first, 0};
      }
      // The host enqueues work first: copies from memory that is not pinned keep it busy.
      if (overlaps && now.first == 0) send(1, pixels, next);
      if (second.images > 0 && overlaps) {
        copies_->wait_for_work();
        send(which, pixels, second);
      }
      now = next;
      next = second;
      second = after(second, images);
    }
    copy_results(images, results);
  }

  /// Enqueues only the last part of run(): the results of the latest batch go to the host's memory.
  void copy_results(std::int64_t images, void* results) {
    if (copies_ == nullptr) return;
    const std::int64_t bytes = images * plan_.facts().classes * width();
    Kokkos::deep_copy(owner_.instance(), host_view(results, bytes), device_view(results_.data(), bytes));
  }

  /// Enqueues that everything that run() leaves on the device becomes NaN.
  void forget() {
    constexpr auto all_bits = std::byte{0xFF};
    for (const bytes_view& it : {numbers_, features_, arena_, results_}) {
      if (it.size() > 0) Kokkos::deep_copy(owner_.instance(), it, all_bits);
    }
  }

 private:
  using bytes_view = Kokkos::View<std::byte*, typename Exec::memory_space>;
  using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;

  /// Images that are copied and computed together.
  struct chunk {
    std::int64_t first = 0;
    std::int64_t images = 0;
  };

  std::int64_t arena_elements() const {
    const std::int64_t of_images = parts_.before_dense.arena_elements(chunks_.largest());
    return parts_.from_dense ? std::max(of_images, parts_.from_dense->arena_elements(most_together_)) : of_images;
  }

  /// Enqueues the layers of a chunk that need not wait for others.
  /// \param source the bytes of the chunk's images, for whose use the copies wait if there are any
  /// \param place of the chunk's first image among the features
  void run_images(const array_ref& weights, const std::byte* source, const chunk& of, std::int64_t place, void* results,
                  bool copies_wait) {
    const forward_plan& plan = parts_.before_dense;
    const array_ref numbers = numbers_of(of.images), arena = between(plan.arena_elements(of.images)),
                    y = parts_.from_dense ? features_of(place, of.images) : results_of(results, of);
    const std::size_t done = plan.take_bytes(owner_, bytes_of(source, of.images), numbers, weights, arena, y);
    if (copies_wait) copies_->mark_work();
    plan.run_from(owner_, done, numbers, weights, arena, y);
  }
  /// Enqueues the others for the images that lie together.
  void run_dense(const array_ref& weights, const chunk& of, void* results) {
    if (!parts_.from_dense) return;
    parts_.from_dense->run(owner_, features_of(0, of.images), parts_.weights_from_dense(weights),
                           between(parts_.from_dense->arena_elements(of.images)), results_of(results, of));
  }

  chunk after(const chunk& before, std::int64_t images) const {
    const std::int64_t first = before.first + before.images;
    return {first, first < images ? chunks_.next(before.images, images - first) : 0};
  }

  /// The next multiple of 16 bytes, as forward_plan::take_bytes() wants it.
  static constexpr std::int64_t whole_packs(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }

  std::int64_t width() const { return static_cast<std::int64_t>(dtype_size(plan_.type())); }
  std::int64_t image_bytes() const { return plan_.net().input.size(); }

  bytes_view memory(const char* label, std::int64_t bytes) const {
    return bytes_view(Kokkos::view_alloc(owner_.instance(), std::string("prumo::nets::transferred_forward::") + label,
                                         Kokkos::WithoutInitializing),
                      static_cast<std::size_t>(bytes));
  }
  static auto device_view(std::byte* data, std::int64_t bytes) {
    return Kokkos::View<std::byte*, typename Exec::memory_space, unmanaged>(data, static_cast<std::size_t>(bytes));
  }
  static auto host_view(void* data, std::int64_t bytes) {
    return Kokkos::View<std::byte*, Kokkos::HostSpace, unmanaged>(static_cast<std::byte*>(data),
                                                                  static_cast<std::size_t>(bytes));
  }
  static auto host_view(const void* data, std::int64_t bytes) {
    return Kokkos::View<const std::byte*, Kokkos::HostSpace, unmanaged>(static_cast<const std::byte*>(data),
                                                                        static_cast<std::size_t>(bytes));
  }

  void send(std::size_t which, const std::uint8_t* pixels, const chunk& of) {
    copies_->copy(which, pixels_[which].data(), pixels + of.first * image_bytes(),
                  static_cast<std::size_t>(of.images * image_bytes()));
  }

  static array_ref on_device(const void* data, dtype type, std::initializer_list<std::int64_t> extents) {
    return {const_cast<void*>(data), type, extents, {}, detail::memory_kind_of<typename Exec::memory_space>()};
  }
  array_ref bytes_of(const std::byte* data, std::int64_t images) const {
    const image_shape& input = plan_.net().input;
    return on_device(data, dtype::u8, {images, input.channels, input.height, input.width});
  }
  array_ref numbers_of(std::int64_t images) const {
    const image_shape& input = plan_.net().input;
    return on_device(numbers_.data(), plan_.type(), {images, input.channels, input.height, input.width});
  }
  array_ref between(std::int64_t elements) const { return on_device(arena_.data(), plan_.type(), {elements}); }
  array_ref features_of(std::int64_t first, std::int64_t images) const {
    const image_shape& shape = parts_.from_dense->net().input;
    return on_device(features_.data() + first * parts_.features() * width(), plan_.type(),
                     {images, shape.channels, shape.height, shape.width});
  }
  array_ref results_of(void* results, const chunk& of) const {
    std::byte* const all = copies_ != nullptr ? results_.data() : static_cast<std::byte*>(results);
    const std::int64_t images = of.images, classes = plan_.facts().classes;
    return on_device(all + of.first * classes * width(), plan_.type(), {images, classes});
  }

  context<Exec>& owner_;
  const forward_plan& plan_;
  std::int64_t most_images_;
  split_plan parts_;
  image_chunks chunks_;
  std::unique_ptr<backend::copy_stream> copies_;
  std::int64_t most_together_;
  bytes_view pixels_[2], numbers_, features_, arena_, results_;
};

}  // namespace prumo::nets
