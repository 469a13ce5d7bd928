// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a device is and what it could do at best. Plain types without any vendor's header; each backend's
/// folder defines facts_of() and peaks_of() for its execution spaces.
///
/// What is unknown is std::nullopt, never zero and never a guess.

#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace prumo::machine {

struct fact;

/// A vector that may be a member of its own element. std::vector may be one, too. But its functions are constexpr in
/// C++20, and nvcc's front-end (13.0) instantiates constexpr functions while the element is incomplete. The functions
/// here are not constexpr.
template <class T>
struct recursive_vector : std::vector<T> {
  using std::vector<T>::vector;
  recursive_vector() {}
  recursive_vector(const recursive_vector& other) : std::vector<T>(other) {}
  recursive_vector(recursive_vector&& other) noexcept : std::vector<T>(std::move(other)) {}
  recursive_vector& operator=(const recursive_vector& other) {
    std::vector<T>::operator=(other);
    return *this;
  }
  recursive_vector& operator=(recursive_vector&& other) noexcept {
    std::vector<T>::operator=(std::move(other));
    return *this;
  }
  ~recursive_vector() {}
};

/// The value of a fact in plain types, for code that prints or stores facts without knowing each of them.
/// `std::monostate` stands for unknown; a vector of facts is an object with named members.
struct fact_value {
  using list = recursive_vector<fact_value>;
  using object = recursive_vector<fact>;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, list, object> value;

  fact_value() = default;
  fact_value(bool known);
  fact_value(int known);
  fact_value(std::int64_t known);
  fact_value(double known);
  fact_value(std::string known);
  fact_value(const char* known);
  fact_value(list known);
  fact_value(object known);
  fact_value(const std::vector<std::string>& known);

  /// Unknown if the optional is empty.
  template <class Known>
  fact_value(const std::optional<Known>& known) {
    if (known) *this = fact_value(*known);
  }

  bool is_known() const { return !std::holds_alternative<std::monostate>(value); }
};

/// A fact by its name in results: `clock_max_mhz`.
struct fact {
  std::string name;
  fact_value value;
};

/// Cores of one kind: performance cores or efficiency cores of a hybrid processor, or all of them.
struct core_kind {
  std::string name;            ///< `performance`, `efficiency`, `core`, or what the system calls it
  std::optional<int> cores;    ///< physical cores that the device's threads may run on
  std::optional<int> threads;  ///< hardware threads that they may run on
  std::optional<double> clock_base_mhz;
  std::optional<double> clock_max_mhz;
  std::optional<double> clock_measured_mhz;  ///< all usable cores at work on integers
  std::optional<double> clock_vector_mhz;    ///< all usable cores at work on vector fused multiply-adds
  std::optional<int> vector_bits;            ///< width of the vectors that reach the peak
  std::optional<double> fma_pipes;           ///< vectors of that width that a core multiplies and adds each cycle
  std::string fma_pipes_source;              ///< where `fma_pipes` comes from
};

/// All that is known of a device. Clocks in MHz, memory in bytes.
struct device_facts {
  std::string id;       ///< `openmp:0`, `cuda:0`
  std::string backend;  ///< `openmp`, `cuda`
  std::string name;     ///< `AMD EPYC 9B45`
  int threads = 1;      ///< threads that kernels run on; 1 for a GPU

  std::optional<std::string> vendor;
  std::optional<std::string> architecture;  ///< `x86_64`, `aarch64`, `sm_90`, `gfx942`

  std::optional<int> sockets;
  std::optional<int> cores;             ///< physical cores of the machine (multiprocessors, compute units of a GPU)
  std::optional<int> cores_usable;      ///< cores that the device's threads may run on
  std::optional<int> hardware_threads;  ///< of the machine
  std::optional<int> smt;               ///< hardware threads of one core
  std::optional<int> numa_nodes;
  std::vector<core_kind> core_kinds;

  std::optional<int> vector_bits;                            ///< the widest vectors of the device
  std::optional<std::vector<std::string>> instruction_sets;  ///< what the device has
  std::optional<std::string> compiled_instruction_set;       ///< what prumo's kernels were compiled for

  std::optional<double> clock_base_mhz;
  std::optional<double> clock_max_mhz;
  std::optional<double> clock_measured_mhz;  ///< all usable cores at work on integers
  std::optional<double> clock_vector_mhz;    ///< all usable cores at work on vector fused multiply-adds

  std::optional<std::int64_t> cache_l1d_bytes;  ///< of one core
  std::optional<std::int64_t> cache_l2_bytes;   ///< of one core or cluster
  std::optional<std::int64_t> cache_llc_bytes;  ///< all last-level caches that usable cores reach
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_available_bytes;

  std::optional<std::string> affinity;  ///< where threads are bound: `close over cores: 0 1 2 3`, `unbound`
  std::optional<double> cpu_quota;      ///< processor time that the control group allows, in cores; unlimited if absent
  std::optional<std::string> cpu_set;   ///< hardware threads that the device's threads may run on: `0-7`
  std::optional<bool> virtual_machine;
  std::optional<std::string> power_source;  ///< `battery` or `mains`
  std::optional<std::string> governor;
  std::optional<bool> turbo;
  std::optional<double> power_limit_w;
  std::optional<std::string> huge_pages;  ///< setting of transparent huge pages: `always`, `madvise`, `never`
  std::optional<bool> numa_balancing;

  std::vector<fact> extras;           ///< facts that only some backends know, in the order of printing
  std::vector<std::string> warnings;  ///< why measurements on this device are doubtful now
};

/// All facts by name in the order of printing, unknown ones included. id, backend, name and threads are left out.
std::vector<fact> flattened(const device_facts& facts);

/// The part of a device that a peak belongs to.
enum class peak_unit : std::uint8_t { vector, tensor, memory };
std::string_view peak_unit_name(peak_unit unit);

/// The clock that a peak was computed with.
enum class peak_clock : std::uint8_t { max, measured };
std::string_view peak_clock_name(peak_clock clock);

/// A theoretical ceiling: flop/s of a unit for a type (a fused multiply-add is two), or bytes/s of the
/// memory.
struct peak {
  peak_unit unit = peak_unit::vector;
  std::optional<dtype> type;         ///< none for memory
  std::optional<dtype> accumulator;  ///< the type of sums, if it is not `type`
  std::string_view inputs;  ///< the type that the unit rounds its inputs to, `tf32`; empty if it does not round them
  std::optional<double> value;  ///< absent if unknown; `source` then says why
  peak_clock clock = peak_clock::max;
  std::optional<double> clock_mhz;
  std::string source;  ///< the product in words, and where each factor comes from
};

/// Whether facts_of() may spend up to about a second on measuring clocks and pipes.
enum class clock_probe : std::uint8_t { skip, run };

// Every backend defines these for its spaces:
//   device_facts facts_of(const Exec& instance, clock_probe probe): everything that can be found out. With
//     clock_probe::run the device must be idle, because clocks and pipes are measured on all threads of the instance.
//   std::vector<peak> peaks_of(const Exec& instance, const device_facts& facts): the peaks of each type, at the maximum
//     clock and at the measured one.
#define PRUMO_DECLARE_DEVICE_FACTS(Space)                                             \
  device_facts facts_of(const Space& instance, clock_probe probe = clock_probe::run); \
  std::vector<peak> peaks_of(const Space& instance, const device_facts& facts);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_DEVICE_FACTS)
#undef PRUMO_DECLARE_DEVICE_FACTS

}  // namespace prumo::machine
