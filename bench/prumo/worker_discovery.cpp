// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker_discovery.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <system_error>
#include <unistd.h>
#include <utility>

#if defined(__APPLE__)
#include <cstdint>
#include <mach-o/dyld.h>
#endif

#include "program_error.hpp"

#include <fmt/format.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view worker_prefix = "prumo-worker-";

bool is_executable_file(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// Workers of one folder by name; several programs find the same order everywhere.
std::map<std::string, fs::path> workers_in(const fs::path& folder) {
  std::map<std::string, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(worker_prefix) || !is_executable_file(entry.path())) continue;
    const std::string name = file.substr(worker_prefix.size());
    if (!name.empty() && name.find('.') == std::string::npos) found.emplace(name, entry.path());
  }
  return found;
}

/// The command of a peer in Python, empty where no folder has it.
std::vector<std::string> peer_command(const std::string& name, const std::vector<std::string>& folders) {
  if (name.empty() || name.find_first_of("/.") != std::string::npos) return {};
  for (const std::string& folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(fs::path(folder) / "python" / "prumo_peers" / (name + ".py"), ignored)) {
      return {"python3", "-m", "prumo_peers." + name};
    }
  }
  return {};
}

}  // namespace

void extend_python_path(const std::vector<std::string>& folders) {
  std::string path;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const fs::path python = fs::path(folder) / "python";
    if (fs::is_directory(python, ignored)) path += (path.empty() ? "" : ":") + fs::absolute(python).string();
  }
  if (path.empty()) return;
  if (const char* before = std::getenv("PYTHONPATH"); before != nullptr && *before != '\0')
    path += std::string(":") + before;
  ::setenv("PYTHONPATH", path.c_str(), 1);
}

fs::path program_path() {
#if defined(__linux__)
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path() : path;
#elif defined(__APPLE__)
  std::string buffer(4096, '\0');
  auto size = static_cast<std::uint32_t>(buffer.size());
  if (_NSGetExecutablePath(buffer.data(), &size) != 0) return {};
  std::error_code failed;
  const fs::path path = fs::canonical(buffer.c_str(), failed);
  return failed ? fs::path() : path;
#else
  return {};
#endif
}

std::vector<std::string> worker_folders() {
  std::vector<std::string> folders;
  if (const fs::path program = program_path(); !program.empty()) {
    folders.push_back(program.parent_path().string());
    folders.push_back((program.parent_path().parent_path() / "libexec" / "prumo").string());
  }
  if (const char* listed = std::getenv("PRUMO_WORKER_PATH")) {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return folders;
}

std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (quote != '\'' && character == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (character == quote) {
        quote = 0;
      } else {
        word += character;
      }
    } else if (character == '\'' || character == '"') {
      quote = character;
      in_word = true;
    } else if (character == ' ' || character == '\t' || character == '\n') {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
    } else {
      word += character;
      in_word = true;
    }
  }
  if (quote != 0) {
    throw program_error(exit_code::wrong_usage, fmt::format("the command '{}' lacks a closing {}", text, quote));
  }
  if (in_word) words.push_back(word);
  return words;
}

std::vector<worker_launch> find_other_build(const std::string& path) {
  std::error_code ignored;
  std::map<std::string, fs::path> found;
  if (is_executable_file(path)) {
    const std::string file = fs::path(path).filename().string();
    found.emplace(file.starts_with(worker_prefix) ? file.substr(worker_prefix.size()) : file, path);
  } else if (fs::is_directory(path, ignored)) {
    for (const fs::path& place : {fs::path(path), fs::path(path) / "bin", fs::path(path) / "libexec" / "prumo"}) {
      if (found.empty()) found = workers_in(place);
    }
  } else {
    throw program_error(
        exit_code::wrong_usage,
        fmt::format(
            "--against: {} is {}; name a build folder, an install prefix, a folder of workers or a worker program",
            path, fs::exists(path, ignored) ? "no program" : "not there"));
  }
  if (found.empty()) {
    throw program_error(
        exit_code::wrong_usage,
        fmt::format("--against: there is no worker program ({}...) in {}, its bin or its libexec/prumo; "
                    "build one there, or name the folder that holds them",
                    worker_prefix, path));
  }
  std::vector<worker_launch> workers;
  for (const auto& [name, program] : found) {
    workers.push_back({name + std::string(other_build_suffix), {fs::absolute(program).string()}, false, true});
  }
  return workers;
}

std::vector<worker_launch> discover_workers(const worker_options& options) {
  std::vector<worker_launch> workers;
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(workers, [&](const worker_launch& it) { return it.name == name; });
  };
  for (const std::string& entry : options.named) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, std::min(equals, entry.size()));
    std::vector<std::string> command;
    if (equals != std::string::npos) {
      command = split_command(std::string_view(entry).substr(equals + 1));
    } else {
      command = peer_command(name, options.folders);
    }
    if (name.empty() || command.empty()) {
      throw program_error(exit_code::wrong_usage,
                          fmt::format("--worker takes NAME=COMMAND, for example numpy='python3 -m prumo_peers.numpy', "
                                      "and got '{}'",
                                      entry));
    }
    if (known(name)) {
      throw program_error(exit_code::wrong_usage, fmt::format("two workers are named '{}': rename one of them", name));
    }
    workers.push_back({name, std::move(command), false, false});
  }
  if (options.search) {
    for (const std::string& folder : options.folders) {
      for (const auto& [name, path] : workers_in(folder)) {
        if (!known(name)) workers.push_back({name, {path.string()}, false, false});
      }
    }
  }
  for (const std::string& device : options.wanted_devices) {
    const std::string name = device.substr(0, device.find(':'));
    if (known(name)) continue;
    if (std::vector<std::string> command = peer_command(name, options.folders); !command.empty()) {
      workers.push_back({name, std::move(command), false, false});
    }
  }
  if (!options.against.empty()) std::ranges::move(find_other_build(options.against), std::back_inserter(workers));
  const std::vector<std::string> launcher = split_command(options.launcher);
  if (!launcher.empty()) {
    for (worker_launch& worker : workers) {
      worker.command.insert(worker.command.begin(), launcher.begin(), launcher.end());
      worker.through_launcher = true;
    }
  }
  return workers;
}

}  // namespace prumo::bench
