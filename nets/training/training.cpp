// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "packed_parameters.hpp"
#include "step_way.hpp"
#include "training_checks.hpp"
#include <prumo/detail/huge_pages.hpp>
#include <prumo/error.hpp>
#include <prumo/nets/training.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace prumo::nets {
namespace {

template <class Exec>
using device_bytes = Kokkos::View<std::byte*, typename Exec::memory_space>;
using host_bytes = Kokkos::View<const std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The way that the options name, or the first one that can take the steps and is not slower than one behind it.
template <class Exec>
const step_candidate<Exec>& chosen_way(const Exec& instance, const training_task& task) {
  const std::string& wanted = task.options.implementation;
  std::string reasons, names;
  const step_candidate<Exec>* slower = nullptr;
  for (const step_candidate<Exec>& each : step_candidates<Exec>()) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
    if (!wanted.empty() && wanted != each.name) continue;
    const std::string reason = task.takes_numbers() && !each.takes_numbers
                                   ? "it takes bytes and labels, and the set has numbers"
                                   : each.why_not(instance, task);
    if (reason.empty() && (!wanted.empty() || !each.is_slower(task))) return each;
    if (reason.empty()) {
      if (slower == nullptr) slower = &each;
      continue;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(each.name) + ": " + reason;
  }
  if (slower != nullptr) return *slower;
  if (reasons.empty()) throw_trainer_argument("there is no implementation '" + wanted + "'; there are " + names);
  throw unsupported_error(std::string(trainer_name) + ": no step can be taken of the net '" + task.plan.net().name +
                          "'; " + reasons);
}

}  // namespace

template <class Exec>
struct trainer<Exec>::parts {
  parts(context<Exec>& owner, const description& net, dtype type, training_options how,
        std::span<const std::uint8_t> set_pixels, std::span<const std::uint8_t> set_labels)
      : parts(owner, net, type, std::move(how)) {
    set_images(checked_images(plan, options, set_pixels, set_labels));
    choose_way();
    pixels = memory("pixels", set_pixels.size());
    // Steps take images at random places. With small pages, each asks for an address that is in no near table.
    if constexpr (is_host_space<Exec>) prumo::detail::prefer_huge_pages(pixels.data(), set_pixels.size());
    labels = memory("labels", set_labels.size());
    send(pixels, std::as_bytes(set_pixels));
    send(labels, std::as_bytes(set_labels));
    const image_shape& input = net.input;
    task.pixels = array_ref(pixels.data(), dtype::u8, {task.images, input.channels, input.height, input.width}, {},
                            memory_kind());
    task.labels = array_ref(labels.data(), dtype::u8, {task.images}, {}, memory_kind());
    make_way();
  }

  parts(context<Exec>& owner, const description& net, training_options how, const array_ref& x,
        const array_ref& targets)
      : parts(owner, net, x.type, std::move(how)) {
    set_images(checked_numbers(ctx, plan, options, x, targets));
    task.numbers = without_label(x);
    task.targets = without_label(targets);
    choose_way();
    make_way();
  }

 private:
  parts(context<Exec>& owner, const description& net, dtype type, training_options how)
      : ctx(owner.instance()), plan(net, type), options(std::move(how)), task{.plan = plan, .options = options} {
    ctx.set_working_set(owner.working_set());
  }

  /// Labels are read from the caller's views, which may go.
  static array_ref without_label(array_ref array) {
    array.read_label = nullptr;
    array.labelled = nullptr;
    return array;
  }

  /// A step of more images than there are is one of all, and takes memory for no more.
  void set_images(std::int64_t images) {
    task.images = images;
    options.batch = std::min(options.batch, images);
  }

  void choose_way() { choice = &chosen_way(ctx.instance(), task); }

