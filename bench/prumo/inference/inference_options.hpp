// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// Where the images of a call lie when it begins.
struct image_placement {
  std::string data = "resident";           ///< `resident` or `transferred`
  std::optional<std::string> host_memory;  ///< `pinned` or `pageable` for transferred images

  bool operator==(const image_placement&) const = default;
};

/// What is measured of a net.
struct inference_plan {
  std::vector<std::int64_t> batches;
  bool batches_chosen = false;  ///< by the user
  std::vector<std::string> dtypes;
  std::vector<image_placement> placements;
  std::vector<std::string> implementations;  ///< of nets, by name, or `all`; empty: each worker's first
  bool ops = false;                          ///< the net's convolutions as operations by themselves
  bool layers = false;                       ///< each step of the net
  bool net = false;                          ///< the net as a whole
  bool program = false;                      ///< a process of its own, from its start to its end
};

}  // namespace prumo::bench
