// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/net_data.hpp"

#include "terminal/interrupt.hpp"
#include "terminal/program_error.hpp"
#include <prumo/data/digits.hpp>
#include <prumo/data/resize.hpp>
#include <prumo/data/sha256.hpp>
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prumo::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view temporary_prefix = "prumo-net-";

/// The folder, locked until it is closed; none if another program has the lock. The system gives up the lock of a
/// program that dies.
file_descriptor locked_folder(const std::string& path) {
  file_descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.close();
  return folder;
}

/// Another user's folder could lead elsewhere while it is removed.
bool is_own(const file_descriptor& folder) {
  struct stat status{};
  return ::fstat(folder.get(), &status) == 0 && status.st_uid == ::geteuid();
}

/// Removes the folders of runs that were killed. One that was made a moment ago may not be locked yet.
void remove_left_folders(const fs::path& place) {
  constexpr std::chrono::minutes moment(1);
  std::error_code error, ignored;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(temporary_prefix)) continue;
    const fs::file_time_type changed = it->last_write_time(ignored);
    if (ignored || fs::file_time_type::clock::now() - changed < moment) continue;
    const file_descriptor left = locked_folder(it->path().string());
    if (left && is_own(left)) fs::remove_all(it->path(), ignored);
  }
}

}  // namespace

temporary_folder::temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  const fs::path place = named == nullptr || *named == '\0' ? "/tmp" : named;
  remove_left_folders(place);
  std::string name = absolute_path((place / temporary_prefix).string() + "XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) {
    throw file_error(file_error::cause::io,
                     fmt::format("{}: temporary files cannot be written there: {}; name another folder in the "
                                 "environment variable TMPDIR",
                                 place.string(), std::strerror(errno)));
  }
  path_ = name;
  lock_ = locked_folder(name);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

data::labelled_images drawn_digits(const data::net& net, std::int64_t first, std::int64_t count, progress& shown) {
  const nets::image_shape& input = net.description.input;
  if (input.channels != 1) {
    throw program_error(exit_code::wrong_usage,
                        fmt::format("the net {} takes images of {} channels, and the digits that prumo draws have one; "
                                    "name images with --data",
                                    net.description.name, input.channels));
  }
  data::digit_options options;
  options.classes = std::min(data::most_digit_classes, net.facts.classes);
  shown.start(static_cast<std::size_t>(count));
  data::labelled_images set = data::generate_digits(first, count, options, [&](std::int64_t done) {
    throw_if_interrupted();
    shown.update("drawing digits", static_cast<std::size_t>(done));
  });
  if (input.height != options.height || input.width != options.width) {
    shown.update("resizing digits", static_cast<std::size_t>(count));
    set.images = data::resized(set.images, input.height, input.width, data::resizing::area);
  }
  shown.clear();
  return set;
}

std::string digest_of(const std::string& text) {
  return data::sha256_of({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string digest_of(const data::labelled_images& set) {
  data::sha256 sum;
  sum.update(set.images.pixels);
  sum.update(set.labels.classes);
  return sum.digest();
}

std::string absolute_path(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

/// `t10k-labels-idx1-ubyte.gz` for `t10k-images-idx3-ubyte.gz`.
std::string labels_beside(const std::string& images) {
  const fs::path path(images);
  std::string name = path.filename().string();
  const auto replace = [&](std::string_view from, std::string_view to) {
    if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  replace("images", "labels");
  replace("idx3", "idx1");
  replace("idx4", "idx1");
  return (path.parent_path() / name).string();
}

bool is_named_net(const nets::description& net) {
  const auto known = nets::known_nets();
  return std::ranges::find(known, net.name) != known.end() && nets::named_net(net.name) == net;
}

std::string net_line(const data::net& net) {
  const nets::image_shape& input = net.description.input;
  return fmt::format("net: {}, {} x {} x {} pixels, {} classes, {} weights, {:.4g} Mflop an image",
                     net.description.name, input.channels, input.height, input.width, net.facts.classes,
                     net.facts.parameters, static_cast<double>(net.facts.flops_inside) * 1e-6);
}

protocol::open_request open_request_of(std::string_view workload, const std::string& net_text,
                                       const data::data_files& files, const std::string& weights) {
  protocol::open_request request;
  request.workload = workload;
  request.net = protocol::json::parse(net_text);
  request.images = files.images;
  request.labels = files.labels;
  request.weights = weights;
  return request;
}

}  // namespace prumo::bench
