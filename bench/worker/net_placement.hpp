// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/net_file.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::worker {

/// How much memory a net needs for batches of a size. No number overflows: what is too large for any machine is the
/// largest number of its type.
struct net_placement {
  std::int64_t batch = 0;
  std::int64_t batch_pixels = 0;  ///< numbers in the images of a batch
  std::int64_t batch_results = 0;
  std::int64_t slots = 1;  ///< batches of images that lie on the device beside each other, for one call after the other
  std::int64_t device_bytes = 0;
  std::int64_t host_bytes = 0;
};

/// \param images in the file; there are no more slots than it takes to hold them all
/// \param cache_bytes of the last level; the slots together are at least twice as large, if there are enough images
/// \param transferred whether calls begin with bytes in the host's memory, which come in chunks
[[nodiscard]] net_placement place_net(const nets::forward_plan& plan, std::int64_t batch, std::int64_t images,
                                      std::size_t cache_bytes, bool transferred = false);

/// The steps of a plan with their costs for a batch.
[[nodiscard]] std::vector<protocol::step_description> describe_steps(const nets::forward_plan& plan,
                                                                     std::int64_t batch);

/// The cost of the net for a batch.
[[nodiscard]] protocol::cost_model model_of(const nets::forward_plan& plan, std::int64_t batch);

}  // namespace prumo::worker
