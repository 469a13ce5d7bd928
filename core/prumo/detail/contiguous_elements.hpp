// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a thread of a host does with arrays that each lie in memory without gaps. Formulas that take vectors get
/// vectors. The loops of others are left to the compiler: numbers that vectors convert with instructions of their own
/// are widened before they are computed, a chunk at a time, and narrowed after.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/elementwise_arrays.hpp>
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// A user's formula may be such that its loop is no vector code, and that is not worth a warning.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where one of several outputs is computed: its own memory, or floats that are narrowed after.
template <class T, std::int64_t Most, bool Narrows = has_vector_narrowing<T>>
class place_of_output {
 public:
  explicit place_of_output(T* to) : to_(to) {}
  T* first() { return to_; }
  void finish(std::int64_t) {}

 private:
  T* to_;
};
template <class T, std::int64_t Most>
class place_of_output<T, Most, true> {
 public:
  explicit place_of_output(T* to) : to_(to) {}
  float* first() { return results_; }
  void finish(std::int64_t count) { narrow(results_, to_, count); }

 private:
  T* to_;
  c_array<float, Most> results_;
};

template <class T>
inline constexpr bool narrows_an_output = has_vector_narrowing<T>;
template <class... T>
inline constexpr bool narrows_an_output<values<T...>> = (has_vector_narrowing<T> || ...);

/// compute_stretch() of half_conversions.hpp for one output or several.
template <std::int64_t Most, class Out, class Count, class Value>
[[gnu::always_inline]] inline void compute_outputs(Count count, const output_pointers<Out>& to, const Value& value) {
  using outputs = output_pointers<Out>;
  if constexpr (outputs::count == 1) {
    compute_stretch<Most>(count, to.template get<0>(),
                          [&](std::int64_t i) { return outputs::template part<0>(value(i)); });
  } else {
    [&]<std::size_t... O>(std::index_sequence<O...>) {
      const auto compute = [&value](std::int64_t known_count, auto&&... places) {
        const auto compute_to = [&value, known_count](auto*... targets) {
          PRUMO_INDEPENDENT_ITERATIONS
          for (std::int64_t i = 0; i < known_count; ++i) {
            const auto result = value(i);
            ((targets[i] = static_cast<std::remove_reference_t<decltype(*targets)>>(outputs::template part<O>(result))),
             ...);
          }
        };
        compute_to(places.first()...);
        (places.finish(known_count), ...);
      };
      compute(count, place_of_output<typename outputs::template type<O>, Most>(to.template get<O>())...);
    }(each_output<Out>{});
  }
}

/// Whether a formula is computed on vectors. It must be a template over its type of numbers and say so, and all
/// elements must have the same compute type.
template <class Formula, class C, class... T>
inline constexpr bool computes_vectors_of = false;
template <class Formula, class C, class... T>
  requires requires { requires Formula::takes_vectors; } && std::is_floating_point_v<C>
inline constexpr bool computes_vectors_of<Formula, C, T...> =
    can_compute_vectors && (std::is_same_v<computed_as<T>, C> && ...);

template <class Formula, class Out, class... In>
inline constexpr bool computes_vectors = false;
template <class Formula, class Out, class First, class... In>
inline constexpr bool computes_vectors<Formula, Out, First, In...> =
    computes_vectors_of<Formula, computed_as<First>, Out, In...>;
template <class Formula, class... Out, class First, class... In>
inline constexpr bool computes_vectors<Formula, values<Out...>, First, In...> =
    computes_vectors_of<Formula, computed_as<First>, Out..., In...>;

/// Elements that a group of registers holds.
template <class Out>
inline constexpr std::int64_t lanes_of_group =
    group_registers * simd<compute_t<typename output_pointers<Out>::template type<0>>>::lanes;

/// What a formula takes a host for an element of f32, in nanoseconds: Formula::host_nanoseconds, or 1 of formulas that
/// do not tell, which may call anything.
template <class Formula>
inline constexpr double formula_nanoseconds = 1;
template <class Formula>
  requires requires { Formula::host_nanoseconds; }
