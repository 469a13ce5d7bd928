// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The probes `read` and `write`: how fast a space reads an array, and how fast it writes one. Each has several
/// implementations, which are ways to do the same. The ceiling is the fastest of them.

#include "probe_case.hpp"
#include "read_kernel.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace prumo::cases {

template <class Exec>
struct read_case final : probe_case<Exec> {
  static constexpr bool on_host = is_host_space<Exec>;

  case_info info() const override {
    case_info result = read_case::probe_info("read", "reads x once: the ceiling of memory for what writes little",
                                             {{"n", "elements of x", 0}});
    if (!on_host) result.implementations.assign(std::begin(probe::read_way_names), std::end(probe::read_way_names));
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::int64_t n = extents.at("n");
    return {{"x", array_role::input, {n}}, {"output", array_role::output, {entries_of(n)}}};
  }

  /// The output is left out: it is a hundredth of the input at most, and what of it is sums depends on the way.
  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto n = static_cast<double>(extents.at("n"));
    return {n * static_cast<double>(dtype_size(type)), n, n};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    with_probed_type(choice.type, [&]<class T>(T) { launch<T>(ctx, choice, arrays); });
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return entries_of(extents.at("n"));
  }

  /// The sum of a part as long as a device has in the way with the fewest.
  /// The parts are those of the way.
  bool has_reference_for_each_implementation() const override { return true; }

  double reference_part_cost(const shape& extents, const parameters&) const override {
    std::int64_t fewest = entries_of(extents.at("n"));
    if constexpr (!on_host) {
      for (const probe::read_way way : probe::read_ways) {
        fewest = std::min(fewest, probe::read_shares::of(way, extents.at("n") / pack_elements(dtype::f32)).parts());
      }
    }
    return 20.0 * static_cast<double>(extents.at("n")) / static_cast<double>(std::max<std::int64_t>(1, fewest));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t n = choice.shape.at("n");
    exact_sum sum;
    if constexpr (on_host) {
      const std::int64_t begin = part * probe::read_stretch;
      sum.add(inputs, begin, std::min(probe::read_stretch, n - begin));
    } else {
      const probe::read_shares shares = shares_of(choice);
      const std::int64_t elements = pack_elements(choice.type);
      if (part >= shares.parts()) {
        out.push_back({1, part, 0, 0});  // a way with more parts has a sum there
        return;
      }
      const std::int64_t first_thread = part * probe::read_part_threads;
      const std::int64_t begin = first_thread / probe::read_shares::team_threads * shares.team_stride;
      const std::int64_t end = std::min(shares.packs, begin + shares.length);
      for (std::int64_t at = begin + first_thread % probe::read_shares::team_threads; at < end; at += shares.step) {
        sum.add(inputs, at * elements, std::min<std::int64_t>(probe::read_part_threads, end - at) * elements);
      }
      if (part == 0) sum.add(inputs, shares.packs * elements, n - shares.packs * elements);
    }
    out.push_back({1, part, sum.value, gamma(choice.type, static_cast<double>(sum.count + 64)) * sum.magnitude});
  }

  flop_counts count_kernel(const specification& choice) const override {
    flop_counts counts;
    with_probed_type(choice.type, [&]<class T>(T) { count_with<T>(choice, counts); });
    return counts;
  }

  /// Counted as in the host's kernel: an addition for each element, and the additions that join the lanes at the end.
  flop_counts count_closed_form(const specification& choice) const override {
    const std::int64_t n = choice.shape.at("n"), stretch = probe::read_stretch;
    const std::int64_t lanes =
        choice.type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>;
    const std::int64_t of_whole = n / stretch * prumo::detail::lane_combinations(stretch, lanes);
    const std::int64_t of_last = n % stretch == 0 ? 0 : prumo::detail::lane_combinations(n % stretch, lanes);
    flop_counts counts;
    counts[flop_kind::add] = static_cast<std::uint64_t>(n + of_whole + of_last);
    return counts;
  }

 private:
  /// The sum of an output's entry. Each of its elements takes part in at most as many additions as there are elements,
  /// whatever their order is, and in the few that join threads or lanes.
  struct exact_sum {
    long double value = 0;
    long double magnitude = 0;
    std::int64_t count = 0;

    void add(const input_values& inputs, std::int64_t begin, std::int64_t length) {
      std::vector<double> numbers(static_cast<std::size_t>(std::max<std::int64_t>(0, length)));
      inputs.read(0, begin, numbers);
      for (const double number : numbers) {
        value += static_cast<long double>(number);
        magnitude += static_cast<long double>(std::fabs(number));
      }
      count += std::ssize(numbers);
    }
  };

  static std::int64_t pack_elements(dtype type) { return 16 / static_cast<std::int64_t>(dtype_size(type)); }

  static probe::read_shares shares_of(const specification& choice) {
    const auto* const found = std::ranges::find(probe::read_way_names, choice.implementation);
    if (found == std::end(probe::read_way_names))
      throw argument_error("read: there is no way " + choice.implementation);
    const auto way = static_cast<probe::read_way>(found - std::begin(probe::read_way_names));
    return probe::read_shares::of(way, choice.shape.at("n") / pack_elements(choice.type));
  }

  /// Entries of the output.
  static std::int64_t entries_of(std::int64_t n) { return on_host ? probe::read_stretches(n) : probe::read_entries(n); }

  template <class T>
  static void launch(context<Exec>& ctx, const specification& choice, case_arrays arrays) {
    static const std::string label = "prumo::probe::read";
    const auto* const source = arrays[0].as<const T>();
    const std::int64_t n = choice.shape.at("n");
    if (n == 0) return;
    auto* const partial_sums = arrays[1].as<T>();
    if constexpr (on_host) {
      prumo::detail::launch_blocks(ctx.instance(), label, probe::read_stretch_kernel<T>{source, n, partial_sums});
    } else {
      const probe::read_shares shares = shares_of(choice);
      if (shares.step == probe::read_shares::team_threads) {
        const probe::read_device_kernel<T, true> kernel(source, n, shares, partial_sums, entries_of(n));
        prumo::detail::launch_blocks(ctx.instance(), label, kernel);
      } else {
        const probe::read_device_kernel<T, false> kernel(source, n, shares, partial_sums, entries_of(n));
        prumo::detail::launch_blocks(ctx.instance(), label, kernel);
      }
    }
  }

  /// A part at a time in bounded memory.
  template <class T>
  static void count_with(const specification& choice, flop_counts& counts) {
    using counting = counted<T>;
    constexpr std::int64_t length = probe::read_stretch;
    const std::int64_t n = choice.shape.at("n");
    const input_values inputs(choice);
    std::vector<double> numbers;
    std::vector<counting> source(static_cast<std::size_t>(length));
    for (std::int64_t begin = 0; begin < n; begin += length) {
      numbers.resize(static_cast<std::size_t>(std::min(length, n - begin)));
      inputs.read(0, begin, numbers);
      std::transform(numbers.begin(), numbers.end(), source.begin(),
                     [](double number) { return counting(static_cast<T>(number)); });
      counting partial_sum;
      const counting_scope scope(counts);
      probe::read_stretch_kernel<counting>{source.data(), std::ssize(numbers), &partial_sum}(0);
    }
  }
};

