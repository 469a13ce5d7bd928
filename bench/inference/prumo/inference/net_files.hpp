// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/data_folder.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/data/safetensors.hpp>
#include <prumo/protocol/net_messages.hpp>

namespace prumo::inference {

/// A net with its images, labels and weights.
struct net_files {
  data::net net;
  data::labelled_images set;
  data::net_weights weights;
  double seconds = 0;  ///< for reading and checking
};

/// Reads what the request names, and checks that it belongs together.
/// \throws bench::file_error that names the file, the place and the remedy
[[nodiscard]] net_files read_net_files(const protocol::open_request& request);

}  // namespace prumo::inference
