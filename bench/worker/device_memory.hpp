// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/machine/device_facts.hpp>
#include <prumo/protocol/messages.hpp>
#include <prumo/serving/memory_limit.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>
#include <string>

namespace prumo::worker {

/// If `needed` bytes do not fit into the device's memory, throws request_error (memory) with the needed and available
/// bytes. `label` begins the message.
template <class Exec>
void require_device_memory(const Exec& instance, const std::string& label, std::int64_t needed) {
  if constexpr (is_host_space<Exec>) {
    protocol::require_memory(label, needed);
  } else {
    const machine::device_facts facts = machine::facts_of(instance, machine::clock_probe::skip);
    const auto available = facts.memory_available_bytes;
    if (!available || needed <= *available - protocol::memory_reserve_bytes(*available)) return;
    throw protocol::request_error(protocol::error_kind::memory,
                                  label + " needs " + std::to_string(needed) + " bytes of " + facts.id +
                                      "'s memory, but only " + std::to_string(*available) + " bytes are available");
  }
}

/// Refuses transferred data on a device that shares the host's memory.
template <class Exec>
void require_transfers() {
  if constexpr (is_host_space<Exec>) {
    throw protocol::request_error(protocol::error_kind::skipped, "a host device has no transfers");
  }
}

}  // namespace prumo::worker
