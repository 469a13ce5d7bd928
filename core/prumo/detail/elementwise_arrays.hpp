// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What element-wise kernels read and write. Their outputs are given as one type, `Out`: the type of the elements, or
/// values<...> of the types of several outputs.

#include <prumo/array_ref.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>
#include <prumo/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// An element as formulas take it: a number in its compute type, a word that is only moved as it is.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto load(const T& stored) {
  if constexpr (stored_scalar<T>) {
    return static_cast<compute_t<T>>(stored);
  } else {
    return stored;
  }
}
template <class T>
using computed_as = decltype(load(std::declval<const T&>()));

/// Pointers to the inputs, with their types kept apart from the memory they take in a kernel.
template <class... In>
struct input_pointers {
  const void* base[sizeof...(In) == 0 ? 1 : sizeof...(In)] = {};

  template <std::size_t I>
  KOKKOS_FORCEINLINE_FUNCTION auto get() const {
    using type = std::tuple_element_t<I, std::tuple<In...>>;
    return static_cast<const type*>(base[I]);
  }

  static input_pointers of([[maybe_unused]] const array_ref* const* inputs) {
    input_pointers result;
    for (std::size_t which = 0; which != sizeof...(In); ++which) result.base[which] = inputs[which]->data;
    return result;
  }

  /// Those of the elements from `begin` on.
  input_pointers from([[maybe_unused]] std::int64_t begin) const {
    input_pointers result;
    [[maybe_unused]] std::size_t which = 0;
    ((result.base[which] = static_cast<const In*>(base[which]) + begin, ++which), ...);
    return result;
  }

  /// Those of the elements that lie `offsets[0]`, `offsets[1]`, ... further.
  input_pointers moved([[maybe_unused]] const std::int64_t* offsets) const {
    input_pointers result;
    [[maybe_unused]] std::size_t which = 0;
    ((result.base[which] = static_cast<const In*>(base[which]) + offsets[which], ++which), ...);
    return result;
  }
};

/// A pointer to the output.
template <class Out>
struct output_pointers {
  static constexpr std::size_t count = 1;
  static constexpr std::size_t widest = sizeof(Out), narrowest = sizeof(Out), bytes = sizeof(Out);
  template <std::size_t>
  using type = Out;

  Out* base;

  template <std::size_t>
  KOKKOS_FORCEINLINE_FUNCTION Out* get() const {
    return base;
  }

  /// The result for one of the outputs. Here there is one output, so it gets the whole result.
  template <std::size_t, class Result>
  KOKKOS_FORCEINLINE_FUNCTION static Result&& part(Result&& result) {
    return static_cast<Result&&>(result);
  }

  output_pointers from(std::int64_t begin) const { return {base + begin}; }
  output_pointers moved(const std::int64_t* offsets) const { return {base + offsets[0]}; }

  static output_pointers of(const array_ref* const* outputs) { return {outputs[0]->template as<Out>()}; }
};

/// Pointers to several outputs.
template <class... Out>
struct output_pointers<values<Out...>> {
  static constexpr std::size_t count = sizeof...(Out);
  static constexpr std::size_t widest = std::max({sizeof(Out)...}), narrowest = std::min({sizeof(Out)...});
  static constexpr std::size_t bytes = (sizeof(Out) + ...);
  template <std::size_t O>
  using type = std::tuple_element_t<O, std::tuple<Out...>>;

  void* base[count];

  template <std::size_t O>
  KOKKOS_FORCEINLINE_FUNCTION type<O>* get() const {
    return static_cast<type<O>*>(base[O]);
  }

  template <std::size_t O, class Result>
  KOKKOS_FORCEINLINE_FUNCTION static const auto& part(const Result& result) {
    return result.template get<O>();
  }

  output_pointers from(std::int64_t begin) const {
    output_pointers result;
    std::size_t which = 0;
    ((result.base[which] = static_cast<Out*>(base[which]) + begin, ++which), ...);
    return result;
  }

  output_pointers moved(const std::int64_t* offsets) const {
    output_pointers result;
    std::size_t which = 0;
    ((result.base[which] = static_cast<Out*>(base[which]) + offsets[which], ++which), ...);
    return result;
  }

  static output_pointers of(const array_ref* const* outputs) {
    output_pointers result;
    for (std::size_t which = 0; which < count; ++which) result.base[which] = outputs[which]->data;
    return result;
  }
};

/// The numbers of the outputs, as an argument.
template <class Out>
using each_output = std::make_index_sequence<output_pointers<Out>::count>;

/// A pack of neighbouring elements for every array, each aligned as one load or store wants it.
template <int Elements, std::size_t I, class T>
struct alignas(Elements * sizeof(T)) indexed_pack {
  c_array<T, Elements> values;
};
template <int Elements, class Sequence, class... T>
struct packs_of;
template <int Elements, std::size_t... I, class... T>
struct packs_of<Elements, std::index_sequence<I...>, T...> : indexed_pack<Elements, I, T>... {
  template <std::size_t Which>
  using pack = indexed_pack<Elements, Which, std::tuple_element_t<Which, std::tuple<T...>>>;

  template <std::size_t Which>
  KOKKOS_FORCEINLINE_FUNCTION pack<Which>& get() {
    return *this;
  }
  template <std::size_t Which>
  KOKKOS_FORCEINLINE_FUNCTION const pack<Which>& get() const {
    return *this;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
