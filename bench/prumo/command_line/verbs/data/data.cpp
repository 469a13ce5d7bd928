// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/data/data.hpp"

#include "command_line/verbs/verb.hpp"
#include "terminal/units.hpp"
#include <prumo/files/file_error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <unistd.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const verb*, 3> actions{&data_generate_verb, &data_info_verb, &data_resize_verb};

}  // namespace

image_size read_image_size(const char* option, const std::string& text) {
  constexpr std::int64_t largest_side = 65535;
  const char* const end = text.data() + text.size();
  image_size size{};
  auto [rest, error] = std::from_chars(text.data(), end, size.height);
  size.width = size.height;
  if (error == std::errc() && rest != end && (*rest == 'x' || *rest == 'X')) {
    std::tie(rest, error) = [&] {
      const auto read = std::from_chars(rest + 1, end, size.width);
      return std::pair(read.ptr, read.ec);
    }();
  }
  const auto is_side = [](std::int64_t side) { return side >= 1 && side <= largest_side; };
  if (error != std::errc() || rest != end || !is_side(size.height) || !is_side(size.width)) {
    throw program_error(exit_code::wrong_usage,
                        fmt::format("{}: '{}' is no size of images; name a number of pixels such as 48, or rows and "
                                    "columns such as 48x86",
                                    option, text));
  }
  return size;
}

CLI::Option* add_gzip(CLI::App& app, bool& target) {
  return app.add_flag("--gzip", target, "compress the files, and add .gz to their names")->group("Output");
}

CLI::Option* add_replace(CLI::App& app, bool& target) {
  return app.add_flag("--force", target, "replace files that are there already")->group("Output");
}

void check_replaceable(std::span<const std::string> paths, bool force) {
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!force && fs::is_regular_file(path, ignored)) {
      throw program_error(exit_code::wrong_usage,
                          fmt::format("{}: is there already; --force replaces it, or name another place", path));
    }
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path.empty() ? "." : path, error);
  if (error) throw_system_error(path, "cannot be made", error.value());
}

void check_memory(std::string_view what, double bytes) {
  const auto machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (machine <= 0 || bytes < machine) return;
  throw program_error(exit_code::machine_cannot,
                      fmt::format("{} take {}, and this machine has {}; make fewer or smaller ones", what,
                                  format_bytes_rounded(bytes), format_bytes_rounded(machine)));
}

std::string written_line(const std::string& path, const data::image_set& images) {
  return fmt::format("{}: {} images of {}{} x {}\n", path, images.count,
                     images.channels == 1 ? std::string() : fmt::format("{} x ", images.channels), images.height,
                     images.width);
}

const verb data_verb{"data",
                     "makes, shows and resizes images and labels",
                     "Images, labels, weights and nets in files.",
                     R"(Examples:
  prumo data generate digits          write 70,000 images of digits, as MNIST has, into the folder digits
  prumo data info digits              tell what they are
  prumo data info lenet5              show a net's layers, weights and flops
  prumo data resize digits large --size 48

`prumo data ACTION --help` shows options and examples.)",
                     nullptr,
                     actions};

}  // namespace prumo::bench
