// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/idx.hpp>

#include <optional>
#include <string>

namespace prumo::data {

/// The two files of a set.
struct data_files {
  std::string images;
  std::string labels;
};

/// What a folder holds under the usual names.
struct data_folder {
  std::optional<data_files> train;  ///< 60,000 images in MNIST
  std::optional<data_files> test;   ///< 10,000 images in MNIST, called t10k
};

/// Finds the sets in a folder. Names are those of MNIST, `train-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, also
/// with `idx4` for images of several channels, with a point before `idx`, with `.gz`, and with a size after the first
/// word as in `t10k-48-images-idx3-ubyte`. If there are several, the file without a size and without `.gz` is taken, or
/// else that with the smallest size. A set is found if it has both files.
/// \throws bench::file_error if this is no folder or cannot be listed, if it has neither set, or only one file of a set
[[nodiscard]] data_folder find_data(const std::string& folder);

/// The usual names of one set, for files that are written: `train` or `t10k`.
[[nodiscard]] data_files usual_names(const std::string& folder, const std::string& set, bool gzip);

/// Images with their labels.
struct labelled_images {
  image_set images;
  label_set labels;
};

/// Reads both files and checks that they belong together.
/// \throws bench::file_error
[[nodiscard]] labelled_images read_set(const data_files& files);

}  // namespace prumo::data
