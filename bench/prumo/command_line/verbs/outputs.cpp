// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/outputs.hpp"

#include "results/results_file.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"
#include <prumo/files/file_descriptor.hpp>
#include <prumo/files/file_identity.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

/// True if the file is empty or begins with `head`.
bool begins_with(const std::string& path, std::string_view head) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(head.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == static_cast<std::streamsize>(head.size()) && begin == head;
}

/// Saves the content under a new name in this folder. \return the name; empty if that fails
std::string save_copy(const std::filesystem::path& folder, const std::string& content) {
  std::string name = (folder / "prumo-results-XXXXXX").string();
  file_descriptor file(::mkstemp(name.data()));
  if (!file) return {};
  if (write_all(file.get(), content) && file.close()) return name;
  ::unlink(name.c_str());
  return {};
}

/// The same in the folder for temporary files, or in the current folder, the user's or another one.
std::string save_copy(const std::string& content) {
  std::error_code error;
  std::vector<std::filesystem::path> folders{std::filesystem::temp_directory_path(error),
                                             std::filesystem::current_path(error)};
  if (const char* home = std::getenv("HOME")) folders.emplace_back(home);
  folders.insert(folders.end(), {"/var/tmp", "/dev/shm"});
  for (const std::filesystem::path& folder : folders) {
    if (!folder.is_absolute()) continue;
    if (std::string name = save_copy(folder, content); !name.empty()) return name;
  }
  return {};
}

}  // namespace

void check_distinct(std::span<const named_file> outputs, std::span<const std::string> inputs) {
  std::vector<std::pair<std::string_view, file_identity>> known;
  for (const auto& [descriptor, name] : {std::pair(STDOUT_FILENO, std::string_view("standard output")),
                                         std::pair(STDERR_FILENO, std::string_view("standard error"))}) {
    if (const auto file = identify_regular_file(descriptor)) known.emplace_back(name, *file);
  }
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    const auto own = identify_output(path);
    if (!own) continue;
    for (const auto& [other, file] : known) {
      if (file != *own || is_standard_output(path)) continue;
      refuse_usage(fmt::format("{}: {} is the file to which {} goes; name another", option, sanitize(path), other));
    }
    for (const std::string& input : inputs) {
      if (is_standard_output(path) || identify_input(input) != own) continue;
      refuse_usage(fmt::format("{}: {} is one of the files to read; name another", option, sanitize(path)));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (outputs[i].path.empty() || outputs[j].path.empty()) continue;
      const auto own = identify_output(outputs[i].path);
      if (!own || own != identify_output(outputs[j].path)) continue;
      refuse_usage(fmt::format("{} and {} name the same file ({}); name two", outputs[j].option, outputs[i].option,
                               sanitize(outputs[i].path)));
    }
  }
}

output_file open_results(const std::string& path, bool force) {
  output_file file(path);
  check_replaceable(file, force);
  print_losses(file);
  return file;
}

output_file open_table(const std::string& path, bool replace, std::string_view head) {
  output_file file(path);
  if (file.is_regular() && file.had_content()) {
    if (!begins_with(path, head)) {
      refuse_file(path, "is no table of this kind, so it is not overwritten; move it away or name another file");
    }
    if (!replace) refuse_file(path, "is a table already; --force replaces it, or name another file");
  }
  print_losses(file);
  return file;
}

void print_losses(const output_file& file) {
  for (const std::string& it : file.losses()) print_error(fmt::format("prumo: note: {}\n", it));
}

bool closing_writes::write(const output_file& file, const std::string& content) {
  try {
    file.write(content);
    return true;
  } catch (const file_error& error) {
    const std::string copy = save_copy(content);
    failures_.push_back(copy.empty() ? fmt::format("{}; no other folder takes it either, so it is lost", error.what())
                                     : fmt::format("{}; what it should hold is in {}", error.what(), sanitize(copy)));
    return false;
  }
}

exit_code closing_writes::tell(exit_code code) const {
  for (const std::string& it : failures_) print_error(fmt::format("prumo: {}\n", it));
  return failures_.empty() || code != exit_code::done ? code : exit_code::machine_cannot;
}

}  // namespace prumo::bench
