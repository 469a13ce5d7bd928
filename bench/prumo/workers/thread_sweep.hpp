// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// The hardware threads that a worker of the host may run on, as prumo's own worker reports them.
struct host_processors {
  using core = std::vector<int>;     ///< the system's numbers of its hardware threads
  using domain = std::vector<core>;  ///< NUMA domain

  std::vector<domain> domains;          ///< the first one first; empty: not known, threads cannot be placed
  std::optional<int> hardware_threads;  ///< absent: not known

  /// Made from the facts `numa_domains` and `hardware_threads` of a host device (docs/protocol.md). Facts that are not
  /// as described there count as unknown.
  [[nodiscard]] static host_processors from_facts(const nlohmann::json& facts);

  [[nodiscard]] int cores() const;

  /// A hardware thread for each thread, close together: all cores of a domain before those of the next one, and second
  /// hardware threads only when no core is left. Empty if places are not known.
  [[nodiscard]] std::vector<int> places(int threads) const;
};

/// Checks the values of `--threads` before anything is known about the machine.
/// \throws program_error (wrong usage) for one that is neither a number from 1 up nor `cores` nor `numa`
void check_thread_words(std::span<const std::string> words);

/// The numbers of threads that `words` ask for on this machine, ascending, each once: numbers, `cores` (1, 2, 4, ...
/// and all cores), `numa` (the cores of one domain, of two, ...).
/// \throws program_error (wrong usage) as check_thread_words(), (this machine cannot) for more threads than there are,
///         or if cores are not known
[[nodiscard]] std::vector<int> thread_numbers(std::span<const std::string> words, const host_processors& host);

/// How a worker finds out how many threads to start.
enum class thread_binding {
  by_openmp,  ///< it binds them itself to the places that OpenMP's variables name
  by_mask     ///< the whole process is confined to the places, because OpenMP does not know its pools of threads
};

/// Words in front of a worker's command that start it with this number of threads on the processors `places`. If there
/// are no places, OpenMP chooses cores.
[[nodiscard]] std::vector<std::string> words_for_threads(int threads, std::span<const int> places,
                                                         thread_binding binding);

/// Words in front of a worker's command that leave its threads on all processors that it may use.
[[nodiscard]] std::vector<std::string> words_for_all_processors();

}  // namespace prumo::bench
