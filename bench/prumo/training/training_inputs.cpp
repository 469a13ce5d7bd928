// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/training_inputs.hpp"

#include <prumo/data/checkpoint.hpp>
#include <prumo/data/digits.hpp>
#include <prumo/data/fit.hpp>
#include <prumo/data/initial_weights.hpp>
#include <prumo/data/weights_file.hpp>
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <tuple>

namespace prumo::bench {
namespace {

/// How many digits are drawn for tests: a sixth of those for training, as in MNIST.
std::int64_t test_digits(std::int64_t train_digits) { return (train_digits + 5) / 6; }

}  // namespace

training_inputs::training_inputs(const training_choice& choice, const training_recipe& recipe, progress& shown)
    : net_(data::read_net(choice.net)), net_text_(data::net_text(net_.description)), net_sha256_(digest_of(net_text_)) {
  taken_.push_back(net_line(net_));
  take_data(choice, shown);
  take_weights(choice, recipe);
}

void training_inputs::take_data(const training_choice& choice, progress& shown) {
  data::labelled_images train, test;
  draws_digits_ = choice.data.empty();
  if (draws_digits_) {
    const std::int64_t count = choice.digits > 0 ? choice.digits : data::usual_train_images;
    // The test images are the same, however many others there are.
    train = drawn_digits(net_, 0, count, shown);
    test = drawn_digits(net_, std::max(count, data::usual_train_images), test_digits(count), shown);
    train_ = data::usual_names(folder_.file(""), "train", false);
    test_ = data::usual_names(folder_.file(""), "t10k", false);
    data::write_images(train_.images, train.images);
    data::write_labels(train_.labels, train.labels.classes);
    data::write_images(test_.images, test.images);
    data::write_labels(test_.labels, test.labels.classes);
    taken_.push_back(
        fmt::format("data: {} digits for training and {} for tests, which prumo drew, because --data names "
                    "no images",
                    train.images.count, test.images.count));
  } else {
    const data::data_folder found = data::find_data(choice.data);
    if (!found.train || !found.test) {
      refuse_file(
          choice.data,
          fmt::format("holds no images for {}; a training needs the sets train and t10k under their usual names "
                      "(prumo data generate writes such files)",
                      found.train ? "tests" : "training"));
    }
    train = data::read_set(*found.train);
    test = data::read_set(*found.test);
    train_ = {absolute_path(found.train->images), absolute_path(found.train->labels)};
    test_ = {absolute_path(found.test->images), absolute_path(found.test->labels)};
    taken_.push_back(fmt::format("data: {} images for training and {} for tests of {}", train.images.count,
                                 test.images.count, choice.data));
  }
  data::check_fit(train, train_, net_);
  data::check_fit(test, test_, net_);
  train_images_ = train.images.count;
  test_images_ = test.images.count;
  data_sha256_ = digest_of(digest_of(train) + digest_of(test));
}

void training_inputs::take_weights(const training_choice& choice, const training_recipe& recipe) {
  if (!choice.weights.empty()) {
    const data::weights_file file = data::read_weights(choice.weights);
    std::ignore = data::weights_for(net_.description, file.tensors, choice.weights);
    weights_ = absolute_path(choice.weights);
    weights_sha256_ = file.sha256;
    taken_.push_back(fmt::format("weights to begin with: {}", choice.weights));
    return;
  }
  const bool half = recipe.loss == "original";
  const std::vector<std::vector<double>> drawn = data::initial_weights(
      net_.description, recipe.seed, half ? data::weight_range::half : data::weight_range::by_inputs);
  const std::vector<nets::parameter> parameters = net_.facts.all_parameters();
  data::tensor_file file;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    file.tensors.push_back(data::tensor_of_doubles(parameters[i].name, parameters[i].extents, drawn[i]));
  }
  weights_ = folder_.file("initial.safetensors");
  data::write_tensors(weights_, file);
  weights_sha256_ = data::read_weights(weights_).sha256;
  taken_.push_back(fmt::format("weights to begin with: uniform in {}, seed {}",
                               half ? "(-0.5, 0.5)" : "+-1 / sqrt(inputs of a sum)", recipe.seed));
}

protocol::open_request training_inputs::request(const training_recipe& recipe) const {
  protocol::open_request request = open_request_of("training", net_text_, train_, weights_);
  request.training = {test_.images,         test_.labels,    recipe.loss, recipe.optimizer,
                      recipe.learning_rate, recipe.momentum, recipe.seed, recipe.shuffle};
  return request;
}

protocol::open_request training_inputs::test_request(const std::string& weights) const {
  return open_request_of("inference", net_text_, test_, weights);
}

}  // namespace prumo::bench
