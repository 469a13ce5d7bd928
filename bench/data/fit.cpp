// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/fit.hpp>
#include <prumo/files/file_error.hpp>

#include <string>
#include <variant>

namespace prumo::data {
namespace {

std::string size_text(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return std::to_string(channels) + (channels == 1 ? " channel, " : " channels, ") + std::to_string(height) + " x " +
         std::to_string(width) + " pixels";
}

}  // namespace

void check_fit(const labelled_images& set, const data_files& names, const net& which) {
  const image_set& images = set.images;
  const nets::image_shape& input = which.description.input;
  const nets::layer& last = which.description.layers.back();
  if (!std::holds_alternative<nets::dense>(last) && !std::holds_alternative<nets::softmax>(last)) {
    bench::refuse_file(which.source, "/layers: the net ends without a dense layer, so it tells no class; add one");
  }
  if (images.count == 0) bench::refuse_file(names.images, "holds no images; name a file with one or more");
  const std::string has = size_text(images.channels, images.height, images.width);
  const std::string takes = size_text(input.channels, input.height, input.width);
  if (images.channels != input.channels) {
    bench::refuse_file(names.images, "its images have " + has + ", and the net " + which.description.name + " takes " +
                                         takes + "; name images or a net with the same number of channels");
  }
  if (images.height != input.height || images.width != input.width) {
    const std::string size = input.height == input.width
                                 ? std::to_string(input.height)
                                 : std::to_string(input.height) + "x" + std::to_string(input.width);
    bench::refuse_file(names.images, "its images have " + has + ", and the net " + which.description.name + " takes " +
                                         takes + "; make them by `prumo data resize --size " + size +
                                         "`, or name another net");
  }
  check_labels(set.labels, names.labels, which.facts.classes);
}

}  // namespace prumo::data
