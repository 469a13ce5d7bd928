// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a device's team, with threads of the host that exchange values as lanes do.

#include "emulated_step_team.hpp"
#include "small_training.hpp"
#include "unusual_net.hpp"
#include <prumo/nets/forward_plan.hpp>

#include <climits>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace prumo::nets {
namespace {

using tests::small_set;

/// A small training in plain memory.
struct plain_training {
  small_set set;
  forward_plan plan;
  training_options options;
  std::vector<std::int64_t> offsets;
  step_table table;
  step_places places;
  std::vector<double> weights, first, second, partials, factors, kept, sums;
  std::vector<std::int32_t> order;
  training_counters counters;

  /// \param many_images,takes_windows,at_once,of_a_stage of the step_request
  plain_training(const description& net, std::int64_t images, const training_options& how, int many_images,
                 bool takes_windows = false, int at_once = 2, int of_a_stage = 64)
      : set(net, images), plan(net, dtype::f64), options(how) {
    for (const placed_parameter& each : plan.parameters()) offsets.push_back(each.offset);
    step_request how_to = request();
    how_to.most_images_at_once = at_once;
    how_to.takes_windows = takes_windows;
    how_to.many_images = many_images;
    how_to.most_stage_images = of_a_stage;
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
    partials.assign(static_cast<std::size_t>(table.groups * table.gradients), std::nan(""));
    factors.assign(static_cast<std::size_t>(images * table.factors), std::nan(""));
    kept.assign(static_cast<std::size_t>(table.groups * table.images_of_a_stage * table.kept), std::nan(""));
    sums.assign(static_cast<std::size_t>(2 * table.groups), std::nan(""));
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
            places.copy_sources.data(),
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

struct alignas(32) scratch_line {
  unsigned char bytes[32];
};

/// The weights and sums after steps by one team of this size.
std::vector<double> after_steps(plain_training training, int size) {
  const step_data<double> data = training.data(training.options.batch == 1 ? training.set.images : 2);
  std::vector<scratch_line> scratch(static_cast<std::size_t>(training.table.scratch_bytes) / 32 + 1);
  std::memset(scratch.data(), 0xff, scratch.size() * sizeof(scratch_line));
  auto* const memory = scratch[0].bytes;
  const auto run = [&](const auto& team) {
    using team_type = std::decay_t<decltype(team)>;
    const step_body<team_type, double> body(team, data, step_scratch<double>(memory));
    if (training.table.batch == 1) {
      run_steps<true>(body, step_part::all, {0, 1}, no_meeting{});
    } else {
      run_steps<false>(body, step_part::all, {0, 1}, no_meeting{});
    }
  };
  if (size == 1) {
    run(single_step_team{});
  } else if (training.table.shape == step_shape::many_images) {
    with_team<step_shape::many_images>(size, run);
  } else if (training.table.shape == step_shape::staged) {
    with_team<step_shape::staged>(size, run);
  } else if (training.table.shape == step_shape::windows) {
    with_team<step_shape::windows>(size, run);
  } else {
    with_team<step_shape::few_images>(size, run);
  }
  return training.result();
}

/// The same by the teams of a cluster, which share the net.
std::vector<double> after_shared_steps(plain_training training, int teams, int size, int late) {
  std::vector<step_table> tables(static_cast<std::size_t>(teams));
  std::vector<net_share> shares(tables.size());
  std::vector<step_places> places;
  std::vector<std::vector<scratch_line>> scratch;
  std::vector<unsigned char*> memory;
  for (std::size_t team = 0; team < tables.size(); ++team) {
    shares[team].team = static_cast<int>(team);
    shares[team].teams = teams;
    EXPECT_EQ(make_shared_table(training.request(), tables[team], shares[team]), "");
    places.push_back(make_step_places(tables[team], &shares[team]));
    scratch.emplace_back(static_cast<std::size_t>(tables[team].scratch_bytes) / 32 + 1);
    std::memset(scratch.back().data(), 0xff, scratch.back().size() * sizeof(scratch_line));
    memory.push_back(scratch.back()[0].bytes);
  }
  const auto run = [&](const emulated_share_team& team, int which, const auto& meet) {
    const auto of_team = static_cast<std::size_t>(which);
    step_data<double> data = training.data(training.set.images);
    data.table = &tables[of_team];
    data.share = &shares[of_team];
    data.copy_sources = places[of_team].copy_sources.data();
    data.filter_parameters = places[of_team].filter_parameters.data();
    const step_body<emulated_share_team, double> body(team, data, step_scratch<double>(memory[of_team]));
    run_steps<true>(body, step_part::all, {which, teams}, meet);
  };
  with_cluster(size, memory, late, run);
  return training.result();
}

/// Teams of several threads differ from one thread in the order of sums alone: of at most some thousand products of
/// order 1, and of the losses of a few images.
void expect_same_steps(const plain_training& training, const plain_training& of_one_thread) {
  const std::string& name = training.plan.net().name;
  const std::vector<double> alone = after_steps(of_one_thread, 1);
  for (const int size : {emulated_lanes, 3 * emulated_lanes}) {
    const std::vector<double> together = after_steps(training, size);
    EXPECT_EQ(together, after_steps(training, size)) << name << " again, " << size << " threads";
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_NEAR(together[i], alone[i], 1e-12 * (1 + std::fabs(alone[i]))) << name << ", number " << i;
    }
  }
}
/// \param many_images from how many images at once on a team has many
void expect_same_steps(const description& net, const training_options& options, int many_images = INT_MAX,
                       std::int64_t images = 5) {
  const plain_training training(net, images, options, many_images);
  EXPECT_EQ(training.table.shape == step_shape::many_images, many_images <= training.table.images_at_once);
  expect_same_steps(training, plain_training(net, images, options, INT_MAX));
}

/// The same for groups of images that take several rounds. All images of a stage go through the dense layers together.
void expect_same_steps_in_stages(const description& net, const training_options& options, std::int64_t images,
                                 int at_once = 1, int of_a_stage = 64) {
  const plain_training training(net, images, options, 1, false, at_once, of_a_stage);
  ASSERT_EQ(training.table.shape, step_shape::staged);
  EXPECT_EQ(training.table.images_at_once, at_once);
  expect_same_steps(training, plain_training(net, images, options, INT_MAX));
}

/// The same for a net that takes windows. Each gradient of a filter has a thread, and each of the shared filter several
/// lanes: so a team of these short stretches must have one more for its bias. But while weights change, there is room
/// for sixteen.
void expect_same_steps_by_windows(const description& net, const training_options& options, std::int64_t images = 5) {
  const plain_training training(net, images, options, INT_MAX, true);
  ASSERT_EQ(training.table.shape, step_shape::windows);
  const std::vector<double> alone = after_steps(plain_training(net, images, options, INT_MAX), 1);
  const std::vector<double> together = after_steps(training, (options.batch == 1 ? 17 : 16) * emulated_lanes);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(together[i], alone[i], 1e-12 * (1 + std::fabs(alone[i]))) << net.name << ", number " << i;
  }
}

TEST(step_team, takes_the_steps_of_one_thread) {
  description small{"small",
                    {1, 12, 10},
                    {convolution{.channels = 4, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                     pooling{.window = {2, 2}, .stride = {2, 2}},
                     convolution{.channels = 6, .filter = {3, 3}, .activate = activation::tanh},
                     pooling{.window = {2, 2}, .stride = {1, 1}}, dense{9, true, activation::sigmoid}, dense{4}}};
  expect_same_steps(small, {.batch = 1});
  expect_same_steps(small, {.optimizer = optimizer::momentum, .batch = 3});
  description unusual = tests::unusual_net();
  unusual.input = {3, 17, 15};
  expect_same_steps(unusual, {.loss = loss::sigmoid, .optimizer = optimizer::adam, .batch = 1});
  expect_same_steps(unusual, {.loss = loss::softmax, .batch = 4});
  // The layers of teams with many images.
  expect_same_steps(small, {.optimizer = optimizer::momentum, .batch = 3}, 1);
  expect_same_steps(unusual, {.loss = loss::softmax, .batch = 4}, 1);
  // One whose choices are noted, with tiles of six and dense layers that lie in packs.
  const description wide{
      "wide",
      {1, 14, 14},
      {convolution{.channels = 6, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
       pooling{.window = {2, 2}, .stride = {2, 2}},
       convolution{.channels = 12, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::sigmoid},
       pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {2, 2}, .round = rounding::up},
       dense{70, true, activation::tanh}, dense{10}}};
  expect_same_steps(wide, {.optimizer = optimizer::momentum, .batch = 3});
  expect_same_steps(wide, {.optimizer = optimizer::momentum, .batch = 3}, 1);
  expect_same_steps(wide, {.optimizer = optimizer::momentum, .batch = 256}, 2, 300);
}

/// Two lanes that share the channels of a tile, each with runs of several; and a dense layer with few inputs.
TEST(step_team, shares_runs_of_channels) {
  const description net{"runs",
                        {1, 36, 36},
                        {convolution{.channels = 6, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                         pooling{.window = {2, 2}, .stride = {2, 2}},
                         convolution{.channels = 16, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh},
                         pooling{.kind = pooling_kind::average, .window = {6, 6}, .stride = {6, 6}},
                         dense{4, true, activation::tanh}, dense{3}}};
  const training_options options{.batch = 130};
  const plain_training training(net, 130, options, 2);
  EXPECT_EQ(training.table.images_at_once, 2);
  EXPECT_EQ(training.table.layer[2].backward.run, 4);
  expect_same_steps(net, options, 2, 130);
}

/// Choices that are noted in two layers; several stages of a group, and several rounds.
TEST(step_team, takes_groups_in_stages) {
  const description net{"stages",
                        {1, 16, 12},
                        {convolution{.channels = 6, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                         pooling{.window = {2, 2}, .stride = {2, 2}},
                         convolution{.channels = 4, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                         pooling{.window = {2, 2}, .stride = {2, 2}}, dense{13, true, activation::relu},
                         dense{8, true, activation::tanh}, dense{5}}};
  const training_options options{.optimizer = optimizer::momentum, .batch = 600};
  const plain_training training(net, 640, options, 1, false, 2, 4);
  EXPECT_EQ(training.table.images_of_a_stage, 3);
  EXPECT_TRUE(training.table.layer[1].notes_choices);
  EXPECT_TRUE(training.table.layer[3].notes_choices);
  expect_same_steps_in_stages(net, options, 640, 2, 4);
}

/// Columns of dx: filters of both sizes, with padding and without, odd numbers of maps, fewer rows than there may be.
TEST(step_team, makes_columns_of_gradients) {
  description net{"columns",
                  {1, 20, 22},
                  {convolution{.channels = 3, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}},
                   convolution{.channels = 5, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}, .round = rounding::up}, dense{4}}};
  const training_options options{.batch = 132};
  EXPECT_TRUE(plain_training(net, 134, options, 1, false, 1).table.layer[2].takes_columns);
  expect_same_steps_in_stages(net, options, 134);
  net.layers[0] = convolution{.channels = 4, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh};
  net.layers[2] = convolution{.channels = 5, .filter = {5, 5}, .padding = {1, 1}, .activate = activation::sigmoid};
  const plain_training training(net, 5, {.batch = 3}, 1);
  EXPECT_EQ(training.table.shape, step_shape::many_images);
  EXPECT_TRUE(training.table.layer[2].takes_columns);
  expect_same_steps(net, {.batch = 3}, 1);
}

TEST(step_team, keeps_what_any_layer_needs_on_the_way_back) {
  description net{"kept", {1, 16, 12}, {}};
  const auto expect_same = [&](const training_options& options) {
    expect_same_steps_in_stages(net, options, options.batch + 2);
  };
  net.layers = {convolution{.channels = 3, .filter = {3, 3}, .activate = activation::sigmoid},
                convolution{.channels = 4, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {2, 2}},
                convolution{.channels = 5, .filter = {2, 2}, .activate = activation::tanh},
                dense{7, false, activation::sigmoid},
                dense{6, true, activation::tanh}};
  expect_same({.loss = loss::squared, .batch = 132});
  // Convolutions behind each other, whose results share their place with one that is gone.
  net.layers = {convolution{.channels = 4, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                pooling{.window = {2, 2}, .stride = {2, 2}},
                convolution{.channels = 6, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                convolution{.channels = 4, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                pooling{.window = {2, 2}, .stride = {2, 2}, .round = rounding::up},
                dense{9}};
  expect_same({.batch = 132});
  // Windows that overlap, and a shared filter.
  net.layers = {convolution{.channels = 4, .filter = {3, 3}, .activate = activation::relu},
                pooling{.window = {3, 3}, .stride = {2, 2}},
                shared_convolution{.filter = {2, 2}, .stride = {2, 2}, .activate = activation::sigmoid}, dense{3}};
  expect_same({.batch = 132});
  // Nothing comes back behind dense layers alone.
  net.layers = {dense{70, true, activation::relu}, dense{3}};
  net.input = {1, 30, 41};
  expect_same({.loss = loss::sigmoid, .optimizer = optimizer::adam, .batch = 132});
}

/// An odd number of maps, windows that do not fill the lanes of a group, padding, each loss and optimizer.
TEST(step_team, takes_windows) {
  description net{"windows",
                  {1, 16, 20},
                  {convolution{.channels = 5, .filter = {5, 5}, .activate = activation::sigmoid},
                   shared_convolution{.filter = {4, 4}, .stride = {4, 4}, .activate = activation::sigmoid},
                   dense{4, true, activation::sigmoid}}};
  expect_same_steps_by_windows(net, {.loss = loss::sigmoid, .batch = 1});
  std::get<shared_convolution>(net.layers[1]).bias = false;
  std::get<convolution>(net.layers[0]).channels = 4;
  expect_same_steps_by_windows(net, {.loss = loss::softmax, .optimizer = optimizer::adam, .batch = 4});
  net.input = {1, 8, 12};
  net.layers = {
      convolution{.channels = 3, .filter = {5, 5}, .padding = {2, 2}, .bias = false, .activate = activation::sigmoid},
      shared_convolution{.filter = {4, 4}, .stride = {4, 4}, .bias = false, .activate = activation::sigmoid},
      dense{13, false, activation::tanh}};
  expect_same_steps_by_windows(net, {.loss = loss::squared, .optimizer = optimizer::momentum, .batch = 1});
  expect_same_steps_by_windows(net, {.loss = loss::softmax, .optimizer = optimizer::momentum, .batch = 1});
  expect_same_steps_by_windows(net, {.loss = loss::original, .batch = 150}, 200);
}

/// Teams that share a net take the steps of one thread, whichever of them is late.
void expect_same_shared_steps(const description& net, const training_options& options, std::int64_t images = 3) {
  const plain_training training(net, images, options, INT_MAX);
  const std::vector<double> alone = after_steps(training, 1);
  constexpr int teams = 4;
  const std::vector<double> together = after_shared_steps(training, teams, 2 * emulated_lanes, -1);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(together[i], alone[i], 1e-12 * (1 + std::fabs(alone[i]))) << net.name << ", number " << i;
  }
  for (const int late : {0, teams - 1}) {
    EXPECT_EQ(after_shared_steps(training, teams, 2 * emulated_lanes, late), together) << net.name << ", late " << late;
  }
}

/// With fewer channels than teams, and dense layers that have shares of inputs and of outputs.
TEST(step_team, shares_a_net) {
  description net{"shared",
                  {1, 12, 10},
                  {convolution{.channels = 3, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}},
                   convolution{.channels = 6, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh},
                   pooling{.window = {2, 2}, .stride = {1, 1}}, dense{20, true, activation::sigmoid},
                   dense{113, true, activation::tanh}, dense{7}}};
  expect_same_shared_steps(net, {.batch = 1});
  expect_same_shared_steps(net, {.loss = loss::sigmoid, .optimizer = optimizer::momentum, .batch = 1});
  expect_same_shared_steps(net, {.loss = loss::original, .optimizer = optimizer::adam, .batch = 1});
}

TEST(step_team, shares_a_net_of_any_layers) {
  // Convolutions without tiles and biases, one behind the other.
  description net{"any",
                  {3, 9, 11},
                  {convolution{.channels = 2, .filter = {2, 2}, .stride = {1, 2}, .activate = activation::sigmoid},
                   convolution{.channels = 5, .filter = {3, 3}, .padding = {1, 1}, .bias = false},
                   pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {3, 2}},
                   dense{6, false, activation::relu}, dense{3, true, activation::sigmoid}}};
  expect_same_shared_steps(net, {.loss = loss::squared, .optimizer = optimizer::adam, .batch = 1});
  // Pooling of images has nothing to train. Without channels, the first dense layer has a share of the outputs.
  net.layers = {pooling{.window = {2, 2}, .stride = {1, 1}}, dense{33, true, activation::relu}, dense{70}, dense{3}};
  expect_same_shared_steps(net, {.optimizer = optimizer::momentum, .batch = 1});
  net.layers = {dense{33}, dense{3}};
  expect_same_shared_steps(net, {.batch = 1});
  net.layers = {pooling{.window = {2, 2}, .stride = {1, 1}}, convolution{.channels = 4, .filter = {3, 3}}, dense{3}};
  expect_same_shared_steps(net, {.batch = 1});
}

TEST(step_team, shares_no_net_without_a_reason) {
  const auto reason = [](const description& net) {
    const plain_training training(net, 2, {.batch = 1}, INT_MAX);
    step_table table;
    net_share share;
    share.teams = 4;
    return make_shared_table(training.request(), table, share);
  };
  EXPECT_EQ(reason(named_net("mnist-2f")), "does not share nets with a filter for all maps among teams");
  EXPECT_EQ(reason({"single", {1, 5, 5}, {dense{3}}}), "shares nothing of a single dense layer among teams");
}

/// A step has fewer groups of images than there may be teams.
TEST(step_team, loads_no_images_for_teams_without_a_group) {
  plain_training training(named_net("mnist-2f"), 12, {.batch = 3}, INT_MAX);
  const step_data<double> data = training.data(4);
  using chunks = image_chunks<single_step_team, double>;
  EXPECT_EQ(chunks(training.table, data, {3, 5}).from(0, 3).count, 0);
  EXPECT_EQ(chunks(training.table, data, {4, 5}).from(0, 4).count, 0);
  EXPECT_EQ(chunks(training.table, data, {2, 5}).from(0, 2).count, 1);
}

}  // namespace
}  // namespace prumo::nets
