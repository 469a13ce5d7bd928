// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The losses on a host. A block computes a part of the rows, one after the other; another kernel joins the sums of the
/// parts in their order.
///
/// A row goes through a buffer, a chunk of classes at a time. The buffer is filled up to whole vectors with a score
/// that adds nothing to sums, because most nets have some ten classes, which would be a rest of a vector.

#include "loss_element.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The classes that a host computes at once.
inline constexpr std::int64_t loss_chunk = 512;

/// Sums that grow side by side: vectors of 64 bytes. Scalars that count have one, so that no filling is counted.
template <class C>
inline constexpr std::int64_t loss_lanes = std::is_floating_point_v<C> ? static_cast<std::int64_t>(64 / sizeof(C)) : 1;

/// The type of the sum over rows.
template <class C>
struct loss_sum {
  using type = double;
};
template <class T>
struct loss_sum<counted<T>> {
  using type = counted<double>;
};

inline double plain_number(double value) { return value; }
template <class T>
double plain_number(counted<T> value) {
  return static_cast<double>(value.value());
}

template <loss_kind Kind, class T>
class loss_host_kernel {
  using C = compute_t<T>;
  using P = plain_scalar_t<C>;
  using sum_type = typename loss_sum<C>::type;
  static constexpr std::int64_t lanes = loss_lanes<C>;
  static constexpr bool is_softmax = Kind == loss_kind::softmax;

 public:
  /// `parts` has room for the sums of every part.
  loss_host_kernel(const loss_problem<T>& problem, loss_sums* parts)
      : problem_(problem),
        parts_(parts),
        rows_of_part_(loss_rows_of_part(problem.rows, problem.classes)),
        scale_(static_cast<P>(problem.scale)) {}

  std::int64_t blocks() const { return (problem_.rows + rows_of_part_ - 1) / rows_of_part_; }