inline constexpr double formula_nanoseconds<Formula> = Formula::host_nanoseconds;

/// Prefetches `bytes` that lie 2 KiB behind an address, if the formula is long. Such a formula fills the room in which
/// a processor looks ahead, so the processor would find the loads behind it too late. On an Emerald Rapids, two threads
/// take a fifth less time for exp, tanh and gelu of large arrays with it. Short formulas, such as an addition, would
/// take longer.
template <class Formula, class T>
[[gnu::always_inline]] inline void prefetch_ahead([[maybe_unused]] const T* from, [[maybe_unused]] std::size_t bytes) {
  constexpr double long_formula = 0.2;
  if constexpr (formula_nanoseconds<Formula> >= long_formula) {
    prefetch_from_far(from, bytes);
  }
}

/// How many registers, and elements, are computed at a time behind the last whole group. The halves of words fill two
/// registers.
template <lane_order Order>
inline constexpr int registers_of_rest = Order == lane_order::memory ? 1 : 2;
template <lane_order Order, class Out>
inline constexpr std::int64_t lanes_of_rest = registers_of_rest<Order> * lanes_of_group<Out> / group_registers;

/// outputs[i] = formula(inputs[i]...) for as many elements as the registers of a group hold.
/// \tparam InPlace whether they go to memory, not to a buffer that registers may replace
template <lane_order Order, int Registers, bool InPlace, class Out, class Formula, std::size_t... O, class... T>
[[gnu::always_inline]] inline void compute_group(const Formula& formula, const output_pointers<Out>& to,
                                                 std::index_sequence<O...>, const T*... from) {
  using outputs = output_pointers<Out>;
  const auto results = formula(load_group<Order, Registers>(from)...);
  const auto store = [](const auto& group, auto* place) PRUMO_ALWAYS_INLINE {
    using type = std::remove_pointer_t<decltype(place)>;
    if constexpr (InPlace && stores_in_order && std::is_same_v<type, compute_t<type>>) {
      store_line_by_line(group, place);
    } else {
      store_group<Order>(group, place);
    }
  };
  (store(outputs::template part<O>(results), to.template get<O>()), ...);
}

/// The elements behind the last whole group, `count` of them. They go through the same instructions as others, so that
/// a number's result does not depend on its place. A function of its own, because it is called once for an array.
///
/// \param last the inputs of the last elements of the whole array, as many as vectors take at a time, from before the
///             outputs were written: one of these may be an input, and the last vectors may overlap those before them
/// \param has_last whether the array has so many
template <lane_order Order, class Out, class Formula, class Last, std::size_t... O, std::size_t... I, class... T>
PRUMO_FLATTEN [[gnu::noinline]] void compute_rest(Formula formula, std::int64_t count, const output_pointers<Out>& to,
                                                  const Last& last, bool has_last, std::index_sequence<O...> each,
                                                  std::index_sequence<I...>, const T*... from) {
  using outputs = output_pointers<Out>;
  constexpr std::int64_t size = lanes_of_rest<Order, Out>;
  constexpr int registers = registers_of_rest<Order>;
  const std::int64_t whole = count / size * size;
  for (std::int64_t at = 0; at < whole; at += size) {
    compute_group<Order, registers, false, Out>(formula, to.from(at), each, from + at...);
  }
  if (whole == count) return;
  if (has_last) {
    return compute_group<Order, registers, false, Out>(formula, to.from(count - size), each,
                                                       last.template get<I>().values...);
  }
  Last some;
  packs_of<size, std::index_sequence<O...>, typename outputs::template type<O>...> results;
  (copy_rest(from, count, some.template get<I>().values, size), ...);
  compute_group<Order, registers, false, Out>(formula, outputs{results.template get<O>().values...}, each,
                                              some.template get<I>().values...);
  (copy_rest(results.template get<O>().values, count, to.template get<O>(), count), ...);
}