  void make_way() {
    const std::size_t bytes = static_cast<std::size_t>(plan.weights_elements()) * dtype_size(plan.type());
    weights = zeros("weights", bytes);
    gradients = zeros("gradients", bytes);
    const bool is_adam = options.optimizer == optimizer::adam;
    first_moments = zeros("first moments", is_adam || options.optimizer == optimizer::momentum ? bytes : 0);
    second_moments = zeros("second moments", is_adam ? bytes : 0);
    counters = memory("counters", sizeof(training_counters));
    set_counters({}, options.learning_rate);
    task.weights = flat(weights);
    task.gradients = flat(gradients);
    task.first_moments = flat(first_moments);
    task.second_moments = flat(second_moments);
    task.counters = reinterpret_cast<training_counters*>(counters.data());
    way = choice->make(ctx, task);
    ctx.fence();
  }

 public:
  static constexpr auto memory_kind() { return prumo::detail::memory_kind_of<typename Exec::memory_space>(); }

  device_bytes<Exec> memory(const char* label, std::size_t bytes) const {
    return device_bytes<Exec>(
        Kokkos::view_alloc(ctx.instance(), std::string("prumo::nets::trainer::") + label, Kokkos::WithoutInitializing),
        bytes);
  }
  device_bytes<Exec> zeros(const char* label, std::size_t bytes) const {
    const auto made = memory(label, bytes);
    set_zero(made);
    return made;
  }
  void set_zero(const device_bytes<Exec>& what) const {
    if (what.size() > 0) Kokkos::deep_copy(ctx.instance(), what, std::byte{0});
  }
  array_ref flat(const device_bytes<Exec>& bytes) const {
    const auto elements = static_cast<std::int64_t>(bytes.size() / dtype_size(plan.type()));
    return {bytes.data(), plan.type(), {elements}, {}, memory_kind()};
  }

  /// Waits, because the host's memory may go.
  void send(const device_bytes<Exec>& to, std::span<const std::byte> from) const {
    Kokkos::deep_copy(ctx.instance(), to, host_bytes(from.data(), from.size()));
    ctx.fence();
  }
  std::vector<std::byte> received(const device_bytes<Exec>& from) const {
    std::vector<std::byte> bytes(from.size());
    Kokkos::deep_copy(ctx.instance(),
                      Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                          bytes.data(), bytes.size()),
                      from);
    ctx.fence();
    return bytes;
  }
  std::vector<double> packed(const device_bytes<Exec>& from) const {
    if (from.size() == 0) return {};
    return packed_parameters(plan, received(from));
  }
  void set_packed(const device_bytes<Exec>& to, std::span<const double> from) const {
    if (to.size() > 0) send(to, placed_parameters(plan, from));
  }

  void set_counters(const training_progress& now, double rate) {
    training_counters next;
    next.sums[0] = now.loss_sum;
    next.sums[1] = static_cast<double>(now.correct);
    next.rate = rate;
    next.optimizer_step = static_cast<double>(now.steps_done);
    next.epoch = now.epoch;
    next.step = now.step;
    send(counters, std::as_bytes(std::span(&next, 1)));
    step = now.step;
  }
  training_counters read_counters() const {
    training_counters now;
    std::memcpy(&now, received(counters).data(), sizeof(now));
    return now;
  }
  training_progress progress_of(const training_counters& now) const {
    return {.epoch = now.epoch,
            .step = now.step,
            .steps_done = static_cast<std::int64_t>(now.optimizer_step),
            .images_done = std::min(now.step * options.batch, task.images),
            .loss_sum = now.sums[0],
            .correct = static_cast<std::int64_t>(now.sums[1])};
  }

  void begin_anew(std::span<const double> new_weights) {
    set_packed(weights, new_weights);
    set_zero(first_moments);
    set_zero(second_moments);
    set_counters({}, options.learning_rate);
  }

  mutable context<Exec> ctx;
  forward_plan plan;
  training_options options;
  training_task task;
  const step_candidate<Exec>* choice = nullptr;
  device_bytes<Exec> pixels, labels, weights, gradients, first_moments, second_moments, counters;
  std::unique_ptr<step_way<Exec>> way;
  std::int64_t step = 0;  ///< the steps of the epoch that have been enqueued
};

template <class Exec>
trainer<Exec>::trainer(context<Exec>& owner, const description& net, dtype type, const training_options& options,
                       std::span<const std::uint8_t> pixels, std::span<const std::uint8_t> labels) {
  check_type(type);
  parts_ = std::make_unique<parts>(owner, net, type, options, pixels, labels);
}

