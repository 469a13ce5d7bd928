// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/cli11_declarations.hpp"
#include <prumo/data/idx.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prumo::bench {

/// Height and width of images.
struct image_size {
  std::int64_t height;
  std::int64_t width;
};

/// Reads `48`, or `48x86` for 48 rows and 86 columns. \throws program_error that names the option
[[nodiscard]] image_size read_image_size(const char* option, const std::string& text);

/// The option --gzip, which compresses what is written.
CLI::Option* add_gzip(CLI::App& app, bool& target);

/// The option --force of files that hold no results.
CLI::Option* add_replace(CLI::App& app, bool& target);

/// Refuses files that are there already, unless they may be replaced.
/// \throws program_error that names the first one
void check_replaceable(std::span<const std::string> paths, bool force);

/// Makes a folder with those above it, unless it is there.
/// \throws file_error where the system refuses
void make_folder(const std::string& path);

/// Refuses work that needs more memory than this machine has. `what` begins the message.
/// \throws program_error (machine cannot)
void check_memory(std::string_view what, double bytes);

/// One line on what was written: file, number and size of the images, bytes.
[[nodiscard]] std::string written_line(const std::string& path, const data::image_set& images);

}  // namespace prumo::bench
