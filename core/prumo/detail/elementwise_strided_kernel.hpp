// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise kernels of arrays with strides of any kind, and of inputs that are repeated along a dimension,
/// where their stride is 0.

#include <prumo/detail/elementwise_arrays.hpp>
#include <prumo/detail/elementwise_host_kernel.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/detail/loop_nest.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

// A user's formula may be such that its loop is no vector code, and that is not worth a warning.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// to[i] = the number that lies i strides from the first, for i < count, widened where `Number` is wider. A function of
/// its own, so that all formulas share it.
template <class T, class Number>
[[gnu::noinline]] void gather_row(const T* from, std::int64_t stride, std::int64_t count, Number* to) {
  if (stride == 0) {
    std::fill_n(to, count, static_cast<Number>(*from));
    return;
  }
  if constexpr (has_vector_widening<T> && !std::is_same_v<T, Number>) {
    if (stride == 1) return widen(from, to, count);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Number>(from[i * stride]);
}

/// The element i strides from the first = from[i], for i < count.
template <class T>
[[gnu::noinline]] void scatter_row(const T* from, std::int64_t count, T* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

/// A row of an input as the inner loop of a host reads it: in memory where it can, else a chunk at a time in a buffer.
template <class T, std::int64_t Chunk>
class input_row {
 public:
  using number = std::conditional_t<has_vector_widening<T>, float, T>;

  input_row(const T* from, std::int64_t stride, std::int64_t count) : from_(from), stride_(stride) {
    if (stride == 0) gather_row(from, 0, std::min(count, Chunk), buffer_.numbers());
  }

  /// `count` numbers from `begin` on, a chunk at most.
  const number* chunk(std::int64_t begin, std::int64_t count) {
    if (stride_ == 0) return buffer_.numbers();
    if constexpr (std::is_same_v<T, number>) {
      if (stride_ == 1) return from_ + begin;
    }
    gather_row(from_ + begin * stride_, stride_, count, buffer_.numbers());
    return buffer_.numbers();
  }

 private:
  const T* from_;
  std::int64_t stride_;
  room_for<number, Chunk> buffer_;
};

/// The same of an output.
template <class T, std::int64_t Chunk>
class output_row {
 public:
  output_row(T* to, std::int64_t stride) : to_(to), stride_(stride) {}

  T* chunk(std::int64_t begin) { return stride_ == 1 ? to_ + begin : buffer_.numbers(); }
  void finish(std::int64_t begin, std::int64_t count) {
    if (stride_ != 1) scatter_row(buffer_.numbers(), count, to_ + begin * stride_, stride_);
  }

 private:
  T* to_;
  std::int64_t stride_;
  room_for<T, Chunk> buffer_;
};

/// On a host: a stretch of a long row, or several short rows, an iteration.
template <class Formula, class Out, class... In>
class strided_host_kernel {
 public:
  using outputs = output_pointers<Out>;
  static constexpr int output_count = static_cast<int>(outputs::count);
  static constexpr int count = output_count + static_cast<int>(sizeof...(In));
  static constexpr int capacity = nest_capacity(count);

  strided_host_kernel(const Formula& formula, const outputs& to, const input_pointers<In...>& inputs,
                      const loop_nest<count, capacity>& nest)
      : formula_(formula), outputs_(to), inputs_(inputs), nest_(nest) {
    const std::int64_t extent = nest.extents[nest.inner()];
    if (extent == 0 || nest.size() == 0) return;
    rows_ = nest.size() / extent;
    stretches_ = (extent + stretch - 1) / stretch;
    rows_at_once_ = std::max<std::int64_t>(1, stretch / extent);
  }

  std::int64_t blocks() const { return (rows_ + rows_at_once_ - 1) / rows_at_once_ * stretches_; }

  void operator()(std::int64_t block) const {
    const std::int64_t share = block / stretches_;
    const std::int64_t begin = (block - share * stretches_) * stretch;
    const std::int64_t end = std::min(begin + stretch, nest_.extents[nest_.inner()]);
    const std::int64_t first_row = share * rows_at_once_;
    const std::int64_t last_row = std::min(first_row + rows_at_once_, rows_) - 1;
    c_array<std::int64_t, capacity> index;
    c_array<std::int64_t, count> offset = {};
    std::int64_t rest = first_row;
    for (int dimension = nest_.rank - 2; dimension >= 0; --dimension) {
      index[dimension] = rest % nest_.extents[dimension];
      rest /= nest_.extents[dimension];
      move(dimension, index[dimension], offset);
    }
    for (std::int64_t row = first_row;; ++row) {
      compute_row(offset, begin, end - begin, std::index_sequence_for<In...>{}, each_output<Out>{});
      if (row == last_row) return;
      for (int dimension = nest_.rank - 2; dimension >= 0; --dimension) {
        move(dimension, 1, offset);
        if (++index[dimension] < nest_.extents[dimension]) break;
        move(dimension, -index[dimension], offset);
        index[dimension] = 0;
      }
    }
  }

 private:
  static constexpr std::int64_t stretch = 1024;
  static constexpr std::int64_t chunk = 256;

  void move(int dimension, std::int64_t steps, c_array<std::int64_t, count>& offset) const {
    for (int which = 0; which < count; ++which) offset[which] += steps * nest_.strides[which][dimension];
  }

  /// `length` elements of a row, from `begin` on.
  template <std::size_t... I, std::size_t... O>
  PRUMO_FLATTEN void compute_row(const c_array<std::int64_t, count>& offset, std::int64_t begin, std::int64_t length,
                                 std::index_sequence<I...>, std::index_sequence<O...>) const {
    const auto compute_to = [&](auto&&... to) {
      const auto compute_from = [&](auto&&... from) {
        for (std::int64_t at = 0; at < length; at += chunk) {
          const std::int64_t elements = std::min(chunk, length - at);
          compute_elements<chunk, Out, In...>(formula_, elements, outputs{to.chunk(at)...},
                                              from.chunk(at, elements)...);
          (to.finish(at, elements), ...);
        }
      };
      compute_from(input_row<In, chunk>(
          inputs_.template get<I>() + offset[output_count + I] + begin * inner_stride(output_count + I),
          inner_stride(output_count + I), length)...);
    };
    compute_to(output_row<typename outputs::template type<O>, chunk>(
        outputs_.template get<O>() + offset[O] + begin * inner_stride(O), inner_stride(O))...);
  }

  std::int64_t inner_stride(std::size_t which) const { return nest_.strides[which][nest_.inner()]; }

  Formula formula_;
  outputs outputs_;
  input_pointers<In...> inputs_;
  loop_nest<count, capacity> nest_;
  std::int64_t rows_ = 0;
  std::int64_t rows_at_once_ = 1;
  std::int64_t stretches_ = 1;
};

/// Formulas of one input and one output move an array; for others, packs are worth a kernel of their own.
template <class Out, class... In>
inline constexpr bool joins_arrays = output_pointers<Out>::count + sizeof...(In) > 2;

/// On a device: an element an index, or a pack of `Elements` of the inner loop's.
template <int Elements, class Formula, class Out, class... In>
class strided_device_kernel {
 public:
  using index_type = int;
  static constexpr bool checks_index = true;
  /// With 256 threads nvcc takes 46 registers where 40 do.
  using launch_bounds = Kokkos::LaunchBounds<512>;
  using outputs = output_pointers<Out>;
  static constexpr int output_count = static_cast<int>(outputs::count);
  static constexpr int count = output_count + static_cast<int>(sizeof...(In));

  /// The nest's inner loop is over packs; see in_packs().
  strided_device_kernel(const Formula& formula, const outputs& to, const input_pointers<In...>& inputs,
                        const loop_nest<count>& nest)
      : formula_(formula), outputs_(to), inputs_(inputs), nest_(nest), packs_(static_cast<int>(nest.size())) {}

  int blocks() const { return packs_; }

  KOKKOS_FUNCTION void operator()(int index) const {
    if (index < packs_) compute(index, std::index_sequence_for<In...>{}, each_output<Out>{});
  }

 private:
  template <std::size_t... I, std::size_t... O>
  KOKKOS_FORCEINLINE_FUNCTION void compute(int index, std::index_sequence<I...>, std::index_sequence<O...>) const {
    c_array<std::int64_t, count> offset;
    nest_.find(index, offset);
    packs_of<Elements, std::index_sequence<I...>, In...> loaded;
    (read(loaded.template get<I>(), inputs_.template get<I>() + offset[output_count + I], output_count + I), ...);
    packs_of<Elements, std::index_sequence<O...>, typename outputs::template type<O>...> results;
    PRUMO_UNROLL
    for (int lane = 0; lane < Elements; ++lane) {
      const auto& result = formula_(load(loaded.template get<I>().values[lane])...);
      ((results.template get<O>().values[lane] =
            static_cast<typename outputs::template type<O>>(outputs::template part<O>(result))),
       ...);
    }
    (write(outputs_.template get<O>() + offset[O], results.template get<O>()), ...);
  }

  template <class Pack, class T>
  KOKKOS_FORCEINLINE_FUNCTION void read(Pack& pack, const T* from, [[maybe_unused]] int which) const {
    if constexpr (Elements > 1) {
      if (nest_.inner_stride(which) != 0) {
        pack = *reinterpret_cast<const Pack*>(from);
        return;
      }
    }
    const T value = *from;
    PRUMO_UNROLL
    for (int lane = 0; lane < Elements; ++lane) pack.values[lane] = value;
  }

  template <class T, class Pack>
  KOKKOS_FORCEINLINE_FUNCTION static void write(T* to, const Pack& pack) {
    *reinterpret_cast<Pack*>(to) = pack;
  }

  Formula formula_;
  outputs outputs_;
  input_pointers<In...> inputs_;
  device_nest<count> nest_;
  int packs_;
};

/// Makes the inner loop one over packs where every array allows it: rows of whole packs, aligned for them, in which the
/// outputs are neighbours and inputs are neighbours or repeated.
template <class Out, class... In, int Count>
bool in_packs(int elements, const output_pointers<Out>& to, const input_pointers<In...>& inputs,
              loop_nest<Count>& nest) {
  const int inner = nest.inner();
  const auto allows = [&](int which, const void* base, std::size_t element_bytes, bool is_output) {
    const std::int64_t step = nest.strides[which][inner];
    if (step == 0 && !is_output) return true;
    bool aligned =
        step == 1 && reinterpret_cast<std::uintptr_t>(base) % (static_cast<std::size_t>(elements) * element_bytes) == 0;
    for (int dimension = 0; dimension < inner; ++dimension) {
      aligned = aligned && nest.strides[which][dimension] % elements == 0;
    }
    return aligned;
  };
  bool all = nest.extents[inner] % elements == 0;
  int which = 0;
  [&]<std::size_t... O>(std::index_sequence<O...>) {
    ((all =
          all && allows(which++, to.template get<O>(), sizeof(typename output_pointers<Out>::template type<O>), true)),
     ...);
  }(each_output<Out>{});
  [[maybe_unused]] std::size_t input = 0;
  ((all = all && allows(which++, inputs.base[input++], sizeof(In), false)), ...);
  if (!all) return false;
  nest.extents[inner] /= elements;
  for (int each = 0; each < Count; ++each) nest.strides[each][inner] *= elements;
  return true;
}

/// Enqueues the kernels of arrays that do not each lie in memory without gaps. `work` is what all of it takes a host.
template <class Exec, class Formula, class Out, class... In, int Count>
void launch_strided_kernel(const Exec& instance, const std::string& label, const Formula& formula,
                           const output_pointers<Out>& to, const input_pointers<In...>& inputs,
                           const loop_nest<Count>& nest, [[maybe_unused]] const host_work& work) {
  constexpr int output_count = static_cast<int>(output_pointers<Out>::count);
  if constexpr (is_host_space<Exec>) {
    using kernel = strided_host_kernel<Formula, Out, In...>;
    if constexpr (kernel::capacity == max_rank) {
      launch_blocks(instance, label, kernel(formula, to, inputs, nest), work);
    } else {
      for_each_part(nest, kernel::capacity, std::numeric_limits<std::int64_t>::max(),
                    [&](const loop_nest<Count>& part, const c_array<std::int64_t, Count>& offsets) {
                      launch_blocks(instance, label,
                                    kernel(formula, to.moved(offsets), inputs.moved(offsets + output_count),
                                           part.template with_capacity<kernel::capacity>()),
                                    work);
                    });
    }
  } else {
    const auto launch = [&]<int Elements>(const loop_nest<Count>& whole) {
      for_each_part(whole, device_nest<Count>::capacity, device_nest<Count>::most_elements,
                    [&](const loop_nest<Count>& part, const c_array<std::int64_t, Count>& offsets) {
                      launch_blocks(instance, label,
                                    strided_device_kernel<Elements, Formula, Out, In...>(
                                        formula, to.moved(offsets), inputs.moved(offsets + output_count), part));
                    });
    };
    if constexpr (joins_arrays<Out, In...>) {
      constexpr int elements = static_cast<int>(16 / std::max({output_pointers<Out>::widest, sizeof(In)...}));
      loop_nest<Count> packs = nest;
      if (elements > 1 && in_packs(elements, to, inputs, packs)) return launch.template operator()<elements>(packs);
    }
    launch.template operator()<1>(nest);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
