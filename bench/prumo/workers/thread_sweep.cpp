// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/thread_sweep.hpp"

#include "terminal/program_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What the user's shell may have set and would override, or be mixed with, what is asked for here.
constexpr std::array<const char*, 7> own_choices{"GOMP_CPU_AFFINITY", "KMP_AFFINITY",    "KMP_HW_SUBSET",
                                                 "OMP_THREAD_LIMIT",  "OMP_NUM_THREADS", "OMP_PLACES",
                                                 "KOKKOS_NUM_THREADS"};

/// Each library of threads or products has its own.
constexpr std::array<const char*, 6> numbers_of_threads{"OMP_NUM_THREADS",  "KOKKOS_NUM_THREADS",
                                                        "MKL_NUM_THREADS",  "OPENBLAS_NUM_THREADS",
                                                        "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"};

/// A number from 1 up; nothing for any other text.
std::optional<int> parse_number(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

/// The numbers of cores that fill one domain, two, ...
std::vector<int> whole_domains(const host_processors& host) {
  std::vector<int> numbers;
  int cores = 0;
  for (const host_processors::domain& it : host.domains) numbers.push_back(cores += static_cast<int>(it.size()));
  return numbers;
}

std::vector<int> doubling_up_to(int cores) {
  std::vector<int> numbers;
  for (int threads = 1; threads < cores; threads *= 2) numbers.push_back(threads);
  numbers.push_back(cores);
  return numbers;
}

std::vector<std::string> without_own_choices() {
  std::vector<std::string> words{"env"};
  for (const char* name : own_choices) words.insert(words.end(), {"-u", name});
  return words;
}

}  // namespace

host_processors host_processors::from_facts(const json& facts) {
  host_processors host;
  if (!facts.is_object()) return host;
  if (const auto known = facts.find("hardware_threads"); known != facts.end() && known->is_number_integer()) {
    host.hardware_threads = known->get<int>();
  }
  try {
    for (const json& described : facts.value("numa_domains", json::array())) {
      host.domains.push_back(described.at("cores").get<domain>());
    }
  } catch (const json::exception&) {
    host.domains.clear();
  }
  std::erase_if(host.domains, [](domain& it) {
    std::erase_if(it, [](const core& threads) { return threads.empty(); });
    return it.empty();
  });
  if (host.domains.empty()) return host;
  std::size_t usable = 0;
  for (const domain& it : host.domains) {
    for (const core& threads : it) usable += threads.size();
  }
  host.hardware_threads = static_cast<int>(usable);  // of the machine's those that may be used
  return host;
}

int host_processors::cores() const {
  std::size_t count = 0;
  for (const domain& it : domains) count += it.size();
  return static_cast<int>(count);
}

std::vector<int> host_processors::places(int threads) const {
  std::vector<int> chosen;
  const auto wanted = static_cast<std::size_t>(threads);
  bool any = true;
  for (std::size_t of_core = 0; any && chosen.size() < wanted; ++of_core) {
    any = false;
    for (const domain& it : domains) {
      for (const core& hardware : it) {
        if (of_core >= hardware.size() || chosen.size() == wanted) continue;
        chosen.push_back(hardware[of_core]);
        any = true;
      }
    }
  }
  return chosen;
}

void check_thread_words(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "cores" || word == "numa" || parse_number(word)) continue;
    throw program_error(exit_code::wrong_usage,
                        fmt::format("--threads: '{}' is neither a number of threads from 1 up, nor cores, nor numa; "
                                    "for example --threads 1,2,4 or --threads cores",
                                    sanitize(word)));
  }
}

std::vector<int> thread_numbers(std::span<const std::string> words, const host_processors& host) {
  check_thread_words(words);
  std::set<int> numbers;
  for (const std::string& word : words) {
    const auto number = parse_number(word);
    if (number && host.hardware_threads && *number > *host.hardware_threads) {
      const std::string cores = host.domains.empty() ? "" : fmt::format(" on {} cores", host.cores());
      throw program_error(exit_code::machine_cannot,
                          fmt::format("--threads {}: only {} hardware threads{} may be used here; choose no more, or "
                                      "cores for 1, 2, 4, ... up to all cores",
                                      *number, *host.hardware_threads, cores));
    }
    if (!number && host.domains.empty()) {
      throw program_error(
          exit_code::machine_cannot,
          fmt::format(
              "--threads {}: the cores of this machine are not known; name numbers, for example --threads 1,2,4",
              word));
    }
    const std::vector<int> meant = number           ? std::vector<int>{*number}
                                   : word == "numa" ? whole_domains(host)
                                                    : doubling_up_to(host.cores());
    numbers.insert(meant.begin(), meant.end());
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<std::string> words_for_threads(int threads, std::span<const int> places, thread_binding binding) {
  std::vector<std::string> words = without_own_choices();
  for (const char* name : numbers_of_threads) words.push_back(fmt::format("{}={}", name, threads));
  words.insert(words.end(), {"OMP_DYNAMIC=false", "OMP_PROC_BIND=close"});
  // A processor a place: no comma within braces, which a shell at the other end of a launcher would expand.
  words.push_back(places.empty() ? "OMP_PLACES=cores" : fmt::format("OMP_PLACES={{{}}}", fmt::join(places, "},{")));
  if (binding == thread_binding::by_mask && !places.empty()) {
    words.insert(words.end(), {"taskset", "-c", fmt::format("{}", fmt::join(places, ","))});
  }
  return words;
}

std::vector<std::string> words_for_all_processors() {
  std::vector<std::string> words = without_own_choices();
  words.emplace_back("OMP_PROC_BIND=false");
  return words;
}

}  // namespace prumo::bench
