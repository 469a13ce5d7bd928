// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peer_case.hpp"

#include "philox.hpp"
#include "reference.hpp"
#include <prumo/detail/huge_pages.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

namespace prumo::peers {
namespace {

constexpr std::size_t cache_line = 64;

/// Fewer entries are written sooner by one thread than threads are started. Small arrays have millions of copies where
/// the last-level cache is large, and each of them is filled by itself.
constexpr std::int64_t fewest_for_threads = std::int64_t{1} << 13;

void* allocate(std::size_t bytes) {
  void* const memory =
      std::aligned_alloc(cache_line, std::max(cache_line, (bytes + cache_line - 1) / cache_line * cache_line));
  if (memory == nullptr) throw std::bad_alloc();
  prumo::detail::prefer_huge_pages(memory, bytes);
  return memory;
}

template <class T>
void fill_uniform(T* data, std::int64_t count, std::uint64_t seed, std::uint64_t stream, bool positive) {
  constexpr std::int64_t lanes = values_per_block<T>;
#pragma omp parallel for schedule(static) if (count >= fewest_for_threads)
  for (std::int64_t block = 0; block < (count + lanes - 1) / lanes; ++block) {
    const philox_block words = philox4x32_10(seed, stream, static_cast<std::uint64_t>(block));
    const std::int64_t end = std::min(count, (block + 1) * lanes);
    for (std::int64_t i = block * lanes; i < end; ++i) {
      const auto value = value_in<T>(words, static_cast<int>(i - block * lanes));
      data[i] = exactly<T>(positive ? std::fabs(value) : value);
    }
  }
}

template <class T>
void fill_nan(T* data, std::int64_t count) {
  const T nan = exactly<T>(std::numeric_limits<float>::quiet_NaN());
#pragma omp parallel for schedule(static) if (count >= fewest_for_threads)
  for (std::int64_t i = 0; i < count; ++i) data[i] = nan;
}

/// The number of entries that are NaN, because they were not written or went wrong.
template <class T>
std::int64_t count_nan(const T* data, std::int64_t count) {
  std::int64_t found = 0;
#pragma omp parallel for schedule(static) reduction(+ : found)
  for (std::int64_t i = 0; i < count; ++i) found += std::isnan(widened(data[i])) ? 1 : 0;
  return found;
}

/// The largest error of `checked` entries, in multiples of their bounds. If these are not all entries, they are evenly
/// spread, with the first and the last one.
template <class T>
double worst_error(const reference& shared, const T* result, std::int64_t entries, std::int64_t checked) {
  double worst = 0;
#pragma omp parallel reduction(max : worst)
  {
    reference own = shared;
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < checked; ++i) {
      const std::int64_t index = checked == entries ? i
                                                    : static_cast<std::int64_t>(static_cast<long double>(i) /
                                                                                static_cast<long double>(checked - 1) *
                                                                                static_cast<long double>(entries - 1));
      const expected_entry wanted = own.at(index);
      const long double off = std::fabs(static_cast<long double>(widened(result[index])) - wanted.value);
      const auto error = off == 0 ? 0.0 : wanted.bound > 0 ? static_cast<double>(off / wanted.bound) : 1e300;
      worst = std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace

void peer_case::release_memory::operator()(void* memory) const { std::free(memory); }

peer_case::peer_case(framework& computes, const operation& what, const implementation& how, dtype type,
                     const call& extents, std::uint64_t seed, std::size_t copies)
    : computes_(computes),
      what_(what),
      how_(how),
      type_(type),
      seed_(seed),
      arrays_(arrays_of(what, type, extents)),
      sampler_(*this, copies) {
  for (std::size_t copy = 0; copy < copies; ++copy) {
    calls_.push_back(extents);
    for (std::size_t array = 0; array < arrays_.size(); ++array) {
      memory_.emplace_back(allocate(static_cast<std::size_t>(arrays_[array].elements) * bytes_of(arrays_[array].type)));
      calls_.back().arrays[array] = memory_.back().get();
    }
  }
  functions_ = computes.bind(what, how, type, calls_);
  for (std::size_t copy = 0; copy < copies; ++copy) fill(copy);
}

void peer_case::fill(std::size_t copy) {
  for (std::size_t array = 0; array < arrays_.size(); ++array) {
    with_type(arrays_[array].type, [&]<class T>(T) {
      T* const data = static_cast<T*>(calls_[copy].arrays[array]);
      if (arrays_[array].is_input) {
        fill_uniform(data, arrays_[array].elements, seed_, array, what_.positive_inputs);
      } else {
        fill_nan(data, arrays_[array].elements);
      }
    });
  }
}

protocol::verify_answer peer_case::verify(double budget) {
  sampler_.calibrate();
  const std::size_t copy = sampler_.last_copy();
  const call& extents = calls_[copy];
  const array_extent& output = arrays_.back();
  fill(copy);
  if (output.is_input) {
    enqueue(copy);  // the reference knows the result of one call only
    fence();
  } else {
    sampler_.run_interval();
  }

  const reference wanted(what_, how_, type_, extents, seed_);
  const auto entries = static_cast<double>(output.elements);
  const bool all = entries * wanted.cost_of_neighbour() <= budget;
  const double affordable = std::clamp(budget / wanted.cost_alone(), std::min(16.0, entries), entries);
  const std::int64_t checked = all ? output.elements : static_cast<std::int64_t>(affordable);

  protocol::verify_answer answer;
  answer.error_bound = 1;
  answer.dispatch = "single";
  answer.checked = static_cast<std::uint64_t>(checked);
  answer.method = checked == output.elements ? "all" : "sampled";
  double error = 0;
  const std::int64_t missing = with_type(output.type, [&]<class T>(T) {
    const T* const result = static_cast<const T*>(extents.arrays[arrays_.size() - 1]);
    error = worst_error(wanted, result, output.elements, checked);
    return count_nan(result, output.elements);
  });
  if (missing > 0) {
    answer.message = std::to_string(missing) + " entries are NaN or were not written";
    return answer;
  }
  answer.error = error;
  answer.verified = error <= *answer.error_bound;
  if (!answer.verified) answer.message = "the result is off by " + std::to_string(error) + " times its bound";
  return answer;
}

}  // namespace prumo::peers
