// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loop_case.hpp"

#include "philox.hpp"
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

namespace prumo::peers {
namespace {

constexpr std::size_t cache_line = 64;

void* allocate(std::size_t bytes) {
  void* const memory =
      std::aligned_alloc(cache_line, std::max(cache_line, (bytes + cache_line - 1) / cache_line * cache_line));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

template <class T>
void fill_uniform(T* data, std::int64_t count, std::uint64_t seed, std::uint64_t stream, bool positive) {
  constexpr std::int64_t lanes = values_per_block<T>;
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < (count + lanes - 1) / lanes; ++block) {
    const philox_block words = philox4x32_10(seed, stream, static_cast<std::uint64_t>(block));
    const std::int64_t end = std::min(count, (block + 1) * lanes);
    for (std::int64_t i = block * lanes; i < end; ++i) {
      const T value = value_in<T>(words, static_cast<int>(i - block * lanes));
      data[i] = positive ? std::fabs(value) : value;
    }
  }
}

template <class T>
void fill_nan(T* data, std::int64_t count) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) data[i] = std::numeric_limits<T>::quiet_NaN();
}

/// How many entries hold a NaN, that is, were not written or went wrong.
template <class T>
std::int64_t count_nan(const T* data, std::int64_t count) {
  std::int64_t found = 0;
#pragma omp parallel for schedule(static) reduction(+ : found)
  for (std::int64_t i = 0; i < count; ++i) found += std::isnan(data[i]) ? 1 : 0;
  return found;
}

}  // namespace

void loop_case::release_memory::operator()(void* memory) const { std::free(memory); }

loop_case::loop_case(const operation& what, const implementation& how, const call& extents, bool is_double,
                     std::uint64_t seed, std::size_t copies)
    : what_(what),
      how_(how),
      is_double_(is_double),
      seed_(seed),
      run_(is_double ? how.f64 : how.f32),
      arrays_(arrays_of(what, extents)),
      sampler_(*this, copies) {
  const std::size_t value_bytes = is_double ? sizeof(double) : sizeof(float);
  for (std::size_t copy = 0; copy < copies; ++copy) {
    calls_.push_back(extents);
    for (std::size_t array = 0; array < arrays_.size(); ++array) {
      memory_.emplace_back(allocate(static_cast<std::size_t>(arrays_[array].elements) * value_bytes));
      calls_.back().arrays[array] = memory_.back().get();
    }
    if (is_double) {
      fill<double>(copy);
    } else {
      fill<float>(copy);
    }
  }
}

template <class T>
void loop_case::fill(std::size_t copy) {
  for (std::size_t array = 0; array < arrays_.size(); ++array) {
    T* const data = static_cast<T*>(calls_[copy].arrays[array]);
    if (arrays_[array].is_input) {
      fill_uniform(data, arrays_[array].elements, seed_, array, what_.positive_inputs);
    } else {
      fill_nan(data, arrays_[array].elements);
    }
  }
}

protocol::verify_answer loop_case::verify(double budget) {
  return is_double_ ? verify_as<double>(budget) : verify_as<float>(budget);
}

template <class T>
protocol::verify_answer loop_case::verify_as(double budget) {
  fill<T>(0);
  run_(calls_.front());

  const call& extents = calls_.front();
  const T* const result = static_cast<const T*>(extents.arrays[arrays_.size() - 1]);
  const std::int64_t entries = arrays_.back().elements;
  const double affordable = std::max(16.0, budget / reference_cost(what_, extents));
  const std::int64_t checked =
      affordable < static_cast<double>(entries) ? static_cast<std::int64_t>(affordable) : entries;

  protocol::verify_answer answer;
  answer.error_bound = 1;
  answer.checked = static_cast<std::uint64_t>(checked);
  answer.method = checked == entries ? "all" : "sampled";
  double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (std::int64_t i = 0; i < checked; ++i) {
    // Evenly spread, the first and the last entry among them.
    const std::int64_t index = checked == entries ? i
                                                  : static_cast<std::int64_t>(static_cast<long double>(i) /
                                                                              static_cast<long double>(checked - 1) *
                                                                              static_cast<long double>(entries - 1));
    const expected_entry wanted = expected<T>(what_, how_, extents, seed_, index);
    const long double off = std::fabs(static_cast<long double>(result[index]) - wanted.value);
    const auto error = off == 0 ? 0.0 : wanted.bound > 0 ? static_cast<double>(off / wanted.bound) : 1e300;
    worst = std::max(worst, error);
  }
  answer.error = worst;
  if (const std::int64_t missing = count_nan(result, entries); missing > 0) {
    answer.error = std::numeric_limits<double>::quiet_NaN();
    answer.message = std::to_string(missing) + " entries are NaN or were not written";
  } else if (worst > 1) {
    answer.message = "the result is off by " + std::to_string(worst) + " times its bound";
  }
  answer.verified = answer.error <= answer.error_bound;
  return answer;
}

}  // namespace prumo::peers