/// The same for any count. The arrays hold elements, or numbers that were made of them.
template <class Out, class Formula, class Count, std::size_t... O, std::size_t... I, class... T>
[[gnu::always_inline]] inline void compute_vectors(Formula formula, Count count, const output_pointers<Out>& to,
                                                   std::index_sequence<O...> each, std::index_sequence<I...> inputs,
                                                   const T*... from) {
  constexpr lane_order order = fastest_order<typename output_pointers<Out>::template type<O>..., T...>;
  constexpr std::int64_t size = lanes_of_group<Out>;
  constexpr std::int64_t of_rest = lanes_of_rest<order, Out>;
  const std::int64_t whole = count / size * size;
  packs_of<of_rest, std::index_sequence<I...>, T...> last;
  const bool has_last = count % of_rest != 0 && count > of_rest;
  if (has_last) {
    (std::memcpy(static_cast<void*>(last.template get<I>().values), from + (count - of_rest), of_rest * sizeof(T)),
     ...);
  }
  for (std::int64_t at = 0; at < whole; at += size) {
    (prefetch_ahead<Formula>(from + at, size * sizeof(T)), ...);
    // Chunks whose length compilers know go to a buffer, or past the caches from registers.
    compute_group<order, group_registers, std::is_integral_v<Count>, Out>(formula, to.from(at), each, from + at...);
  }
  if (whole == count) return;
  compute_rest<order, Out>(formula, count - whole, to.from(whole), last, has_last, each, inputs, from + whole...);
}

/// outputs[i] = formula(inputs[i]...) for i < count: `Most` at most where an output is narrowed. The arrays' elements
/// are Out and In; what is read may be numbers that were made of them.
template <std::int64_t Most, class Out, class... In, class Formula, class Count, class... T>
[[gnu::always_inline]] inline void compute_elements(Formula formula, Count count, const output_pointers<Out>& to,
                                                    const T*... from) {
  if constexpr (computes_vectors<Formula, Out, In...>) {
    compute_vectors(formula, count, to, each_output<Out>{}, std::index_sequence_for<T...>{}, from...);
  } else {
    compute_outputs<Most>(count, to, [=]([[maybe_unused]] std::int64_t i) { return formula(load(from[i])...); });
  }
}

/// Arrays that each lie in memory without gaps, on a host.
///
/// The loops have no dependence between iterations: an output is apart from all other arrays or exactly one of the
/// inputs.
template <class Formula, class Out, class... In>
class contiguous_elements {
 public:
  using outputs = output_pointers<Out>;

  contiguous_elements(const Formula& formula, const outputs& to, const input_pointers<In...>& inputs)
      : formula_(formula), outputs_(to), inputs_(inputs) {
    const auto beyond_line = reinterpret_cast<std::uintptr_t>(to.template get<0>()) % streaming_unit;
    shift_ = static_cast<std::int64_t>(beyond_line / sizeof(first_output));
  }

  /// Elements of the first output's cache line that lie before the array.
  std::int64_t shift() const { return shift_; }

  /// Whether write_streaming() may be called: every output crosses into a cache line where the first one does.
  bool can_stream() const { return lines_coincide(each_output<Out>{}); }

  /// Computes the elements begin ... end - 1. A function of its own: with its chunks inlined, their constants stay in
  /// registers from one to the next.
  PRUMO_FLATTEN [[gnu::noinline]] void write_cached(std::int64_t begin, std::int64_t end) const {
    if constexpr (converts) {
      for (; begin + chunk_elements <= end; begin += chunk_elements) {
        compute(begin, whole_chunk{}, outputs_.from(begin), each_input);
      }
    }
    if (begin < end) compute(begin, end - begin, outputs_.from(begin), each_input);
  }

  /// The same past the caches. Only the first element of all may lie within a line. A streaming_fence() has to follow.
  PRUMO_FLATTEN [[gnu::noinline]] void write_streaming(std::int64_t begin, std::int64_t end) const {
    const std::int64_t aligned = begin == 0 ? std::min(end, lead_elements()) : begin;
    write_cached(begin, aligned);
    std::int64_t at = aligned;
    for (; at + chunk_elements <= end; at += chunk_elements) stream_chunk(at, each_output<Out>{});
    write_cached(at, end);
  }

