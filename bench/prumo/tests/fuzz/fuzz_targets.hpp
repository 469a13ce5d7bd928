// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

// What reads bytes from outside, one function for each kind. A function returns for any input, whether it is accepted
// or refused; what it must never do is to crash, to hang, to throw anything but a refusal, or to print control
// characters. libFuzzer calls one of them, and corpus_test.cpp calls all with the inputs of `corpus/`.

namespace prumo::bench::fuzz {

/// A results file: it is checked, written again, shown in every table and compared with itself.
void results(std::string_view text);

/// A file of Google Benchmark or nvbench.
void foreign_formats(std::string_view text);

/// A line of a worker or a request for one. The first byte chooses the message.
void protocol(std::string_view text);

/// Sizes, durations, percentages, commands, and text for the terminal.
void units(std::string_view text);

/// The words of a command line, a line each.
void command_line(std::string_view text);

/// A file of images or labels. The first byte chooses which.
void idx(std::string_view bytes);

/// The same, compressed: what does not begin like gzip gets its first bytes.
void gzip(std::string_view bytes);

/// A file of weights.
void safetensors(std::string_view bytes);

/// A net's file.
void net(std::string_view text);

}  // namespace prumo::bench::fuzz
