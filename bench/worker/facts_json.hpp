// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/backend/device_facts.hpp>
#include <prumo/protocol/messages.hpp>

#include <vector>

namespace prumo::worker {

/// The answer to `device`.
protocol::device_answer describe(const backend::device_facts& facts, const std::vector<backend::peak>& peaks);

/// The device as `hello` lists it.
protocol::device_summary summarize(const backend::device_facts& facts);

}  // namespace prumo::worker