 private:
  using first_output = typename outputs::template type<0>;

  /// Whether numbers are widened before they are computed, and the results narrowed after.
  static constexpr bool on_vectors = computes_vectors<Formula, Out, In...>;
  static constexpr bool converts = !on_vectors && (narrows_an_output<Out> || ... || has_vector_widening<In>);

  /// Elements that are computed before they are streamed: two cache lines. With more, compilers keep a whole chunk in
  /// registers and store its lines out of order, which costs up to a fifth of the bandwidth. At least what is converted
  /// or computed at a time, so that whole chunks have no rests.
  static constexpr std::int64_t chunk_elements = [] {
    constexpr auto two_lines = static_cast<std::int64_t>(2 * streaming_unit / outputs::narrowest);
    if constexpr (on_vectors) return std::max(two_lines, lanes_of_group<Out>);
    return converts ? std::max(two_lines, most_converted_at_once) : two_lines;
  }();

  using whole_chunk = std::integral_constant<std::int64_t, chunk_elements>;
  static constexpr auto each_input = std::index_sequence_for<In...>{};

  /// to[i] = element begin + i of the outputs, for i < count; a chunk at most where numbers are converted.
  template <class Count, std::size_t... I>
  [[gnu::always_inline]] void compute([[maybe_unused]] std::int64_t begin, Count count, const outputs& to,
                                      std::index_sequence<I...>) const {
    const auto compute_from = [&](const auto*... from) __attribute__((always_inline)) {
      compute_elements<chunk_elements, Out, In...>(formula_, count, to, from...);
    };
    compute_from(numbers_of<In>(inputs_.template get<I>() + begin, count).first()...);
  }

  /// Neighbouring elements of an input: where they lie, or widened to floats.
  template <class T, bool Widens = !on_vectors && has_vector_widening<T>>
  class numbers_of {
   public:
    numbers_of(const T* from, std::int64_t) : from_(from) {}
    const T* first() const { return from_; }

   private:
    const T* from_;
  };
  template <class T>
  class numbers_of<T, true> {
   public:
    numbers_of(const T* from, std::int64_t count) { widen(from, widened_, count); }
    const float* first() const { return widened_; }

   private:
    c_array<float, chunk_elements> widened_;
  };

  template <std::size_t... O>
  void stream_chunk(std::int64_t at, std::index_sequence<O...>) const {
    line_buffers<each_output<Out>> buffers;
    compute(at, whole_chunk{}, buffers.pointers(), each_input);
    (stream_bytes<bytes_stored_at_once<typename outputs::template type<O>>>(
         outputs_.template get<O>() + at, buffers.template get<O>(),
         chunk_elements * sizeof(typename outputs::template type<O>)),
     ...);
  }

  /// Room for a chunk of every output.
  template <std::size_t, class T>
  struct line_buffer {
    room_for<T, chunk_elements, streaming_unit> values;
  };
  template <class Sequence>
  struct line_buffers;
  template <std::size_t... O>
  struct line_buffers<std::index_sequence<O...>> : line_buffer<O, typename outputs::template type<O>>... {
    template <std::size_t Which>
    auto* get() {
      return static_cast<line_buffer<Which, typename outputs::template type<Which>>&>(*this).values.numbers();
    }
    outputs pointers() { return {get<O>()...}; }
  };

  std::int64_t lead_elements() const {
    return shift_ == 0 ? 0 : static_cast<std::int64_t>(streaming_unit / sizeof(first_output)) - shift_;
  }

  /// Whether every output crosses into a cache line where the first one does.
  template <std::size_t... O>
  bool lines_coincide(std::index_sequence<O...>) const {
    return ((reinterpret_cast<std::uintptr_t>(outputs_.template get<O>() + lead_elements()) % streaming_unit == 0) &&
            ...);
  }

  Formula formula_;
  outputs outputs_;
  input_pointers<In...> inputs_;
  std::int64_t shift_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
