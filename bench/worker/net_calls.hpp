// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The arrays of an open net, and its calls.

#include "device_calls.hpp"
#include "net_placement.hpp"
#include <prumo/context.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/images.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/transferred_forward.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace prumo::worker {

/// What a net reads and writes on the device, for some batches of images.
template <class Exec>
class net_arrays {
 public:
  net_arrays(context<Exec>& owner, const nets::forward_plan& plan, const net_placement& place)
      : owner_(owner),
        plan_(plan),
        place_(place),
        width_(static_cast<std::int64_t>(dtype_size(plan.type()))),
        weights_(memory("weights", plan.weights_elements() * width_)),
        pixels_(memory("pixels", place.batch_pixels)),
        x_(memory("x", place.slots * place.batch_pixels * width_)),
        arena_(memory("arena", plan.arena_elements(place.batch) * width_)),
        y_(memory("y", place.batch_results * width_)) {}

  context<Exec>& owner() const { return owner_; }
  std::int64_t slots() const { return place_.slots; }
  std::size_t result_bytes() const { return y_.size(); }
  std::int64_t batch() const { return place_.batch; }
  const nets::forward_plan& plan() const { return plan_; }
  std::size_t pixel_bytes() const { return pixels_.size(); }

  void set_weights(const std::byte* from) { copy(weights_.data(), from, weights_.size()); }

  /// Enqueues that a slot gets a batch of images: copies their bytes from the host, and makes numbers of them.
  void set_images(std::int64_t slot, const std::byte* from) {
    copy_images(from);
    const nets::image_shape& input = plan_.net().input;
    const array_ref pixels{pixels_.data(),
                           dtype::u8,
                           {place_.batch, input.channels, input.height, input.width},
                           {},
                           detail::memory_kind_of<typename Exec::memory_space>()};
    convert_images(owner_.instance(), pixels, x(slot));
  }
  void copy_images(const std::byte* from) { copy(pixels_.data(), from, pixels_.size()); }

  /// Enqueues that the host gets the results.
  void get_results(std::byte* to) const { copy(to, y_.data(), y_.size()); }

  /// Enqueues that the host gets what a step left of the image at a place of the batch.
  void get_step(std::size_t step, std::int64_t place, std::span<std::byte> to) const {
    const array_ref all = plan_.step_result(step, place_.batch, arena(), y());
    const std::byte* const from =
        static_cast<const std::byte*>(all.data) + place * static_cast<std::int64_t>(to.size());
    copy(to.data(), from, to.size());
  }

  /// Enqueues that results, and what lies between steps, become NaN: all bits are set.
  void forget_results() {
    constexpr auto all_bits = std::byte{0xFF};
    Kokkos::deep_copy(owner_.instance(), y_, all_bits);
    Kokkos::deep_copy(owner_.instance(), arena_, all_bits);
  }

  void run(std::int64_t slot) { plan_.run(owner_, x(slot), weights(), arena(), y()); }
  void run_step(std::size_t step, std::int64_t slot) { plan_.run_step(owner_, step, x(slot), weights(), arena(), y()); }
  array_ref weights() const { return numbers(weights_, {plan_.weights_elements()}); }

 private:
  using bytes_view = Kokkos::View<std::byte*, typename Exec::memory_space>;

  bytes_view memory(const char* label, std::int64_t bytes) const {
    return bytes_view(
        Kokkos::view_alloc(owner_.instance(), std::string("prumo::worker::") + label, Kokkos::WithoutInitializing),
        static_cast<std::size_t>(bytes));
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    machine::enqueue_copy(owner_.instance(), to, from, bytes);
  }
  array_ref numbers(const bytes_view& bytes, std::initializer_list<std::int64_t> extents,
                    std::int64_t first = 0) const {
    return {bytes.data() + first * width_,
            plan_.type(),
            extents,
            {},
            detail::memory_kind_of<typename Exec::memory_space>()};
  }
  array_ref x(std::int64_t slot) const {
    const nets::image_shape& input = plan_.net().input;
    return numbers(x_, {place_.batch, input.channels, input.height, input.width}, slot * place_.batch_pixels);
  }
  array_ref arena() const { return numbers(arena_, {plan_.arena_elements(place_.batch)}); }
  array_ref y() const { return numbers(y_, {place_.batch, plan_.facts().classes}); }

  context<Exec>& owner_;
  const nets::forward_plan& plan_;
  net_placement place_;
  std::int64_t width_;
  bytes_view weights_, pixels_, x_, arena_, y_;
};

/// The whole net on images that are on the device.
template <class Exec>
class resident_net_calls final : public device_calls<Exec> {
 public:
  explicit resident_net_calls(net_arrays<Exec>& arrays)
      : device_calls<Exec>(arrays.owner().instance(), false), arrays_(arrays) {}

  void enqueue(std::size_t copy) override { arrays_.run(static_cast<std::int64_t>(copy)); }

 private:
  net_arrays<Exec>& arrays_;
};

/// The whole net, from the bytes of images in the host's memory to results there. Copies run beside the work, so what
/// they take by themselves is measured behind the calls.
template <class Exec>
class transferred_net_calls final : public copying_calls<Exec> {
 public:
  /// \param images the bytes of all slots; `results` get those of a batch
  transferred_net_calls(net_arrays<Exec>& arrays, const std::byte* images, std::byte* results)
      : copying_calls<Exec>(arrays.owner().instance()),
        arrays_(arrays),
        net_(arrays.owner(), arrays.plan(), arrays.batch()),
        images_(images),
        results_(results),
        alone_(backend::make_device_clock(arrays.owner().instance(), 3)) {
    this->h2d_bytes_ = arrays.pixel_bytes();
    this->d2h_bytes_ = arrays.result_bytes();
  }

  void enqueue(std::size_t copy) override {
    const auto* const pixels = reinterpret_cast<const std::uint8_t*>(images_ + copy * arrays_.pixel_bytes());
    net_.run(arrays_.weights(), pixels, arrays_.batch(), results_);
  }

  protocol::timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
    protocol::timed_interval result = device_calls<Exec>::run(std::min(calls, this->most_calls()), first, copies);
    const auto count = static_cast<double>(result.calls);
    alone_->mark(0);
    copy_inputs(first);
    alone_->mark(1);
    copy_outputs(first);
    alone_->mark(2);
    result.h2d = count * alone_->seconds_between(0, 1);
    result.d2h = count * alone_->seconds_between(1, 2);
    return result;
  }

  /// Enqueues that what calls leave on the device becomes NaN.
  void forget() { net_.forget(); }

 protected:
  void copy_inputs(std::size_t copy) override { arrays_.copy_images(images_ + copy * arrays_.pixel_bytes()); }
  void copy_outputs(std::size_t) override { net_.copy_results(arrays_.batch(), results_); }

 private:
  net_arrays<Exec>& arrays_;
  nets::transferred_forward<Exec> net_;
  const std::byte* images_;
  std::byte* results_;
  std::unique_ptr<backend::device_clock> alone_;
};

/// One step, on what the step before has left.
template <class Exec>
class net_step_calls final : public device_calls<Exec> {
 public:
  net_step_calls(net_arrays<Exec>& arrays, std::size_t step)
      : device_calls<Exec>(arrays.owner().instance(), false), arrays_(arrays), step_(step) {}

  void enqueue(std::size_t copy) override { arrays_.run_step(step_, static_cast<std::int64_t>(copy)); }

 private:
  net_arrays<Exec>& arrays_;
  std::size_t step_;
};

}  // namespace prumo::worker
