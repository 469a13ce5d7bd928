// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The losses on a device: a group of threads takes a row, a team some rows. Each team's sums go to memory, and the
/// last team to arrive adds them up in their order. The group and the number of teams follow from the extents alone.

#include "loss_element.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/arrival_counters.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::detail {

struct join_loss_sums {
  template <class C>
  KOKKOS_FUNCTION C operator()(C a, C b) const {
    return a + b;
  }
};
struct join_loss_maxima {
  template <class C>
  KOKKOS_FUNCTION C operator()(C a, C b) const {
    return prumo::maximum(a, b);
  }
};

inline constexpr int loss_team_threads = 256;
/// Scores that a thread loads before it computes with the first one.
inline constexpr int loss_scores_at_once = 4;

/// The threads of a row.
constexpr int loss_group_threads(std::int64_t classes) {
  return group_threads((classes + loss_scores_at_once - 1) / loss_scores_at_once, loss_team_threads);
}

/// How often a group takes a row: once, unless there would be more than 4096 teams.
constexpr std::int64_t loss_rounds_of_team(std::int64_t rows, std::int64_t classes) {
  constexpr std::int64_t most_teams = 4096;
  const std::int64_t at_once = loss_team_threads / loss_group_threads(classes);
  return (rows + at_once * most_teams - 1) / (at_once * most_teams);
}

template <loss_kind Kind, class T>
class loss_device_kernel {
  using C = compute_t<T>;
  static constexpr int at_once = loss_scores_at_once;

 public:
  static constexpr int most_threads = loss_team_threads;
  static constexpr int resident_teams = 4;

  loss_device_kernel(const loss_problem<T>& problem)
      : problem_(problem),
        group_(loss_group_threads(problem.classes)),
        rounds_(loss_rounds_of_team(problem.rows, problem.classes)),
        scale_(static_cast<C>(problem.scale)) {}

  /// Where the sums of the teams go, if there are several, and the counter of the teams that have arrived.
  void set_memory(loss_sums* parts, unsigned* counter) {
    parts_ = parts;
    counter_ = counter;
  }

