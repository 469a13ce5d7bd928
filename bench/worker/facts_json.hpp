// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/machine/device_facts.hpp>
#include <prumo/protocol/messages.hpp>

#include <vector>

namespace prumo::worker {

/// The answer to `device`.
protocol::device_answer describe(const machine::device_facts& facts, const std::vector<machine::peak>& peaks,
                                 bool transfers);

/// The device for `hello`. `transfers` says that it has its own memory and no number of threads.
protocol::device_summary summarize(const machine::device_facts& facts, bool transfers);

}  // namespace prumo::worker