template <class T>
struct write_formula {
  KOKKOS_FUNCTION T operator()() const { return T(0.75f); }
};

/// On a host the ways are stores that go past the caches and stores that do not. On a device a thread stores one pack
/// of 16 bytes, or four of them.
template <class Exec>
struct write_case final : writing_probe_case<write_case<Exec>, Exec> {
  static constexpr bool on_host = is_host_space<Exec>;
  static constexpr long double written = 0.75L;

  case_info info() const override {
    case_info result = write_case::probe_info("write", "writes y once: the ceiling of memory for what reads nothing",
                                              {{"n", "elements of y", 0}});
    result.implementations = {first_way, second_way};
    if (on_host && !prumo::detail::has_streaming_stores) result.implementations.resize(1);
    return result;
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    with_probed_type(choice.type, [&]<class T>(T) { launch<T>(ctx, choice, arrays); });
  }

 private:
  static constexpr const char* first_way = on_host ? "cached" : "single_packs";
  static constexpr const char* second_way = on_host ? "streamed" : "four_packs";

  template <class T>
  static void launch(context<Exec>& ctx, const specification& choice, case_arrays arrays) {
    static const std::string label = "prumo::probe::write";
    using outputs = prumo::detail::output_pointers<T>;
    const std::int64_t n = choice.shape.at("n");
    if (n == 0) return;
    const outputs to{arrays[0].as<T>()};
    const bool is_second = choice.implementation == second_way;
    if constexpr (on_host) {
      const prumo::detail::contiguous_host_kernel<write_formula<T>, T> kernel(
          {}, to, {}, n, concurrency_of(ctx.instance()), is_second);
      prumo::detail::launch_blocks(ctx.instance(), label, kernel);
    } else {
      const auto launch_packs = [&]<int Packs> {
        using kernel = prumo::detail::contiguous_device_kernel<Packs, 256, write_formula<T>, T>;
        for (std::int64_t begin = 0; begin < n; begin += kernel::most_elements) {
          prumo::detail::launch_blocks(ctx.instance(), label,
                                       kernel({}, to.from(begin), {}, std::min(n - begin, kernel::most_elements)));
        }
      };
      if (is_second) {
        launch_packs.template operator()<4>();
      } else {
        launch_packs.template operator()<1>();
      }
    }
  }
};

}  // namespace prumo::cases
