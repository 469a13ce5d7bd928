// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "measured_sample.hpp"
#include "net_calls.hpp"
#include "net_numbers.hpp"
#include <prumo/inference/net_comparison.hpp>
#include <prumo/inference/net_files.hpp>
#include <prumo/protocol/seconds_since.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace prumo::worker {

/// An open net: its files, its arrays, and the calls that were asked for so far.
template <class Exec>
class net_session {
 public:
  net_session(const Exec& instance, const protocol::open_request& request, inference::net_files files,
              nets::forward_plan plan, const net_placement& place)
      : files_(std::move(files)),
        plan_(std::move(plan)),
        place_(place),
        owner_(instance),
        arrays_(owner_, plan_, place_),
        images_(instance, static_cast<std::size_t>(place.slots * place.batch_pixels), is_pinned(request)),
        results_(instance, arrays_.result_bytes(), is_pinned(request)) {
    set_weights();
    for (std::int64_t slot = 0; slot < place_.slots; ++slot) set_slot(slot, slot * place_.batch);
    // From here on the workspace does not grow, so what is recorded stays valid.
    arrays_.run(0);
    owner_.fence();
    if (request.transferred) {
      auto made = std::make_unique<transferred_net_calls<Exec>>(arrays_, images_.data(), results_.data());
      copies_ = made.get();
      net_.emplace(std::move(made), slots());
    } else {
      net_.emplace(std::make_unique<resident_net_calls<Exec>>(arrays_), slots());
    }
  }

  const inference::net_files& files() const { return files_; }
  const nets::forward_plan& plan() const { return plan_; }
  bool has_device_clock() const { return net_->calls->has_device_clock(); }
  bool is_single() const { return net_->calls->is_single(); }

  protocol::sample_answer time(const std::optional<std::size_t>& step, double seconds) {
    if (!step) return measure_sample<Exec>(owner_.instance(), net_->sampled, seconds, copies_);
    timed& it = step_calls(*step);
    run_before(*step);
    return measure_sample<Exec>(owner_.instance(), it.sampled, seconds, nullptr);
  }

