// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compare.hpp"

#include <prumo/case/host_threads.hpp>

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

/// Entries that were never written.
struct unwritten_entries {
  std::int64_t count = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();

  void add(const unwritten_entries& other) {
    count += other.count;
    first = std::min(first, other.first);
  }
};

/// Those of the entries `begin` to `end` of an output of T.
template <class T>
unwritten_entries unwritten_between(const host_output& output, std::int64_t begin, std::int64_t end) {
  const T mark = poison<T>();
  // The mark is a NaN: its bits tell, not its value.
  const auto is_mark = [&mark](const T& entry) {
    return std::memcmp(&entry, &mark, sizeof(T)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison)
  };
  const element_order& order = output.order;
  unwritten_entries result;
  while (begin < end) {
    const std::int64_t row = order.innermost_extent(), stride = order.innermost_stride();
    const std::int64_t length = std::min(end - begin, row - begin % row);
    const T* const entries = static_cast<const T*>(output.data) + order.offset(begin);
    unwritten_entries here;
    for (std::int64_t i = 0; i < length; ++i) here.count += is_mark(entries[i * stride]) ? 1 : 0;
    if (here.count > 0) {
      std::int64_t i = 0;
      while (!is_mark(entries[i * stride])) ++i;
      here.first = begin + i;
    }
    result.add(here);
    begin += length;
  }
  return result;
}

/// What of the outputs was never written, or an empty string.
std::string describe_unwritten(const std::vector<host_output>& outputs) {
  constexpr std::int64_t piece = 1 << 16;
  for (const host_output& output : outputs) {
    if (output.data == nullptr) continue;
    const std::size_t threads = threads_for((output.count + piece - 1) / piece);
    std::vector<unwritten_entries> found(threads);
    run_on_threads(threads, [&](std::size_t thread) {
      const auto bound = [&](std::size_t of) {
        return output.count / static_cast<std::int64_t>(threads) * static_cast<std::int64_t>(of);
      };
      const std::int64_t end = thread + 1 == threads ? output.count : bound(thread + 1);
      found[thread] = with_element_type(output.specification, output.type,
                                        [&]<class T>(T) { return unwritten_between<T>(output, bound(thread), end); });
    });
    unwritten_entries all;
    for (const unwritten_entries& each : found) all.add(each);
    if (all.count == 0) continue;
    return std::to_string(all.count) + " of " + std::to_string(output.count) + " entries of " +
           output.specification.name + " were never written, the first at " + std::to_string(all.first);
  }
  return {};
}

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
    std::vector<reference_entry> scratch;
    for (std::int64_t step = next++; step < checked_parts; step = next++) {
      const std::int64_t part = checked_parts <= 1 ? 0 : (parts - 1) * step / (checked_parts - 1);
      scratch.clear();
      for (const reference_entry& expected : reference(part, scratch)) worst.take(outputs, expected);
    }
  };
  const std::size_t threads = threads_for(checked_parts);
  std::vector<worst_entry> worst(threads);
  run_on_threads(threads, [&](std::size_t thread) { look_at_parts(worst[thread]); });

  for (const worst_entry& found : worst) {
    result.checked += found.checked;
    const bool worse = !std::isnan(result.error) && (found.error > result.error || std::isnan(found.error));
    if (worse) {
      result.error = found.error;
      result.message = found.message;
    }
  }
  if (std::string unwritten = describe_unwritten(outputs); !unwritten.empty()) {
    result.error = std::numeric_limits<double>::quiet_NaN();
    result.message = std::move(unwritten);
  }
  result.verified = result.error <= result.error_bound;
  return result;
}

}  // namespace prumo::cases::detail
