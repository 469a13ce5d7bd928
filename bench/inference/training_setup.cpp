// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/fit.hpp>
#include <prumo/data/sha256.hpp>
#include <prumo/inference/training_setup.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>
#include <variant>

namespace prumo::inference {
namespace {

template <class Kind, std::size_t Count>
Kind kind_named(const std::string& name, const char* what, const std::array<Kind, Count>& all) {
  std::string known;
  for (const Kind it : all) {
    if (name_of(it) == name) return it;
    known += (known.empty() ? "" : ", ") + std::string(name_of(it));
  }
  throw protocol::request_error(protocol::error_kind::usage,
                                std::string("there is no ") + what + " '" + name + "'; there are: " + known);
}

std::string digest_of_set(const data::labelled_images& set) {
  data::sha256 sum;
  sum.update(set.images.pixels);
  sum.update(set.labels.classes);
  return sum.digest();
}

std::string digest_of_text(const std::string& text) {
  return data::sha256_of({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// A number as the shortest text that gives it back exactly.
std::string exact_text(double number) {
  std::array<char, 40> text{};
  const auto [end, failure] = std::to_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() ? std::string(text.data(), end) : std::to_string(number);
}

/// The weights in the file's own precision.
std::vector<double> packed_weights(const nets::net_facts& facts, const data::tensor_file& file,
                                   const data::net_weights& rounded) {
  std::vector<double> packed;
  const std::vector<nets::parameter> parameters = facts.all_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const data::tensor& found = *file.find(parameters[i].name);
    if (found.type == "F64") {
      const std::vector<double> numbers = data::doubles_of(found);
      packed.insert(packed.end(), numbers.begin(), numbers.end());
    } else {
      packed.insert(packed.end(), rounded[i].begin(), rounded[i].end());
    }
  }
  return packed;
}

data::tensor tensor_of_type(std::string name, std::vector<std::int64_t> shape, std::span<const double> values,
                            std::string_view type) {
  if (type == "f64") return data::tensor_of_doubles(std::move(name), std::move(shape), values);
  const std::vector<float> rounded(values.begin(), values.end());
  return data::tensor_of(std::move(name), std::move(shape), rounded);
}

data::tensor tensor_of_integers(std::string name, std::span<const std::int64_t> values) {
  data::tensor made{std::move(name), "I64", {static_cast<std::int64_t>(values.size())}, {}};
  for (const std::int64_t value : values) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) made.bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return made;
}

std::vector<std::int64_t> integers_of(const data::tensor& from) {
  std::vector<std::int64_t> numbers(from.bytes.size() / sizeof(std::int64_t));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t word = 0;
    for (std::size_t byte = 8; byte-- > 0;) word = word << 8U | from.bytes[8 * i + byte];
    numbers[i] = std::bit_cast<std::int64_t>(word);
  }
  return numbers;
}

}  // namespace

training_setup read_training_setup(const protocol::open_request& request) {
  const protocol::training_setup& asked = *request.training;
  training_setup setup;
  setup.options.loss =
      kind_named(asked.loss, "loss",
                 std::array{nets::loss::softmax, nets::loss::sigmoid, nets::loss::squared, nets::loss::original});
  setup.options.optimizer = kind_named(
      asked.optimizer, "optimizer", std::array{nets::optimizer::sgd, nets::optimizer::momentum, nets::optimizer::adam});
  setup.options.learning_rate = asked.learning_rate;
  setup.options.momentum = asked.momentum;
  setup.options.batch = request.batch;
  setup.options.seed = asked.seed;
  setup.options.shuffle = asked.shuffle;
  setup.options.implementation = request.implementation.value_or("");
  setup.type = request.dtype;
  setup.files = read_net_files(request);
  const data::data_files test{asked.test_images, asked.test_labels};
  setup.test = data::read_set(test);
  data::check_fit(setup.test, test, setup.files.net);
  setup.initial_weights =
      packed_weights(setup.files.net.facts, data::read_tensors(request.weights), setup.files.weights);
  setup.identity = {{"net", setup.files.net.description.name},
                    {"net_sha256", digest_of_text(data::net_text(setup.files.net.description))},
                    {"data_sha256", digest_of_set(setup.files.set)},
                    {"test_data_sha256", digest_of_set(setup.test)},
                    {"initial_weights_sha256",
                     data::digest_of({data::tensor_of_doubles(
                         "", {static_cast<std::int64_t>(setup.initial_weights.size())}, setup.initial_weights)})},
                    {"dtype", request.dtype},
                    {"loss", asked.loss},
                    {"optimizer", asked.optimizer},
                    {"learning_rate", exact_text(asked.learning_rate)},
                    {"batch", std::to_string(request.batch)},
                    {"seed", std::to_string(asked.seed)},
                    {"shuffle", asked.shuffle ? "true" : "false"}};
  if (setup.options.optimizer == nets::optimizer::momentum) setup.identity["momentum"] = exact_text(asked.momentum);
  return setup;
}

nets::description scoring_net(const nets::description& net, nets::loss loss) {
  nets::description scores = net;
  if (loss == nets::loss::squared) return scores;
  if (std::holds_alternative<nets::softmax>(scores.layers.back())) scores.layers.pop_back();
  if (auto* const last = std::get_if<nets::dense>(&scores.layers.back())) last->activate = nets::activation::none;
  return scores;
}

double loss_of_image(nets::loss loss, std::span<const double> scores, std::size_t label) {
  double sum = 0;
  if (loss == nets::loss::softmax) {
    const double largest = *std::ranges::max_element(scores);
    for (const double it : scores) sum += std::exp(it - largest);
    return largest + std::log(sum) - scores[label];
  }
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double target = k == label ? 1 : 0;
    if (loss == nets::loss::squared) {
      sum += 0.5 * (scores[k] - target) * (scores[k] - target);
    } else {
      sum += std::max(scores[k], 0.0) - scores[k] * target + std::log1p(std::exp(-std::fabs(scores[k])));
    }
  }
  return sum;
}

