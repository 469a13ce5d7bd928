// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::bench::testing {

/// The size of an array in most samples.
inline constexpr std::uint64_t sample_bytes = 2097152;

/// The `run` of a made-up machine.
[[nodiscard]] nlohmann::json sample_run();

/// A host device with facts, peaks and ceilings, some of them unknown.
[[nodiscard]] nlohmann::json sample_device(const std::string& id = "openmp:0");

/// A verified result that ran: `op` f32 over an array of this many bytes in `seconds`.
[[nodiscard]] nlohmann::json sample_result(const std::string& op, std::uint64_t bytes_per_array, double seconds);

/// What a result has in `states` of a state of power: a call takes `seconds` at this clock, and 2 J.
[[nodiscard]] nlohmann::json sample_state(double seconds, double clock_mhz,
                                          const std::vector<std::string>& throttle = {});

/// The same case transferred, skipped with a reason.
[[nodiscard]] nlohmann::json skipped_result(const std::string& op, std::uint64_t bytes_per_array);

/// A whole valid document with results of every status.
[[nodiscard]] nlohmann::json sample_document();

/// A document around these results.
[[nodiscard]] nlohmann::json document_of(std::vector<nlohmann::json> results);

}  // namespace prumo::bench::testing
