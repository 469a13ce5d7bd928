// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compare.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace prumo::cases::detail {
namespace {

template <class T>
long double as_long_double(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<long double>(value);
  } else {
    return static_cast<long double>(static_cast<compute_t<T>>(value));
  }
}

long double read_entry(const host_output& output, std::int64_t index) {
  const std::int64_t place = output.order.offset(index);
  return with_element_type(output.specification, output.type,
                           [&]<class T>(T) { return as_long_double(static_cast<const T*>(output.data)[place]); });
}

/// |result - value| over the bound: 0 for what is equal, infinite for what no bound excuses.
double relative_to_bound(long double result, const reference_entry& expected) {
  if (std::isnan(expected.value) || std::isnan(result)) {
    const bool both = std::isnan(expected.value) && std::isnan(result);
    return both ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  }
  if (result == expected.value) return 0.0;
  const long double distance = std::fabs(result - expected.value);
  if (!(expected.bound > 0) || std::isinf(distance)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(distance / expected.bound);
}

/// The worst entry of the parts that one thread looked at.
struct worst_entry {
  double error = 0;
  std::uint64_t checked = 0;
  std::string message;

  void take(const std::vector<host_output>& outputs, const reference_entry& expected) {
    const host_output& output = outputs[expected.which];
    const long double result = read_entry(output, expected.index);
    const double found = relative_to_bound(result, expected);
    ++checked;
    // A NaN is the worst there is and stays.
    if (std::isnan(error) || !(found > error || std::isnan(found))) return;
    error = found;
    if (found <= 1) return;
    std::ostringstream text;
    text.precision(10);
    text << output.specification.name << '[' << expected.index << "] is " << result << ", expected " << expected.value
         << " within " << expected.bound;
    message = text.str();
  }
};

/// What of an output of T was never written, or an empty string.
template <class T>
std::string unwritten_entries_of(const host_output& output) {
  const T mark = poison<T>();
  const T* const data = static_cast<const T*>(output.data);
  std::int64_t unwritten = 0;
  std::int64_t first = -1;
  for (std::int64_t index = 0; index < output.count; ++index) {
    // The mark is a NaN: its bits tell, not its value. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    if (std::memcmp(&data[output.order.offset(index)], &mark, sizeof(T)) == 0) {
      if (unwritten++ == 0) first = index;
    }
  }
  if (unwritten == 0) return {};
  return std::to_string(unwritten) + " of " + std::to_string(output.count) + " entries of " +
         output.specification.name + " were never written, the first at " + std::to_string(first);
}

std::string unwritten_entries(const std::vector<host_output>& outputs) {
  for (const host_output& output : outputs) {
    if (output.data == nullptr) continue;
    std::string found = with_element_type(output.specification, output.type,
                                          [&]<class T>(T) { return unwritten_entries_of<T>(output); });
    if (!found.empty()) return found;
  }
  return {};
}

struct host_work {
  const std::function<void(std::size_t)>* function;
  void operator()(std::int64_t worker) const { (*function)(static_cast<std::size_t>(worker)); }
};

}  // namespace

std::int64_t parts_within(double budget, std::int64_t parts, double part_cost) {
  const double affordable = budget / part_cost;
  if (affordable >= static_cast<double>(parts)) return parts;
  return std::min(parts, std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable)));
}

check_result compare(const std::vector<host_output>& outputs, std::int64_t parts, std::int64_t checked_parts,
                     const reference_function& reference) {
  check_result result;
  result.method = checked_parts == parts ? "all" : "sampled";

  std::atomic<std::int64_t> next{0};
  const auto look_at_parts = [&](worst_entry& worst) {
    std::vector<reference_entry> entries;
    for (std::int64_t step = next++; step < checked_parts; step = next++) {
      const std::int64_t part = checked_parts <= 1 ? 0 : (parts - 1) * step / (checked_parts - 1);
      entries.clear();
      reference(part, entries);
      for (const reference_entry& expected : entries) worst.take(outputs, expected);
    }
  };
  // The host's own execution space, whose threads are bound to cores already: threads started here would all inherit
  // the calling thread's single core.
  using host_space = Kokkos::DefaultHostExecutionSpace;
  const auto workers = std::clamp<std::int64_t>(checked_parts, 1, concurrency_of(host_space()));
  std::vector<worst_entry> worst(static_cast<std::size_t>(workers));
  const std::function<void(std::size_t)> work = [&](std::size_t worker) { look_at_parts(worst[worker]); };
  Kokkos::parallel_for("prumo::case::compare", Kokkos::RangePolicy<host_space>(0, workers), host_work{&work});
  host_space().fence("prumo::case::compare");

  for (const worst_entry& found : worst) {
    result.checked += found.checked;
    const bool worse = !std::isnan(result.error) && (found.error > result.error || std::isnan(found.error));
    if (worse) {
      result.error = found.error;
      result.message = found.message;
    }
  }
  if (std::string unwritten = unwritten_entries(outputs); !unwritten.empty()) {
    result.error = std::numeric_limits<double>::quiet_NaN();
    result.message = std::move(unwritten);
  }
  result.verified = result.error <= result.error_bound;
  return result;
}

}  // namespace prumo::cases::detail