std::vector<data::tensor> arrays_of(const nets::training_state& state, const nets::net_facts& facts,
                                    std::string_view type) {
  std::vector<data::tensor> arrays;
  const auto add = [&](const std::string& prefix, std::span<const double> packed) {
    if (packed.empty()) return;
    std::size_t first = 0;
    for (const nets::parameter& it : facts.all_parameters()) {
      const auto size = static_cast<std::size_t>(it.size());
      arrays.push_back(tensor_of_type(prefix + it.name, it.extents, packed.subspan(first, size), type));
      first += size;
    }
  };
  add("", state.weights);
  add("optimizer.first.", state.first_moments);
  add("optimizer.second.", state.second_moments);
  const nets::training_progress& now = state.progress;
  arrays.push_back(tensor_of_integers("state.progress",
                                      std::array{now.epoch, now.step, now.steps_done, now.images_done, now.correct}));
  arrays.push_back(data::tensor_of_doubles("state.loss_sum", {1}, std::array{now.loss_sum}));
  arrays.push_back(data::tensor_of_doubles("state.learning_rate", {1}, std::array{state.learning_rate}));
  return arrays;
}

nets::training_state state_of(const data::checkpoint& from, const nets::net_facts& facts) {
  nets::training_state state;
  const auto read = [&](const std::string& prefix) {
    std::vector<double> packed;
    for (const nets::parameter& it : facts.all_parameters()) {
      const data::tensor* const found = from.find(prefix + it.name);
      if (found == nullptr) return std::vector<double>{};
      const std::vector<double> numbers = data::doubles_of(*found);
      packed.insert(packed.end(), numbers.begin(), numbers.end());
    }
    return packed;
  };
  state.weights = read("");
  state.first_moments = read("optimizer.first.");
  state.second_moments = read("optimizer.second.");
  const std::vector<std::int64_t> progress = integers_of(*from.find("state.progress"));
  state.progress = {
      progress[0], progress[1], progress[2], progress[3], data::doubles_of(*from.find("state.loss_sum")).front(),
      progress[4]};
  state.learning_rate = data::doubles_of(*from.find("state.learning_rate")).front();
  return state;
}

}  // namespace prumo::inference
