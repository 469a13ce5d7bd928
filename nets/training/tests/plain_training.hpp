// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A training whose steps teams of any size take: one thread, or threads of the host that exchange values as lanes do.

#include "emulated_step_team.hpp"
#include "small_training.hpp"
#include <prumo/nets/forward_plan.hpp>

#include <climits>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::nets {

/// A small training in plain memory.
struct plain_training {
  tests::small_set set;
  forward_plan plan;
  training_options options;
  std::vector<std::int64_t> offsets;
  step_table table;
  step_places places;
  std::vector<double> weights, first, second, partials, factors, kept, sums;
  std::vector<std::int32_t> order;
  training_counters counters;

  /// \param many_images,takes_windows,at_once,of_a_stage,takes_many_weights of the step_request
  plain_training(const description& net, std::int64_t images, const training_options& how, int many_images,
                 bool takes_windows = false, int at_once = 2, int of_a_stage = 64, bool takes_many_weights = false)
      : set(net, images), plan(net, dtype::f64), options(how) {
    for (const placed_parameter& each : plan.parameters()) offsets.push_back(each.offset);
    step_request how_to = request();
    how_to.most_images_at_once = at_once;
    how_to.takes_windows = takes_windows;
    how_to.many_images = many_images;
    how_to.most_stage_images = of_a_stage;
    how_to.takes_many_weights = takes_many_weights;
    EXPECT_EQ(make_step_table(how_to, table), "");
    places = make_step_places(table);
    const auto elements = static_cast<std::size_t>(plan.weights_elements());
    weights.assign(elements, 0);
    first = second = weights;
    std::size_t packed = 0;
    for (const placed_parameter& each : plan.parameters()) {
      for (std::int64_t i = 0; i < each.what.size(); ++i) {
        weights[static_cast<std::size_t>(each.offset + i)] = set.weights[packed++];
      }
    }
    partials.assign(static_cast<std::size_t>(std::int64_t{table.groups} * table.gradients), std::nan(""));
    factors.assign(static_cast<std::size_t>(images * table.factors), std::nan(""));
    kept.assign(static_cast<std::size_t>(std::int64_t{table.groups} * table.images_of_a_stage * table.kept),
                std::nan(""));
    sums.assign(static_cast<std::size_t>(std::int64_t{2} * table.groups), std::nan(""));
    for (std::int64_t i = 0; i < images; ++i) order.push_back(static_cast<std::int32_t>(images - 1 - i));
    counters.rate = 0.1;
  }

  step_request request() const {
    return {.net = plan.net(),
            .facts = plan.facts(),
            .offsets = offsets,
            .parameter_elements = plan.weights_elements(),
            .options = options,
            .element_bytes = 8,
            .scratch_bytes = 1 << 20,
            .most_dense_copies = 500,
            .saves_memory = true};
  }

  step_data<double> data(std::int64_t steps) {
    const std::int64_t images = set.images;
    return {&table,
            places.copies.data(),
            places.filter_parameters.data(),
            places.update_tiles.data(),
            set.pixels.data(),
            set.labels.data(),
            order.data(),
            weights.data(),
            first.data(),
            second.data(),
            &counters,
            partials.data(),
            factors.data(),
            kept.data(),
            sums.data(),
            images,
            (images - 1) / options.batch + 1,
            0,
            steps,
            options.momentum,
            nullptr};
  }

  /// What steps change.
  std::vector<double> result() const {
    std::vector<double> all = weights;
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    all.push_back(counters.sums[0]);
    all.push_back(counters.sums[1]);
    all.push_back(static_cast<double>(counters.step));
    return all;
  }
};

/// The weights and sums after steps by one team of this size.
std::vector<double> after_steps(plain_training training, int size);

/// The same by teams that meet, of a net that takes windows.
/// \param late a team that the others wait for; -1: none
std::vector<double> after_meeting_steps(plain_training training, int teams, int size, int late);

/// The same where each step is two launches of teams that do not meet: one for images, and one that changes the
/// weights.
std::vector<double> after_separate_steps(plain_training training, int teams, int size);

/// The same by the teams of a cluster, which share the net.
/// \param late a team that the others wait for; -1: none
std::vector<double> after_shared_steps(plain_training training, int teams, int size, int late);

/// Teams of several threads differ from one thread in the order of sums alone: of at most some thousand products of
/// order 1, and of the losses of a few images.
void expect_same_sums(const std::vector<double>& together, const std::vector<double>& alone, const std::string& name);

}  // namespace prumo::nets
