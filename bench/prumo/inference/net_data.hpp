// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What nets that run and nets that are trained share of their data: digits that prumo draws, digests, temporary files,
/// requests.

#include "terminal/progress.hpp"
#include <prumo/data/data_folder.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/files/file_descriptor.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace prumo::bench {

/// A folder for files that only live as long as this object. It lies where TMPDIR says, or else in /tmp. A run that is
/// killed leaves its folder behind, and the next run removes it.
class temporary_folder {
 public:
  /// \throws file_error where the system refuses
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  file_descriptor lock_;
};

/// Digits from number `first` on, of the size that the net takes.
/// \throws program_error where the net takes images of several channels; interrupted
[[nodiscard]] data::labelled_images drawn_digits(const data::net& net, std::int64_t first, std::int64_t count,
                                                 progress& shown);

/// The digest of all pixels followed by all labels, and that of a text.
[[nodiscard]] std::string digest_of(const data::labelled_images& set);
[[nodiscard]] std::string digest_of(const std::string& text);

/// A path that other programs understand, whatever folder they work in.
[[nodiscard]] std::string absolute_path(const std::string& path);

/// `t10k-labels-idx1-ubyte.gz` for `t10k-images-idx3-ubyte.gz`.
[[nodiscard]] std::string labels_beside(const std::string& images);

/// Whether this is the net that prumo knows by its name, and not another one that is called so: published figures are
/// of that net alone.
[[nodiscard]] bool is_named_net(const nets::description& net);

/// A sentence about the net: its size, classes and weights.
[[nodiscard]] std::string net_line(const data::net& net);

/// The request that opens a net, given as text, on images with labels and weights of files.
[[nodiscard]] protocol::open_request open_request_of(std::string_view workload, const std::string& net_text,
                                                     const data::data_files& files, const std::string& weights);

}  // namespace prumo::bench
