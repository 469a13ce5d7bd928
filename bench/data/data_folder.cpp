// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/data_folder.hpp>
#include <prumo/files/file_error.hpp>

#include <charconv>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace prumo::data {
namespace {

namespace fs = std::filesystem;

/// What names of one file differ in. Of several files, the one with the least name is taken.
struct usual_name {
  std::uint32_t size = 0;  ///< after the first word, as in `t10k-48-images-idx3-ubyte`; 0 if there is none
  bool is_gzip = false;
  bool has_point = false;     ///< before `idx`
  bool has_channels = false;  ///< `idx4` instead of `idx3`
  auto operator<=>(const usual_name&) const = default;
};

/// Takes `what` off the front of the text, if it is there.
bool takes(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// Reads the parts of a name. The result is absent if the name does not fit this file of the set.
std::optional<usual_name> read_name(std::string_view name, std::string_view set, idx_content content) {
  usual_name read;
  if (!takes(name, set) || !takes(name, "-")) return std::nullopt;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), read.size);
  if (error == std::errc()) {
    name.remove_prefix(static_cast<std::size_t>(rest - name.data()));
    if (!takes(name, "-")) return std::nullopt;
  }
  const bool is_images = content == idx_content::images;
  if (!takes(name, is_images ? "images" : "labels")) return std::nullopt;
  read.has_point = takes(name, ".");
  if (!read.has_point && !takes(name, "-")) return std::nullopt;
  read.has_channels = is_images && takes(name, "idx4");
  if (!read.has_channels && !takes(name, is_images ? "idx3" : "idx1")) return std::nullopt;
  if (!takes(name, "-ubyte")) return std::nullopt;
  read.is_gzip = takes(name, ".gz");
  return name.empty() ? std::optional(read) : std::nullopt;
}

/// The path of a file of the set; empty if the folder has none.
std::string find_file(const std::string& folder, std::string_view set, idx_content content) {
  std::optional<usual_name> best;
  std::string path;
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto name = read_name(it->path().filename().string(), set, content);
    if (!name || (best && *best < *name) || it->is_directory(ignored)) continue;
    best = name;
    path = it->path().string();
  }
  if (error) bench::throw_system_error(folder, "its files cannot be listed", error.value());
  return path;
}

std::optional<data_files> find_set(const std::string& folder, const std::string& set) {
  data_files files{find_file(folder, set, idx_content::images), find_file(folder, set, idx_content::labels)};
  if (files.images.empty() && files.labels.empty()) return std::nullopt;
  if (files.images.empty() || files.labels.empty()) {
    const bool lacks_images = files.images.empty();
    const data_files usual = usual_names(folder, set, false);
    bench::refuse_file(folder, "holds " + fs::path(lacks_images ? files.labels : files.images).filename().string() +
                                   " without " +
                                   fs::path(lacks_images ? usual.images : usual.labels).filename().string() +
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
  data_folder found{find_set(folder, "train"), find_set(folder, "t10k")};
  if (!found.train && !found.test) {
    bench::refuse_file(folder,
                       "holds no images under the usual names: train-images-idx3-ubyte, train-labels-idx1-ubyte, "
                       "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte (also idx4 for images of several channels, with "
                       ".gz, or a point before idx); name another folder, or write files by `prumo data generate`");
  }
  return found;
}

labelled_images read_set(const data_files& files) {
  labelled_images set{read_images(files.images), read_labels(files.labels)};
  check_pair(set.images, files.images, set.labels, files.labels);
  return set;
}

}  // namespace prumo::data
