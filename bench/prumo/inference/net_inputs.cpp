// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/net_inputs.hpp"

#include "terminal/program_error.hpp"
#include "terminal/text.hpp"
#include <prumo/data/digits.hpp>
#include <prumo/data/fit.hpp>
#include <prumo/data/weights_file.hpp>
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <system_error>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

data::data_files named_files(const net_choice& choice) {
  std::error_code ignored;
  if (fs::is_directory(choice.data, ignored)) {
    if (!choice.labels.empty()) {
      throw program_error(exit_code::wrong_usage,
                          "--labels names the labels of a file of images, and --data names a folder, which holds its "
                          "own; leave out --labels or name a file with --data");
    }
    const data::data_folder found = data::find_data(choice.data);
    return found.test ? *found.test : *found.train;
  }
  if (!choice.labels.empty()) return {choice.data, choice.labels};
  if (!fs::exists(choice.data, ignored)) refuse_file(choice.data, "there is no such file or folder");
  const std::string labels = labels_beside(choice.data);
  if (labels == choice.data || !fs::exists(labels, ignored)) {
    if (data::content_of(choice.data) == data::idx_content::labels) {
      refuse_file(choice.data, "these are labels; name the images with --data, and these with --labels");
    }
    refuse_file(choice.data, fmt::format("no labels lie beside it ({}); name them with --labels FILE",
                                         labels == choice.data ? "its name holds no 'images'" : labels));
  }
  return {choice.data, labels};
}

}  // namespace

net_inputs::net_inputs(const net_choice& choice, std::span<const std::string> folders, progress& shown)
    : net_(data::read_net(choice.net)), net_text_(data::net_text(net_.description)), net_sha256_(digest_of(net_text_)) {
  taken_.push_back(net_line(net_));
  take_data(choice, shown);
  take_weights(choice, folders);
}

std::string net_inputs::temporary(const std::string& name) {
  if (!folder_) folder_.emplace();
  return folder_->file(name);
}

void net_inputs::take_data(const net_choice& choice, progress& shown) {
  draws_digits_ = choice.data.empty();
  data::labelled_images set;
  if (draws_digits_) {
    const std::int64_t count = choice.digits > 0 ? choice.digits : data::usual_test_images;
    set = drawn_digits(net_, data::usual_train_images, count, shown);
    files_ = {temporary("t10k-images-idx3-ubyte"), temporary("t10k-labels-idx1-ubyte")};
    data::check_fit(set, files_, net_);
    data::write_images(files_.images, set.images);
    data::write_labels(files_.labels, set.labels.classes);
    taken_.push_back(fmt::format("data: {} digits that prumo drew, because --data names no images", count));
  } else {
    const data::data_files named = named_files(choice);
    set = data::read_set(named);
    data::check_fit(set, named, net_);
    files_ = {absolute_path(named.images), absolute_path(named.labels)};
    taken_.push_back(fmt::format("data: {} images of {}", set.images.count, named.images));
  }
  images_ = set.images.count;
  data_sha256_ = digest_of(set);
}

void net_inputs::take_weights(const net_choice& choice, std::span<const std::string> folders) {
  std::string named = choice.weights;
  const auto known = nets::known_nets();
  const bool is_known = std::ranges::find(known, choice.net) != known.end();
  if (named.empty() && is_known) named = data::find_weights(net_.description.name, folders);
  if (named.empty()) {
    write_random_weights(choice.seed);
    taken_.push_back(
        fmt::format("weights: random ones (seed {}), because --weights names none and prumo has none for "
                    "this net; the accuracy is that of guessing",
                    choice.seed));
    return;
  }
  const data::weights_file file = data::read_weights(named);
  std::ignore = data::weights_for(net_.description, file.tensors, named);
  weights_ = absolute_path(named);
  weights_sha256_ = file.sha256;
  std::string line = fmt::format("weights: {}", choice.weights.empty() ? "those that come with prumo" : named);
  if (!file.trained_on.empty()) line += fmt::format(", trained on {}", file.trained_on);
  if (file.stated_accuracy)
    line += fmt::format("; they say {:.2f} % of their own test images", 100 * *file.stated_accuracy);
  taken_.push_back(line);
  if (choice.weights.empty() && !draws_digits_) {
    taken_.push_back(
        "these weights were not trained on this data, so the accuracy tells little; name others with "
        "--weights");
  }
}

/// Uniform numbers that become smaller where sums have more terms, so that results neither vanish nor grow.
void net_inputs::write_random_weights(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  data::tensor_file file;
  for (const nets::parameter& it : net_.facts.all_parameters()) {
    const double terms = static_cast<double>(it.size()) / static_cast<double>(it.extents.front());
    const double scale = std::sqrt(3 / std::max(1.0, terms));
    std::vector<float> values(static_cast<std::size_t>(it.size()));
    for (float& value : values) {
      const double uniform = std::ldexp(static_cast<double>(generator() >> 11U), -52) - 1;
      value = static_cast<float>(scale * uniform);
    }
    file.tensors.push_back(data::tensor_of(it.name, it.extents, values));
  }
  weights_ = temporary("weights.safetensors");
  data::write_tensors(weights_, file);
  weights_sha256_ = data::read_weights(weights_).sha256;
}

protocol::open_request net_inputs::request() const { return open_request_of("inference", net_text_, files_, weights_); }

}  // namespace prumo::bench
