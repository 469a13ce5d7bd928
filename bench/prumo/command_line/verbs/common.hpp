// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/gate.hpp"
#include "terminal/program_error.hpp"
#include "workers/fleet_options.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What devices are asked before they are used.
enum class device_facts { skip, read };

/// Finds and starts workers, keeps the devices that the user wants, and calls `use` with them. If the facts of a device
/// break the format of results, the device keeps what its worker said at the start, with a note. If the user asks to
/// stop, the workers are ended. If `use` does not handle that, nothing was finished.
/// \throws program_error, and what `use` throws
[[nodiscard]] exit_code with_fleet(const fleet_options& options, device_facts facts,
                                   const std::function<exit_code(worker_fleet&)>& use);

/// Prints the ids of the devices with their names: `--list`.
void list_devices(const worker_fleet& fleet);

/// A results document with the devices and without results.
[[nodiscard]] nlohmann::json devices_document(const std::vector<std::string>& command, const worker_fleet& fleet);

/// Prints notes for the user on standard error.
void print_notes(std::span<const std::string> notes);

/// Prints text for people: on standard output, or on standard error if that is taken by a document.
void print_report(std::string_view text, bool output_is_taken);

/// 0, 1 or 4.
[[nodiscard]] exit_code exit_code_of(gate_outcome outcome);

}  // namespace prumo::bench
