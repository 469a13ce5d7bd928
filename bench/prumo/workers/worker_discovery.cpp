// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/worker_discovery.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#if defined(__APPLE__)
#include <cstdint>
#include <mach-o/dyld.h>
#endif

#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"
#include "workers/python_peers.hpp"
#include <prumo/protocol/thread_number.hpp>

#include <fmt/format.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view worker_prefix = "prumo-worker-";

bool is_executable_file(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// Workers of one folder by name; several programs find the same order everywhere. With `broken` those that are no
/// programs: links to nothing, files without the permission.
std::map<std::string, fs::path> workers_in(const fs::path& folder, bool broken = false) {
  std::map<std::string, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(worker_prefix) || is_executable_file(entry.path()) == broken) continue;
    const std::string name = file.substr(worker_prefix.size());
    if (!name.empty() && name.find('.') == std::string::npos) found.emplace(name, entry.path());
  }
  return found;
}

bool is_asked_for(const std::string& peer, const worker_options& options) {
  const auto names_it = [&](const std::string& filter) { return names_peer(filter, peer); };
  return std::ranges::find(options.peers, "all") != options.peers.end() ||
         std::ranges::any_of(options.peers, names_it) || std::ranges::any_of(options.wanted_devices, names_it);
}

void refuse_unknown_peers(const worker_options& options, const std::set<std::string>& known) {
  for (const std::string& asked : options.peers) {
    if (asked == "all" || std::ranges::any_of(known, [&](const auto& it) { return names_peer(asked, it); })) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    throw program_error(exit_code::wrong_usage, "--peers: " + unknown_name_message("peer", asked, names));
  }
}

}  // namespace

bool is_own_backend(std::string_view name) {
  constexpr std::array<std::string_view, 6> own{"openmp", "cuda", "hip", "sycl", "threads", "serial"};
  return std::ranges::find(own, name) != own.end();
}

bool names_peer(std::string_view filter, std::string_view peer) {
  return filter.starts_with(peer) &&
         (filter.size() == peer.size() || filter[peer.size()] == ':' || filter[peer.size()] == '-');
}

namespace {

/// Threads that spin in wait of more work take the cores from the worker whose turn is next: for 5 ms with GNU's
/// OpenMP, 200 ms with LLVM's and Intel's. This is long enough to bridge two kernels, and short beside a request.
void limit_spinning() {
  for (const char* decided : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) {
    if (std::getenv(decided) != nullptr) return;
  }
  ::setenv("GOMP_SPINCOUNT", "20000", 1);  // rounds: some 0.3 ms
  ::setenv("KMP_BLOCKTIME", "1", 1);       // ms
}

/// Threads that nothing binds may share a core for long, above all while another program keeps one busy: then each call
/// on two threads waits for the system's scheduler, which takes milliseconds. macOS cannot bind threads.
void bind_threads() {
#if defined(__linux__)
  for (const char* decided : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    if (std::getenv(decided) != nullptr) return;
  }
  ::setenv("OMP_PROC_BIND", "close", 1);
  ::setenv("OMP_PLACES", "cores", 1);
#endif
}

}  // namespace

void prepare_environment(const std::vector<std::string>& folders) {
  const char* const before = std::getenv("PYTHONPATH");
  const std::string python_path = python_path_for_workers(folders, before == nullptr ? "" : before);
  if (before != nullptr || !python_path.empty()) ::setenv("PYTHONPATH", python_path.c_str(), 1);
  limit_spinning();
  bind_threads();
}

void check_thread_variables(bool puts_aside) {
  for (const char* variable : protocol::thread_variables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    const std::string why = protocol::why_no_threads(variable, value);
    if (why.empty()) continue;
    if (!puts_aside) refuse_usage(why);
    ::unsetenv(variable);
  }
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

std::vector<std::string> split_command(std::string_view option, std::string_view text) {
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
    throw program_error(exit_code::wrong_usage,
                        fmt::format("{}: the command '{}' lacks a closing {}; add it", option, text, quote));
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
        fmt::format("--against: {} {}; name a build folder, an install prefix, a folder of workers or a worker program",
                    path, fs::exists(path, ignored) ? "is no program" : "does not exist"));
  }
  if (found.empty()) {
    throw program_error(
        exit_code::wrong_usage,
        fmt::format("--against: there is no worker program ({}...) in {}, its bin or its libexec/prumo; "
                    "build one there, or name the folder that holds them",
                    worker_prefix, path));
  }
  std::vector<worker_launch> workers;
  workers.reserve(found.size());
  for (const auto& [name, program] : found) {
    workers.push_back({name + std::string(other_build_suffix), {fs::absolute(program).string()}, 0, true});
  }
  return workers;
}

std::vector<worker_launch> discover_workers(const worker_options& options) {
  std::vector<worker_launch> workers;
  const std::map<std::string, fs::path> in_python = find_python_peers(options.folders);
  const auto python_peer = [&](const std::string& peer, const fs::path& folder) {
    // On another machine this one's environments mean nothing.
    return python_peer_command(options.launcher.empty() ? peer_interpreter() : "python3", folder, peer);
  };
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(workers, [&](const worker_launch& it) { return it.name == name; });
  };
  for (const std::string& entry : options.named) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, std::min(equals, entry.size()));
    std::vector<std::string> command;
    if (equals != std::string::npos) {
      command = split_command("--worker", std::string_view(entry).substr(equals + 1));
    } else if (const auto found = in_python.find(name); found != in_python.end()) {
      command = python_peer(name, found->second);
    }
    if (name.empty() || command.empty()) {
      throw program_error(
          exit_code::wrong_usage,
          fmt::format("--worker takes NAME=COMMAND, for example old='./old/bin/prumo-worker-openmp', but got '{}'",
                      entry));
    }
    if (known(name)) {
      throw program_error(exit_code::wrong_usage,
                          fmt::format("--worker: two workers are named '{}'; rename one of them", name));
    }
    workers.push_back({name, std::move(command)});
  }
  std::set<std::string> peers;
  for (const auto& [peer, folder] : in_python) peers.insert(peer);
  for (const std::string& folder : options.folders) {
    for (const auto& [name, path] : workers_in(folder)) {
      if (!is_own_backend(name)) peers.insert(name);
      const bool wanted = options.search || (!is_own_backend(name) && is_asked_for(name, options));
      if (wanted && !known(name)) workers.push_back({name, {path.string()}});
    }
  }
  // One of prumo's own that cannot be run is started all the same, so that its devices do not just vanish.
  for (const std::string& folder : options.folders) {
    for (const auto& [name, path] : workers_in(folder, true)) {
      if (options.search && is_own_backend(name) && !known(name)) workers.push_back({name, {path.string()}});
    }
  }
  for (const auto& [peer, folder] : in_python) {
    if (!known(peer) && is_asked_for(peer, options)) workers.push_back({peer, python_peer(peer, folder)});
  }
  for (const worker_launch& worker : workers) {
    if (!is_own_backend(worker.name)) peers.insert(worker.name);
  }
  refuse_unknown_peers(options, peers);
  if (!options.against.empty()) std::ranges::move(find_other_build(options.against), std::back_inserter(workers));
  const std::vector<std::string> launcher = split_command("--launcher", options.launcher);
  if (!launcher.empty()) {
    for (worker_launch& worker : workers) {
      worker.command.insert(worker.command.begin(), launcher.begin(), launcher.end());
      worker.launcher_words = launcher.size();
    }
  }
  return workers;
}

}  // namespace prumo::bench
