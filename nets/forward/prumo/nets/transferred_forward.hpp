// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net for images that lie as bytes in the host's memory.

#include <prumo/backend/copy_stream.hpp>
#include <prumo/context.hpp>
#include <prumo/error.hpp>
#include <prumo/images.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/image_chunks.hpp>

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
        chunks_(most_images_, plan.net().input.size(), first_chunk),
        copies_(backend::make_copy_stream(owner.instance())),
        numbers_(memory("numbers", chunks_.largest() * plan.net().input.size() * width())),
        arena_(memory("arena", plan.arena_elements(chunks_.largest()) * width())) {
    if (copies_ == nullptr) return;
    for (bytes_view& it : pixels_) it = memory("pixels", chunks_.largest() * plan.net().input.size());
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
    for (std::size_t which = 0; now.images > 0; which = 1 - which) {
      if (overlaps) copies_->make_work_wait(which);
      const std::byte* const source = copies_ != nullptr
                                          ? pixels_[which].data()
                                          : reinterpret_cast<const std::byte*>(pixels) + now.first * image_bytes();
      convert_images(owner_.instance(), bytes_of(source, now.images), numbers_of(now.images));
      if (overlaps) copies_->mark_work();
      plan_.run(owner_, numbers_of(now.images), weights, between(now.images), results_of(results, now));
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
    for (const bytes_view& it : {numbers_, arena_, results_}) {
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

  chunk after(const chunk& before, std::int64_t images) const {
    const std::int64_t first = before.first + before.images;
    return {first, first < images ? chunks_.next(before.images, images - first) : 0};
  }

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
  array_ref between(std::int64_t images) const {
    return on_device(arena_.data(), plan_.type(), {plan_.arena_elements(images)});
  }
  array_ref results_of(void* results, const chunk& of) const {
    std::byte* const all = copies_ != nullptr ? results_.data() : static_cast<std::byte*>(results);
    const std::int64_t images = of.images, classes = plan_.facts().classes;
    return on_device(all + of.first * classes * width(), plan_.type(), {images, classes});
  }

  context<Exec>& owner_;
  const forward_plan& plan_;
  std::int64_t most_images_;
  image_chunks chunks_;
  std::unique_ptr<backend::copy_stream> copies_;
  bytes_view pixels_[2], numbers_, arena_, results_;
};

}  // namespace prumo::nets