template <class Exec>
trainer<Exec>::trainer(context<Exec>& owner, const description& net, const training_options& options,
                       const array_ref& x, const array_ref& targets) {
  check_type(x.type);
  parts_ = std::make_unique<parts>(owner, net, options, x, targets);
}

template <class Exec>
trainer<Exec>::~trainer() = default;
template <class Exec>
trainer<Exec>::trainer(trainer&&) noexcept = default;
template <class Exec>
trainer<Exec>& trainer<Exec>::operator=(trainer&&) noexcept = default;

template <class Exec>
void trainer<Exec>::initialize() {
  parts_->begin_anew(initial_weights(facts(), options().loss, options().seed));
}

template <class Exec>
void trainer<Exec>::set_weights(std::span<const double> packed) {
  check_weights("weights", packed.size(), facts().parameters);
  parts_->begin_anew(packed);
}

template <class Exec>
std::vector<double> trainer<Exec>::weights() const {
  return parts_->packed(parts_->weights);
}

template <class Exec>
array_ref trainer<Exec>::device_weights() const {
  return parts_->task.weights;
}

template <class Exec>
const forward_plan& trainer<Exec>::plan() const {
  return parts_->plan;
}

template <class Exec>
void trainer<Exec>::advance(std::int64_t steps) {
  if (steps < 0) throw_trainer_argument("expected steps from 0, got " + std::to_string(steps));
  const std::int64_t of_an_epoch = steps_per_epoch();
  while (steps > 0) {
    if (parts_->step == of_an_epoch) parts_->step = 0;
    const std::int64_t now = std::min(steps, of_an_epoch - parts_->step);
    parts_->way->enqueue(parts_->ctx, parts_->step, now);
    parts_->step += now;
    steps -= now;
  }
}

template <class Exec>
training_progress trainer<Exec>::progress() const {
  return parts_->progress_of(parts_->read_counters());
}

template <class Exec>
void trainer<Exec>::set_learning_rate(double rate) {
  check_rate(rate);
  const Kokkos::View<double*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> place(
      &parts_->task.counters->rate, 1);
  Kokkos::deep_copy(parts_->ctx.instance(), place, rate);
}

template <class Exec>
training_state trainer<Exec>::state() const {
  const training_counters now = parts_->read_counters();
  return {.weights = weights(),
          .first_moments = parts_->packed(parts_->first_moments),
          .second_moments = parts_->packed(parts_->second_moments),
          .progress = parts_->progress_of(now),
          .learning_rate = now.rate};
}

template <class Exec>
void trainer<Exec>::restore(const training_state& from) {
  const auto numbers = [&](const device_bytes<Exec>& of) { return of.size() > 0 ? facts().parameters : 0; };
  check_weights("weights", from.weights.size(), facts().parameters);
  check_weights("first moments", from.first_moments.size(), numbers(parts_->first_moments));
  check_weights("second moments", from.second_moments.size(), numbers(parts_->second_moments));
  check_rate(from.learning_rate);
  check_progress(parts_->task, from.progress);
  parts_->set_packed(parts_->weights, from.weights);
  parts_->set_packed(parts_->first_moments, from.first_moments);
  parts_->set_packed(parts_->second_moments, from.second_moments);
  parts_->set_counters(from.progress, from.learning_rate);
}

template <class Exec>
std::int64_t trainer<Exec>::steps_per_epoch() const {
  return parts_->task.steps_per_epoch();
}

template <class Exec>
const training_options& trainer<Exec>::options() const {
  return parts_->options;
}

template <class Exec>
std::string_view trainer<Exec>::implementation() const {
  return parts_->choice->name;
}

template <class Exec>
std::vector<std::string_view> training_implementations() {
  std::vector<std::string_view> names;
  for (const step_candidate<Exec>& each : step_candidates<Exec>()) names.emplace_back(each.name);
  return names;
}

#define PRUMO_INSTANTIATE_TRAINER(Space) \
  template class trainer<Space>;         \
  template std::vector<std::string_view> training_implementations<Space>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TRAINER)
#undef PRUMO_INSTANTIATE_TRAINER

}  // namespace prumo::nets