  std::int64_t blocks() const { return (problem_.rows + rows_of_team() - 1) / rows_of_team(); }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const {
    return join_scratch<double>::bytes_for(most_threads) + join_scratch<C>::bytes_for(most_threads) + sizeof(int);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<double> of_sums = team_join_scratch<double>(member, most_threads);
    join_scratch<C> scratch = team_join_scratch<C>(member, most_threads);
    int* const flag = team_scratch_array<int>(member, 1);
    const int lane = member.team_rank() & (group_ - 1);
    const int groups = most_threads / group_;
    const std::int64_t first = static_cast<std::int64_t>(member.league_rank()) * rows_of_team();
    double loss = 0, correct = 0;
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t round = 0; round < rounds_; ++round) {
      const std::int64_t row = first + round * groups + member.team_rank() / group_;
      bool is_right = false;
      const C of_row = compute_row(member, scratch, row, lane, is_right);
      if (lane == 0 && row < problem_.rows) {
        loss += static_cast<double>(of_row);
        correct += is_right ? 1 : 0;
      }
    }
    loss = join_group(member, of_sums, most_threads, loss, join_loss_sums{});
    correct = join_group(member, of_sums, most_threads, correct, join_loss_sums{});
    if (member.league_size() > 1) {
      if (member.team_rank() == 0) parts_[member.league_rank()] = {loss, correct};
      if (!arrive_last(member, flag, counter_, member.league_size())) return;
      loss = correct = 0;
      for (std::int64_t part = member.team_rank(); part < member.league_size(); part += most_threads) {
        loss += parts_[part].loss;
        correct += parts_[part].correct;
      }
      loss = join_group(member, of_sums, most_threads, loss, join_loss_sums{});
      correct = join_group(member, of_sums, most_threads, correct, join_loss_sums{});
    }
    if (member.team_rank() == 0) {
      problem_.sums[0] += loss;
      problem_.sums[problem_.sum_stride] += correct;
    }
  }

 private:
  /// The loss of a row, in all its threads. A row beyond the last one has no classes, and no thread reads or writes.
  template <class Member>
  KOKKOS_FUNCTION C compute_row(const Member& member, join_scratch<C>& scratch, std::int64_t row, int lane,
                                bool& is_right) const {
    const bool is_row = row < problem_.rows;
    const std::int64_t classes = is_row ? problem_.classes : 0;
    const T* const scores = problem_.scores + (is_row ? row : 0) * problem_.score_row_stride;
    T* const gradient = problem_.gradient + (is_row ? row : 0) * problem_.gradient_row_stride;
    const std::int64_t label = is_row ? problem_.label_of(row) : -1;
    const C nan = Kokkos::Experimental::quiet_NaN_v<C>;
    // Without a label all that follows is NaN.
    const C of_label = label < 0 ? nan : static_cast<C>(scores[label * problem_.score_column_stride]);
    C beaten = of_label == of_label ? C(0) : C(1);  // NOLINT(misc-redundant-expression)
    C result(0);
    if constexpr (Kind == loss_kind::softmax) {
      const C lowest = -Kokkos::Experimental::infinity_v<C>;
      C largest = lowest, total(0);
      for (std::int64_t begin = lane; begin < classes; begin += std::int64_t{at_once} * group_) {
        C values[at_once];
        load(scores, begin, classes, lowest, values);
        count_beaten(begin, classes, label, of_label, values, beaten);
        C highest = largest;
        PRUMO_UNROLL
        for (int i = 0; i < at_once; ++i) highest = prumo::maximum(highest, values[i]);
        // Nothing but -infinity so far: exponentials of -infinity are 0, and not those of a difference of infinities.
        const C shift = highest == lowest ? C(0) : highest;
        total = total * prumo::exp(largest - shift);
        PRUMO_UNROLL
        for (int i = 0; i < at_once; ++i) total = total + prumo::exp(values[i] - shift);
        largest = highest;
      }
      const C of_row = join_group(member, scratch, group_, largest, join_loss_maxima{});
      if (largest != of_row) total = total * prumo::exp(largest - of_row);
      total = join_group(member, scratch, group_, total, join_loss_sums{});
      beaten = join_group(member, scratch, group_, beaten, join_loss_sums{});
      const C inverse = C(1) / total;
      const C factor = label < 0 ? nan : inverse * scale_;
      for (std::int64_t begin = lane; begin < classes; begin += std::int64_t{at_once} * group_) {
        C values[at_once];
        load(scores, begin, classes, lowest, values);
        PRUMO_UNROLL
        for (int i = 0; i < at_once; ++i) {
          const C exponential = prumo::exp(values[i] - of_row);
          const bool is_label = begin + std::int64_t{i} * group_ == label;
          values[i] = is_label ? prumo::fma(exponential, inverse, C(-1)) * scale_ : exponential * factor;
        }
        store(gradient, begin, classes, values);
      }
      result = prumo::log(total) + (of_row - of_label);
    } else {
      // Nothing is written before all threads have compared with the score of the label, which may lie where the
      // gradient goes.
      for (std::int64_t begin = lane; begin < classes; begin += std::int64_t{at_once} * group_) {
        C values[at_once];
        load(scores, begin, classes, C(0), values);
        count_beaten(begin, classes, label, of_label, values, beaten);
      }
      beaten = join_group(member, scratch, group_, beaten, join_loss_sums{});
      const C factor = label < 0 ? nan : scale_;
      for (std::int64_t begin = lane; begin < classes; begin += std::int64_t{at_once} * group_) {
        C values[at_once];
        load(scores, begin, classes, C(0), values);
        PRUMO_UNROLL
        for (int i = 0; i < at_once; ++i) {
          const std::int64_t place = begin + std::int64_t{i} * group_;
          if (place >= classes) continue;
          const bool is_label = place == label;
          if (is_label) values[i] = Kind == loss_kind::sigmoid ? -values[i] : values[i] - C(1);
          const loss_element<C> of_class = loss_of_element<Kind>(values[i]);
          result = result + of_class.loss;
          values[i] = (is_label && Kind == loss_kind::sigmoid ? -of_class.gradient : of_class.gradient) * factor;
        }
        store(gradient, begin, classes, values);
      }
      result = join_group(member, scratch, group_, result, join_loss_sums{});
      if (label < 0) result = nan;
    }
    is_right = beaten == C(0);
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION void load(const T* scores, std::int64_t begin, std::int64_t classes, C filling,
                                        C (&values)[at_once]) const {
    PRUMO_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t place = begin + std::int64_t{i} * group_;
      values[i] = place < classes ? static_cast<C>(scores[place * problem_.score_column_stride]) : filling;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(T* gradient, std::int64_t begin, std::int64_t classes,
                                         const C (&values)[at_once]) const {
    PRUMO_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t place = begin + std::int64_t{i} * group_;
      if (place < classes) gradient[place * problem_.gradient_column_stride] = static_cast<T>(values[i]);
    }
  }

  /// Counts the classes that keep the label from being the first of the largest.
  KOKKOS_FORCEINLINE_FUNCTION void count_beaten(std::int64_t begin, std::int64_t classes, std::int64_t label,
                                                C of_label, const C (&values)[at_once], C& beaten) const {
    PRUMO_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t place = begin + std::int64_t{i} * group_;
      if (place >= classes || place == label) continue;
      const bool is_less = place < label ? values[i] < of_label : values[i] <= of_label;
      beaten = is_less ? beaten : C(1);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t rows_of_team() const { return most_threads / group_ * rounds_; }

  loss_problem<T> problem_;
  int group_;
  std::int64_t rounds_;
  C scale_;
  loss_sums* parts_ = nullptr;
  unsigned* counter_ = nullptr;
};

}  // namespace prumo::detail