  protocol::check_answer check(const protocol::check_request& request) {
    // A reference of this many operations takes a few tenths of a second.
    constexpr double usual_budget = 3e7;
    std::vector<inference::computed_image> images;
    if (request.images) {
      images = results_of(*request.images, request.layer);
    } else {
      // Twice: the net, and each step by itself.
      const auto of_image = 2 * static_cast<double>(std::max<std::int64_t>(1, plan_.facts().flops_inside));
      const double affordable = request.budget.value_or(usual_budget) / of_image;
      const std::int64_t most = std::min(place_.batch, image_count());
      const auto count = affordable >= static_cast<double>(most)
                             ? most
                             : std::max<std::int64_t>(1, static_cast<std::int64_t>(affordable));
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < count; ++i) places.push_back(i * most / count);
      const std::int64_t slot = request.layer ? 0 : run_net();
      if (!request.layer) {
        for (const std::int64_t place : places) {
          images.push_back(image_of((slot * place_.batch + place) % image_count(), place));
        }
      }
      const auto left = run_steps(slot, places, request.layer);
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (request.layer) images.push_back(image_of(places[i] % image_count(), places[i]));
        images[i].steps = left[i];
      }
    }
    protocol::check_answer answer = inference::compare_with_reference(
        files_.net, packed_weights_, images, inference::arithmetic_of(dtype_name(plan_.type())), layers_of_steps());
    const bool all = std::cmp_greater_equal(images.size(), std::min(place_.batch, image_count()));
    answer.method = all ? "all" : "sampled";
    answer.dispatch = net_->calls->settled_dispatch();
    return answer;
  }

  protocol::evaluate_answer evaluate() {
    protocol::evaluate_answer answer;
    answer.images = image_count();
    answer.predictions.reserve(static_cast<std::size_t>(image_count()));
    const auto begun = std::chrono::steady_clock::now();
    for (std::int64_t first = 0; first < image_count(); first += place_.batch) {
      set_slot(0, first);
      arrays_.run(0);
      arrays_.get_results(results_.data());
      owner_.fence();
      const std::int64_t count = std::min(place_.batch, image_count() - first);
      for (std::int64_t i = 0; i < count; ++i) {
        answer.predictions.push_back(static_cast<std::int64_t>(inference::prediction(results_at(i))));
      }
    }
    answer.seconds = protocol::seconds_since(begun);
    for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
      if (answer.predictions[i] == files_.set.labels.classes[i]) ++answer.correct;
    }
    set_slot(0, 0);
    return answer;
  }

 private:
  struct timed {
    timed(std::unique_ptr<device_calls<Exec>> made, std::size_t copies)
        : calls(std::move(made)), sampled(*calls, copies) {}
    std::unique_ptr<device_calls<Exec>> calls;
    protocol::sampler sampled;
  };

  static bool is_pinned(const protocol::open_request& request) {
    return request.transferred && request.host_memory.value_or("pinned") == "pinned";
  }

  std::size_t slots() const { return static_cast<std::size_t>(place_.slots); }
  std::int64_t image_count() const { return files_.set.images.count; }

  void set_weights() {
    const std::size_t width = dtype_size(plan_.type());
    std::vector<std::byte> placed(static_cast<std::size_t>(plan_.weights_elements()) * width);
    for (std::size_t which = 0; which < files_.weights.size(); ++which) {
      std::byte* const at = placed.data() + static_cast<std::size_t>(plan_.parameters()[which].offset) * width;
      write_numbers(plan_.type(), files_.weights[which], at);
      const std::vector<double> rounded = read_numbers(plan_.type(), at, files_.weights[which].size());
      packed_weights_.insert(packed_weights_.end(), rounded.begin(), rounded.end());
    }
    arrays_.set_weights(placed.data());
    owner_.fence();
  }

  /// Gives a slot the batch that begins with an image. Behind the last image the first one follows.
  void set_slot(std::int64_t slot, std::int64_t first) {
    std::vector<std::int64_t> numbers;
    const auto& pixels = files_.set.images.pixels;
    const std::int64_t size = files_.set.images.bytes_per_image();
    std::byte* const to = slot_bytes(slot);
    for (std::int64_t done = 0; done < place_.batch;) {
      const std::int64_t from = (first + done) % image_count();
      const std::int64_t count = std::min(place_.batch - done, image_count() - from);
      std::memcpy(to + done * size, pixels.data() + from * size, static_cast<std::size_t>(count * size));
      done += count;
    }
    send_slot(slot);
  }

  std::byte* slot_bytes(std::int64_t slot) { return images_.data() + slot * place_.batch_pixels; }

  void send_slot(std::int64_t slot) {
    arrays_.set_images(slot, slot_bytes(slot));
    owner_.fence();
  }

  timed& step_calls(std::size_t step) {
    auto& it = steps_[step];
    if (it == nullptr) it = std::make_unique<timed>(std::make_unique<net_step_calls<Exec>>(arrays_, step), slots());
    return *it;
  }

  /// What a step reads is there when the steps before it have run.
  void run_before(std::size_t step) {
    for (std::size_t before = 0; before < step; ++before) arrays_.run_step(before, 0);
    owner_.fence();
  }

  void forget_results() {
    arrays_.forget_results();
    if (copies_ != nullptr) copies_->forget();
    owner_.fence();
    std::memset(results_.data(), 0xFF, arrays_.result_bytes());
  }

  void fetch_results() {
    if (copies_ != nullptr) return;  // the calls themselves brought them
    arrays_.get_results(results_.data());
    owner_.fence();
  }

  /// Makes the calls of an interval. Returns the slot of the last one, whose results are on the host then.
  std::int64_t run_net() {
    net_->sampled.calibrate();
    const std::size_t slot = net_->sampled.last_copy();
    forget_results();
    net_->sampled.run_interval();
    fetch_results();
    return static_cast<std::int64_t>(slot);
  }

  /// What each step left of an image.
  using left_by_steps = std::vector<std::vector<double>>;

  /// Runs a slot step by step, and fetches what each left of the images at some places. The host gets the results, too,
  /// if the steps run `as_timed`: otherwise those of the net's call stay there.
  std::vector<left_by_steps> run_steps(std::int64_t slot, std::span<const std::int64_t> places, bool as_timed) {
    for (std::size_t step = 0; as_timed && step < plan_.steps(); ++step) {
      run_before(step);
      step_calls(step).sampled.calibrate();
    }
    arrays_.forget_results();
    std::vector<left_by_steps> left(places.size());
    for (std::size_t step = 0; step < plan_.steps(); ++step) {
      if (as_timed) {
        step_calls(step).calls->run_once(static_cast<std::size_t>(slot));
      } else {
        arrays_.run_step(step, slot);
      }
      const auto count =
          static_cast<std::size_t>(plan_.facts().layers[plan_.step_layers(step).second - 1].output.size());
      std::vector<std::byte> numbers(count * dtype_size(plan_.type()));
      for (std::size_t i = 0; i < places.size(); ++i) {
        arrays_.get_step(step, places[i], numbers);
        owner_.fence();
        left[i].push_back(read_numbers(plan_.type(), numbers.data(), count));
      }
    }
    if (as_timed) arrays_.get_results(results_.data());
    owner_.fence();
    return left;
  }

  std::vector<inference::net_step> layers_of_steps() const {
    std::vector<inference::net_step> steps;
    for (std::size_t step = 0; step < plan_.steps(); ++step) {
      const auto [first, last] = plan_.step_layers(step);
      steps.push_back({plan_.step_name(step), first, last});
    }
    return steps;
  }

  /// The results of chosen images, a batch after the other.
  std::vector<inference::computed_image> results_of(std::span<const std::int64_t> numbers, bool by_steps) {
    const auto& all = files_.set.images;
    for (const std::int64_t number : numbers) {
      if (number < all.count) continue;
      throw protocol::request_error(protocol::error_kind::usage, "the field 'images' names image " +
                                                                     std::to_string(number) + ", and there are " +
                                                                     std::to_string(all.count) + " from 0 up");
    }
    net_->sampled.calibrate();
    std::vector<inference::computed_image> made;
    for (std::size_t first = 0; first < numbers.size(); first += static_cast<std::size_t>(place_.batch)) {
      const auto part =
          numbers.subspan(first, std::min(numbers.size() - first, static_cast<std::size_t>(place_.batch)));
      for (std::size_t i = 0; i < part.size(); ++i) {
        std::ranges::copy(std::as_bytes(all.image(part[i])),
                          slot_bytes(0) + static_cast<std::int64_t>(i) * all.bytes_per_image());
      }
      send_slot(0);
      std::vector<std::int64_t> places(part.size());
      std::iota(places.begin(), places.end(), std::int64_t{0});
      if (!by_steps) {
        forget_results();
        net_->calls->run_once(0);
        fetch_results();
      }
      const auto left = run_steps(0, places, by_steps);
      for (std::size_t i = 0; i < part.size(); ++i) {
        made.push_back(image_of(part[i], places[i]));
        made.back().steps = left[i];
      }
    }
    set_slot(0, 0);
    return made;
  }

  std::vector<double> results_at(std::int64_t place) {
    const auto classes = static_cast<std::size_t>(plan_.facts().classes);
    const std::size_t row = classes * dtype_size(plan_.type());
    return read_numbers(plan_.type(), results_.data() + static_cast<std::size_t>(place) * row, classes);
  }

  /// An image of the file whose results lie at a place of the batch.
  inference::computed_image image_of(std::int64_t number, std::int64_t place) {
    inference::computed_image it{number, {}, results_at(place)};
    for (const std::uint8_t byte : files_.set.images.image(number)) it.pixels.push_back(numbers_of_bytes_[byte]);
    return it;
  }

  inference::net_files files_;
  nets::forward_plan plan_;
  net_placement place_;
  context<Exec> owner_;
  net_arrays<Exec> arrays_;
  copy_buffer images_, results_;
  std::vector<double> packed_weights_;  ///< as they are on the device, without gaps
  std::vector<double> numbers_of_bytes_ = pixel_numbers(plan_.type());
  transferred_net_calls<Exec>* copies_ = nullptr;  ///< the net's calls, where they contain copies
  std::optional<timed> net_;
  std::map<std::size_t, std::unique_ptr<timed>> steps_;
};

}  // namespace prumo::worker
