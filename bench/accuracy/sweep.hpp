// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Runs functions over all arguments of a type of 32 or 16 bits, whose results are judged where the operation runs, and
/// over samples of double, whose results are judged on the host.

#include "hard_arguments.hpp"
#include "judgement.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace prumo::accuracy {

/// Called now and then with the part of a sweep that is done, from 0 to 1.
using progress_function = std::function<void(double)>;

template <class T>
struct consecutive_kernel {
  T* x;
  std::uint64_t first, stride;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    x[index] = from_bits<T>(first + static_cast<std::uint64_t>(index) * stride);
  }
};

template <class T>
struct judging_kernel {
  using value_type = tally;
  const T* x;
  const T* y;
  function which;
  KOKKOS_FUNCTION void operator()(std::int64_t index, tally& found) const {
    judge<T, double>(which, x[index], y[index], found);
  }
  KOKKOS_FUNCTION void init(tally& found) const { found = tally{}; }
  KOKKOS_FUNCTION void join(tally& found, const tally& other) const { found.join(other); }
};

/// The same for double, on the host, because its long double is wider.
struct judging_doubles {
  using value_type = tally;
  const double* x;
  const double* y;
  function which;
  void operator()(std::int64_t index, tally& found) const {
    judge<double, long double>(which, x[index], y[index], found);
  }
  void init(tally& found) const { found = tally{}; }
  void join(tally& found, const tally& other) const { found.join(other); }
};

/// Whether this host can judge results of double.
inline constexpr bool has_wider_than_double = std::numeric_limits<long double>::digits >= 64;

/// Runs operations over arguments on one instance. Each function blocks until its tally is there.
template <class Exec>
class sweeper {
 public:
  explicit sweeper(const Exec& instance) : context_(instance) {}

  /// Every `stride`-th argument of T, a type of 32 or 16 bits, from 0 on in the order of the bits.
  template <class T>
  tally all_arguments(function which, std::uint64_t stride, const progress_function& progress) {
    static_assert(sizeof(T) <= 4);
    const std::uint64_t total = ((std::uint64_t{1} << (8 * sizeof(T))) - 1) / stride + 1;
    const auto length = static_cast<std::int64_t>(std::min(total, chunk));
    const Kokkos::View<T*, Exec> x(Kokkos::view_alloc(Kokkos::WithoutInitializing, "x"), length);
    const Kokkos::View<T*, Exec> y(Kokkos::view_alloc(Kokkos::WithoutInitializing, "y"), length);
    tally found;
    for (std::uint64_t begin = 0; begin < total; begin += chunk) {
      const auto count = static_cast<std::int64_t>(std::min(chunk, total - begin));
      const auto part = Kokkos::pair<std::int64_t, std::int64_t>(0, count);
      const policy<Exec> range(context_.instance(), 0, count);
      Kokkos::parallel_for("prumo::accuracy::consecutive", range,
                           consecutive_kernel<T>{x.data(), begin * stride, stride});
      enqueue(which, context_, Kokkos::subview(x, part), Kokkos::subview(y, part));
      tally here;
      Kokkos::parallel_reduce("prumo::accuracy::judge", range, judging_kernel<T>{x.data(), y.data(), which}, here);
      context_.fence();
      found.join(here);
      progress(static_cast<double>(begin + static_cast<std::uint64_t>(count)) / static_cast<double>(total));
    }
    return found;
  }

  /// `samples` arguments of double of each kind of hard_arguments().
  tally sampled_doubles(function which, std::uint64_t samples, std::uint64_t seed, const progress_function& progress) {
    tally found;
    std::uint64_t done = 0;
    const std::uint64_t total = argument_kinds * samples;
    for (int kind = 0; kind < argument_kinds; ++kind) {
      for (std::uint64_t begin = 0; begin < samples; begin += chunk) {
        const std::uint64_t count = std::min(chunk, samples - begin);
        const std::vector<double> arguments = hard_arguments(which, kind, seed, begin, count);
        const std::vector<double> results = results_of<double>(which, arguments);
        tally here;
        const policy<host> range(host(), 0, static_cast<std::int64_t>(count));
        Kokkos::parallel_reduce("prumo::accuracy::judge", range,
                                judging_doubles{arguments.data(), results.data(), which}, here);
        found.join(here);
        done += count;
        progress(static_cast<double>(done) / static_cast<double>(total));
      }
    }
    return found;
  }

  /// The operation's results of some arguments.
  template <class T>
  std::vector<T> results_of(function which, const std::vector<T>& arguments) {
    using unmanaged = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    using unmanaged_const = Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    const Kokkos::View<T*, Exec> x("x", arguments.size());
    const Kokkos::View<T*, Exec> y("y", arguments.size());
    std::vector<T> results(arguments.size());
    Kokkos::deep_copy(context_.instance(), x, unmanaged_const(arguments.data(), arguments.size()));
    enqueue(which, context_, x, y);
    Kokkos::deep_copy(context_.instance(), unmanaged(results.data(), results.size()), y);
    context_.fence();
    return results;
  }

 private:
  using host = Kokkos::DefaultHostExecutionSpace;
  template <class Space>
  using policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

  /// The number of arguments evaluated at once: enough for any GPU, and few enough for a processor's caches.
  static constexpr std::uint64_t chunk = std::uint64_t{1} << 21;

  context<Exec> context_;
};

}  // namespace prumo::accuracy
