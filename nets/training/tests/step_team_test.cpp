// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a device's team, with threads of the host that exchange values as lanes do.

#include "plain_training.hpp"
#include "unusual_net.hpp"

namespace prumo::nets {
namespace {

/// Teams of several threads take the steps of one thread, and have the same bits when they take them again.
void expect_same_steps(const plain_training& training, const plain_training& of_one_thread) {
  const std::string& name = training.plan.net().name;
  const std::vector<double> alone = after_steps(of_one_thread, 1);
  for (const int size : {emulated_lanes, 3 * emulated_lanes}) {
    const std::vector<double> together = after_steps(training, size);
    EXPECT_EQ(together, after_steps(training, size)) << name << " again, " << size << " threads";
    expect_same_sums(together, alone, name);
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
  expect_same_sums(together, alone, net.name);
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

/// Teams with few images of a net with many weights: wide tiles in several slices, columns that lanes share, squares,
/// and dense layers whose weights come from memory in packs.
TEST(step_team, takes_few_images_of_nets_with_many_weights) {
  const auto expect_same = [](const description& net, const training_options& options, std::int64_t images) {
    for (const int at_once : {1, 2}) {
      const plain_training training(net, images, options, INT_MAX, false, at_once, 64, true);
      ASSERT_EQ(training.table.shape, step_shape::many_weights);
      EXPECT_TRUE(training.table.layer[2].takes_columns);
      EXPECT_GE(training.table.layer[2].backward.part_shift, 2);
      EXPECT_TRUE(training.table.layer[4].has_packs);
      expect_same_steps(training, plain_training(net, images, options, INT_MAX));
    }
  };
  description net{"large",
                  {1, 20, 16},
                  {convolution{.channels = 3, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}},
                   convolution{.channels = 6, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}}, dense{19, true, activation::relu}, dense{5}}};
  expect_same(net, {.optimizer = optimizer::momentum, .batch = 40}, 45);
  expect_same(net, {.optimizer = optimizer::adam, .batch = 40}, 41);
  // Groups of two images.
  expect_same(net, {.batch = 132}, 132);
  net.layers[0] = convolution{.channels = 4, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh};
  net.layers[2] = convolution{.channels = 8, .filter = {5, 5}, .padding = {1, 1}, .activate = activation::sigmoid};
  std::get<dense>(net.layers[4]).bias = false;
  expect_same(net, {.batch = 40}, 40);
  // Too few slices for wide tiles.
  EXPECT_EQ(plain_training(net, 8, {.batch = 3}, INT_MAX, false, 2, 64, true).table.shape, step_shape::few_images);
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

/// Teams that meet have the same bits, however many they are and whichever is late: with several groups of a team,
/// without groups, and without a share of the work that changes the weights. So do teams of two launches a step, which
/// do not meet.
TEST(step_team, meets_for_windows) {
  const description net{
      "meetings",
      {1, 12, 12},
      {convolution{.channels = 2, .filter = {5, 5}, .activate = activation::sigmoid},
       shared_convolution{.filter = {4, 4}, .stride = {4, 4}, .bias = false, .activate = activation::sigmoid},
       dense{11, true, activation::sigmoid}}};
  constexpr int size = 16 * emulated_lanes;
  const auto expect_same = [&](std::int64_t batch, int teams) {
    const training_options options{.loss = loss::sigmoid, .optimizer = optimizer::momentum, .batch = batch};
    const std::int64_t images = 2 * batch - 1;
    const plain_training training(net, images, options, INT_MAX, true);
    ASSERT_EQ(training.table.shape, step_shape::windows);
    const std::vector<double> alone = after_steps(training, size);
    expect_same_sums(alone, after_steps(plain_training(net, images, options, INT_MAX), 1), net.name);
    for (const int late : {-1, 0, 2}) {
      EXPECT_EQ(after_meeting_steps(training, teams, size, late), alone) << teams << " teams, late: " << late;
    }
    EXPECT_EQ(after_separate_steps(training, teams, size), alone) << teams << " teams, two launches a step";
  };
  // One team changes all weights.
  expect_same(3, 4);
  // More groups than teams, of which two change weights.
  expect_same(18, 5);
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
