// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net of a framework that is open: its files, its arrays, its calls as they are timed and verified.

#include "net_program.hpp"
#include <prumo/inference/net_comparison.hpp>
#include <prumo/inference/net_files.hpp>
#include <prumo/protocol/net_messages.hpp>
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace prumo::peers {

/// An array of f32 or f64, the two types in which peers compute nets.
class number_array {
 public:
  number_array(dtype type, std::size_t count) : type_(type) {
    if (type == dtype::f64) {
      wide_.resize(count);
    } else {
      narrow_.resize(count);
    }
  }
  void* at(std::size_t index) { return type_ == dtype::f64 ? static_cast<void*>(&wide_[index]) : &narrow_[index]; }
  double operator[](std::size_t index) const {
    return type_ == dtype::f64 ? wide_[index] : static_cast<double>(narrow_[index]);
  }
  void set(std::size_t index, double number) {
    if (type_ == dtype::f64) {
      wide_[index] = number;
    } else {
      narrow_[index] = static_cast<float>(number);
    }
  }
  void fill_with_nan() {
    std::ranges::fill(wide_, std::numeric_limits<double>::quiet_NaN());
    std::ranges::fill(narrow_, std::numeric_limits<float>::quiet_NaN());
  }

 private:
  dtype type_;
  std::vector<double> wide_;
  std::vector<float> narrow_;
};

/// Calls of a function of the number of a batch.
class batch_calls final : public protocol::timed_calls {
 public:
  explicit batch_calls(std::function<void(std::size_t)> call) : call_(std::move(call)) {}
  void enqueue(std::size_t copy) override { call_(copy); }
  void fence() override {}

 private:
  std::function<void(std::size_t)> call_;
};

struct timed {
  timed(std::function<void(std::size_t)> call, std::size_t copies) : calls(std::move(call)), sampled(calls, copies) {}
  batch_calls calls;
  protocol::sampler sampled;
};

/// A net with its data. All batches lie beside each other as numbers: call after call takes the next one.
class peer_net_session {
 public:
  peer_net_session(inference::net_files opened, dtype type, std::int64_t batch, std::int64_t batches,
                   std::unique_ptr<net_program> program)
      : files(std::move(opened)),
        type_(type),
        batch_(batch),
        batches_(batches),
        program_(std::move(program)),
        x_(type, static_cast<std::size_t>(batches * batch * files.net.description.input.size())),
        y_(type, static_cast<std::size_t>(batch * files.net.facts.classes)) {
    for (std::int64_t i = 0; i < batches * batch; ++i) set_image(i, i % count());
    for (const std::vector<float>& it : files.weights) weights_.insert(weights_.end(), it.begin(), it.end());
  }

  std::size_t steps() const { return files.net.facts.layers.size(); }

  protocol::sample_times time(const std::optional<std::size_t>& step, double seconds) {
    if (step) {
      for (std::size_t before = 0; before < *step; ++before) run_step(before, 0, batch_);
    }
    return calls_of(step).sampled.sample(seconds);
  }

  protocol::check_answer check(const protocol::check_request& request) {
    constexpr double usual_budget = 3e7;
    std::vector<inference::computed_image> images;
    bool whole = true;
    if (request.images) {
      for (const std::int64_t number : *request.images) {
        if (number >= count()) {
          throw protocol::request_error(protocol::error_kind::usage, "the field 'images' names image " +
                                                                         std::to_string(number) + ", and there are " +
                                                                         std::to_string(count()) + " from 0 up");
        }
        set_image(0, number);
        run(0, 1);
        images.push_back(image_of(number, 0));
      }
      set_image(0, 0);
    } else {
      std::int64_t which = 0;
      y_.fill_with_nan();
      if (request.layer) {
        run(0, batch_);
      } else {
        protocol::sampler& sampled = calls_of(std::nullopt).sampled;
        sampled.calibrate();
        which = static_cast<std::int64_t>(sampled.last_copy());
        sampled.run_interval();
      }
      const auto of_image = static_cast<double>(std::max<std::int64_t>(1, files.net.facts.flops_inside));
      const std::int64_t most = std::min(batch_, count());
      const double affordable = std::min(static_cast<double>(most), request.budget.value_or(usual_budget) / of_image);
      const std::int64_t checked = std::max<std::int64_t>(1, static_cast<std::int64_t>(affordable));
      whole = checked == most;
      for (std::int64_t i = 0; i < checked; ++i) {
        const std::int64_t place = i * most / checked;
        images.push_back(image_of((which * batch_ + place) % count(), place));
      }
    }
    protocol::check_answer answer =
        inference::compare_with_reference(files.net, weights_, images, inference::arithmetic_of(name_of(type_)));
    answer.method = whole ? "all" : "sampled";
    answer.dispatch = "single";
    return answer;
  }

  protocol::evaluate_answer evaluate() {
    protocol::evaluate_answer answer;
    answer.images = count();
    const auto begun = std::chrono::steady_clock::now();
    for (std::int64_t first = 0; first < count(); first += batch_) {
      const std::int64_t images = std::min(batch_, count() - first);
      for (std::int64_t i = 0; i < images; ++i) set_image(i, first + i);
      run(0, images);
      for (std::int64_t i = 0; i < images; ++i) {
        const std::vector<double> results = results_at(i);
        answer.predictions.push_back(static_cast<std::int64_t>(inference::prediction(results)));
      }
    }
    answer.seconds = protocol::seconds_since(begun);
    for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
      if (answer.predictions[i] == files.set.labels.classes[i]) ++answer.correct;
    }
    for (std::int64_t i = 0; i < batch_; ++i) set_image(i, i % count());
    return answer;
  }

  inference::net_files files;

 private:
  std::int64_t count() const { return files.set.images.count; }

  /// Makes an image of the file the one at a place of all batches.
  void set_image(std::int64_t place, std::int64_t number) {
    const auto pixels = files.set.images.image(number);
    const std::size_t first = static_cast<std::size_t>(place) * pixels.size();
    for (std::size_t i = 0; i < pixels.size(); ++i) x_.set(first + i, pixel(pixels[i]));
  }
  double pixel(std::uint8_t byte) const {
    const double number = static_cast<double>(byte) / 255;
    return type_ == dtype::f64 ? number : static_cast<double>(static_cast<float>(number));
  }

  void run_step(std::size_t step, std::size_t which, std::int64_t images) {
    const auto size = static_cast<std::size_t>(files.net.description.input.size());
    program_->run_step(step, x_.at(which * static_cast<std::size_t>(batch_) * size), y_.at(0), images);
  }
  void run(std::size_t which, std::int64_t images) {
    for (std::size_t step = 0; step < steps(); ++step) run_step(step, which, images);
  }

  timed& calls_of(const std::optional<std::size_t>& step) {
    auto& it = timed_[step];
    if (it == nullptr) {
      const auto call = [this, step](std::size_t which) {
        if (step) {
          run_step(*step, which, batch_);
        } else {
          run(which, batch_);
        }
      };
      it = std::make_unique<timed>(call, static_cast<std::size_t>(batches_));
    }
    return *it;
  }

  std::vector<double> results_at(std::int64_t place) const {
    const auto classes = static_cast<std::size_t>(files.net.facts.classes);
    std::vector<double> results;
    for (std::size_t k = 0; k < classes; ++k) results.push_back(y_[static_cast<std::size_t>(place) * classes + k]);
    return results;
  }

  inference::computed_image image_of(std::int64_t number, std::int64_t place) const {
    inference::computed_image it{number, {}, results_at(place)};
    for (const std::uint8_t byte : files.set.images.image(number)) it.pixels.push_back(pixel(byte));
    return it;
  }

  dtype type_;
  std::int64_t batch_, batches_;
  std::unique_ptr<net_program> program_;
  number_array x_, y_;
  std::vector<double> weights_;                                         ///< of all layers, one behind the other
  std::map<std::optional<std::size_t>, std::unique_ptr<timed>> timed_;  ///< of each step; nullopt: the net
};

}  // namespace prumo::peers
