// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/data_folder.hpp>
#include <prumo/files/file_error.hpp>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

namespace prumo::data {
namespace {

namespace fs = std::filesystem;

/// The names that one file may have, the preferred one first.
std::vector<std::string> names_of(const std::string& set, const std::string& content, const std::string& extents) {
  std::vector<std::string> names;
  for (const char* size : {"", "-28", "-48", "-72", "-86"}) {
    for (const char* zip : {"", ".gz"}) {
      for (const char* mark : {"-", "."}) {
        std::string name = set;
        name.append(size).append("-").append(content).append(mark).append(extents).append("-ubyte").append(zip);
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

std::string first_of(const std::string& folder, const std::vector<std::string>& names) {
  std::error_code error;
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path, error) && !fs::is_directory(path, error)) return path.string();
  }
  return {};
}

std::optional<data_files> find_set(const std::string& folder, const std::string& set, data_folder& found) {
  const auto images = names_of(set, "images", "idx3");
  const auto labels = names_of(set, "labels", "idx1");
  for (const auto& names : {images, labels}) {
    found.looked_for.insert(found.looked_for.end(), names.begin(), names.end());
  }
  data_files files{first_of(folder, images), first_of(folder, labels)};
  if (files.images.empty() && files.labels.empty()) return std::nullopt;
  if (files.images.empty() || files.labels.empty()) {
    const bool lacks_images = files.images.empty();
    bench::refuse_file(folder, "holds " + fs::path(lacks_images ? files.labels : files.images).filename().string() +
                                   " without " + (lacks_images ? images : labels).front() +
                                   " (or that name with .gz or a point before idx); put both files there");
  }
  return files;
}

}  // namespace

data_files usual_names(const std::string& folder, const std::string& set, bool gzip) {
  const std::string end = gzip ? ".gz" : "";
  return {(fs::path(folder) / (set + "-images-idx3-ubyte" + end)).string(),
          (fs::path(folder) / (set + "-labels-idx1-ubyte" + end)).string()};
}

data_folder find_data(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) bench::refuse_file(folder, "there is no such folder; name one that holds IDX files");
  if (!fs::is_directory(folder, error)) {
    bench::refuse_file(folder, "is no folder; name the folder that holds t10k-images-idx3-ubyte");
  }
  data_folder found;
  found.train = find_set(folder, "train", found);
  found.test = find_set(folder, "t10k", found);
  if (!found.train && !found.test) {
    bench::refuse_file(folder,
                       "holds no images under the usual names: train-images-idx3-ubyte, train-labels-idx1-ubyte, "
                       "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte (also with .gz, or a point before idx); name "
                       "another folder, or write files by `prumo data generate`");
  }
  return found;
}

labelled_images read_set(const data_files& files) {
  labelled_images set{read_images(files.images), read_labels(files.labels)};
  check_pair(set.images, files.images, set.labels, files.labels);
  return set;
}

}  // namespace prumo::data