  PRUMO_FLATTEN void operator()(std::int64_t block) const {
    const std::int64_t begin = block * rows_of_part_, end = std::min(problem_.rows, begin + rows_of_part_);
    sum_type loss(0.0);
    std::int64_t correct = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      bool is_right = true;
      loss += sum_type(plain_number(compute_row(row, is_right)));
      correct += is_right ? 1 : 0;
    }
    parts_[block] = {plain_number(loss), static_cast<double>(correct)};
  }

 private:
  /// A row while it is computed.
  struct row_state {
    const T* scores;
    T* gradient;
    std::int64_t label;
    C of_label;
  };

  C compute_row(std::int64_t row, bool& is_right) const {
    row_state of{problem_.scores + row * problem_.score_row_stride,
                 problem_.gradient + row * problem_.gradient_row_stride, problem_.label_of(row), C(0)};
    if (of.label < 0) {
      is_right = false;
      const P nan = std::numeric_limits<P>::quiet_NaN();
      for (std::int64_t c = 0; c < problem_.classes; ++c) {
        of.gradient[c * problem_.gradient_column_stride] = static_cast<T>(C(nan));
      }
      return C(nan);
    }
    of.of_label = static_cast<C>(of.scores[of.label * problem_.score_column_stride]);
    if constexpr (is_softmax) {
      return compute_softmax(of, is_right);
    } else {
      return compute_elementwise(of, is_right);
    }
  }

  // Softmax: the maximum, the sum of exponentials, the gradient.

  C compute_softmax(const row_state& of, bool& is_right) const {
    const P lowest = -std::numeric_limits<P>::infinity();
    C values[loss_chunk];
    C maxima[lanes];
    for (C& each : maxima) each = C(lowest);
    std::int64_t beaten = 0;
    for_each_chunk([&](std::int64_t begin, std::int64_t count) {
      const std::int64_t filled = load(of, begin, count, C(lowest), values);
      beaten += count_beaten(of, begin, filled, values);
      for (std::int64_t k = 0; k < filled; k += lanes) {
        for (std::int64_t l = 0; l < lanes; ++l) maxima[l] = prumo::maximum(maxima[l], values[k + l]);
      }
    });
    is_right = beaten == 0;
    const C largest = joined(maxima, [](C a, C b) { return prumo::maximum(a, b); });
    C sums[lanes];
    for (C& each : sums) each = C(0);
    const bool is_kept = problem_.classes <= loss_chunk;
    for_each_chunk([&](std::int64_t begin, std::int64_t count) {
      const std::int64_t filled = is_kept ? filled_up(count) : load(of, begin, count, C(lowest), values);
      exponentials(values, filled, largest);
      for (std::int64_t k = 0; k < filled; k += lanes) {
        for (std::int64_t l = 0; l < lanes; ++l) sums[l] = sums[l] + values[k + l];
      }
    });
    const C total = joined(sums, [](C a, C b) { return a + b; });
    const C inverse = C(1) / total;
    const C factor = inverse * scale_;
    for_each_chunk([&](std::int64_t begin, std::int64_t count) {
      if (!is_kept) exponentials(values, load(of, begin, count, C(lowest), values), largest);
      const std::int64_t place = of.label - begin;
      const bool has_label = place >= 0 && place < count;
      const C exponential = has_label ? values[place] : C(0);
      for (std::int64_t k = 0; k < count; ++k) values[k] = values[k] * factor;
      if (has_label) values[place] = prumo::fma(exponential, inverse, C(-1)) * scale_;
      store(of, begin, count, values);
    });
    return prumo::log(total) + (largest - of.of_label);
  }

  static void exponentials(C* values, std::int64_t filled, C largest) {
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t k = 0; k < filled; ++k) values[k] = exp_of_nonpositive(values[k] - largest);
  }

  // The other two: each class has a loss and a gradient of its own.

  C compute_elementwise(const row_state& of, bool& is_right) const {
    const P filling = Kind == loss_kind::sigmoid ? -std::numeric_limits<P>::infinity() : P(0);
    C values[loss_chunk], losses[loss_chunk];
    C sums[lanes];
    for (C& each : sums) each = C(0);
    std::int64_t beaten = 0;
    for_each_chunk([&](std::int64_t begin, std::int64_t count) {
      const std::int64_t filled = load(of, begin, count, C(filling), values);
      beaten += count_beaten(of, begin, Kind == loss_kind::sigmoid ? filled : count, values);
      const std::int64_t place = of.label - begin;
      const bool has_label = place >= 0 && place < count;
      if (has_label) values[place] = Kind == loss_kind::sigmoid ? -values[place] : values[place] - C(1);
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t k = 0; k < filled; ++k) element(values[k], losses[k]);
      for (std::int64_t k = 0; k < filled; k += lanes) {
        for (std::int64_t l = 0; l < lanes; ++l) sums[l] = sums[l] + losses[k + l];
      }
      if (has_label && Kind == loss_kind::sigmoid) values[place] = -values[place];
      for (std::int64_t k = 0; k < count; ++k) values[k] = values[k] * scale_;
      store(of, begin, count, values);
    });
    is_right = beaten == 0;
    return joined(sums, [](C a, C b) { return a + b; });
  }

  static void element(C& value, C& loss) {
    const loss_element<C> result = loss_of_element<Kind>(value);
    value = result.gradient;
    loss = result.loss;
  }

  // What all share.

  template <class Function>
  void for_each_chunk(const Function& function) const {
    for (std::int64_t begin = 0; begin < problem_.classes; begin += loss_chunk) {
      function(begin, std::min(loss_chunk, problem_.classes - begin));
    }
  }

  static std::int64_t filled_up(std::int64_t count) { return (count + lanes - 1) / lanes * lanes; }

  std::int64_t load(const row_state& of, std::int64_t begin, std::int64_t count, C filling, C* values) const {
    const std::int64_t step = problem_.score_column_stride;
    const T* const from = of.scores + begin * step;
    if (step == 1) {
      for (std::int64_t k = 0; k < count; ++k) values[k] = static_cast<C>(from[k]);
    } else {
      for (std::int64_t k = 0; k < count; ++k) values[k] = static_cast<C>(from[k * step]);
    }
    const std::int64_t filled = filled_up(count);
    for (std::int64_t k = count; k < filled; ++k) values[k] = filling;
    return filled;
  }

  void store(const row_state& of, std::int64_t begin, std::int64_t count, const C* values) const {
    const std::int64_t step = problem_.gradient_column_stride;
    T* const to = of.gradient + begin * step;
    if (step == 1) {
      for (std::int64_t k = 0; k < count; ++k) to[k] = static_cast<T>(values[k]);
    } else {
      for (std::int64_t k = 0; k < count; ++k) to[k * step] = static_cast<T>(values[k]);
    }
  }

  /// The scores of a chunk that keep the label from being the first of the largest. A NaN does, on either side. The
  /// loop does not end at the label, because a processor cannot foresee where that is.
  static std::int64_t count_beaten(const row_state& of, std::int64_t begin, std::int64_t count, const C* values) {
    const auto label = static_cast<std::int32_t>(std::clamp<std::int64_t>(of.label - begin, 0, loss_chunk));
    std::int32_t beaten = 0;
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(count); ++k) {
      const bool is_less = k < label ? values[k] < of.of_label : values[k] <= of.of_label;
      beaten += is_less ? 0 : 1;
    }
    return beaten;
  }

  template <class Join>
  static C joined(const C (&values)[lanes], const Join& join) {
    C tree[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) tree[l] = values[l];
    for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
      for (std::int64_t l = 0; l < half; ++l) tree[l] = join(tree[l], tree[l + half]);
    }
    return tree[0];
  }

  loss_problem<T> problem_;
  loss_sums* parts_;
  std::int64_t rows_of_part_;
  C scale_;
};

/// Adds the sums of the parts to what the caller has, in their order.
template <class Sum>
struct loss_join_kernel {
  const loss_sums* parts;
  std::int64_t count;
  double* sums;
  std::int64_t stride;

  static std::int64_t blocks() { return 1; }
  void operator()(std::int64_t) const {
    Sum loss(parts[0].loss), correct(parts[0].correct);
    for (std::int64_t part = 1; part < count; ++part) {
      loss += Sum(parts[part].loss);
      correct += Sum(parts[part].correct);
    }
    sums[0] = plain_number(Sum(sums[0]) + loss);
    sums[stride] = plain_number(Sum(sums[stride]) + correct);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
