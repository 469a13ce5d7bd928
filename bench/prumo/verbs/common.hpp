// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"
#include "results_file.hpp"
#include "worker_fleet.hpp"

#include <string>
#include <string_view>

namespace prumo::bench {

/// Starts the workers, keeps the devices that the user wants and, where asked, reads their facts. Devices whose facts
/// break the format of results keep what their worker said at the start, with a note.
/// \throws program_error, interrupted
void open_fleet(worker_fleet& fleet, const common_options& options, bool with_facts);

/// Prints notes for the user on standard error.
void print_notes(std::span<const std::string> notes);

/// Prints text for people: on standard output, or on standard error where the document goes to standard output.
void print_report(std::string_view text, const std::string& output);

}  // namespace prumo::bench
