// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise kernel of arrays that lie in one run each, on a host. Numbers that vectors convert with
/// instructions of their own are widened before they are computed, a chunk at a time, and narrowed after.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The value of T as its compute type.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION compute_t<T> load(const T& stored) {
  return static_cast<compute_t<T>>(stored);
}

/// Pointers to the inputs, with their types kept apart from the memory they take in a kernel.
template <class... In>
struct input_pointers {
  const void* base[sizeof...(In) == 0 ? 1 : sizeof...(In)] = {};

  template <std::size_t I>
  KOKKOS_FORCEINLINE_FUNCTION auto get() const {
    using type = std::tuple_element_t<I, std::tuple<In...>>;
    return static_cast<const type*>(base[I]);
  }

  /// Those of the elements from `begin` on.
  input_pointers from([[maybe_unused]] std::int64_t begin) const {
    input_pointers result;
    [[maybe_unused]] std::size_t which = 0;
    ((result.base[which] = static_cast<const In*>(base[which]) + begin, ++which), ...);
    return result;
  }
};

/// Arrays that lie in one run each, on the host: a block of elements an iteration.
///
/// The inner loops have no dependence between iterations: an output is apart from the inputs or exactly one of them.
template <class Formula, class Out, class... In>
class contiguous_host_kernel {
 public:
  /// `workers` threads will share the blocks; `streaming` writes past the caches.
  contiguous_host_kernel(const Formula& formula, Out* output, const input_pointers<In...>& inputs, std::int64_t count,
                         std::int64_t workers, bool streaming)
      : formula_(formula),
        output_(output),
        inputs_(inputs),
        count_(count),
        block_elements_(elements_of_block(count, workers)),
        streaming_(streaming) {
    // Blocks end where the output crosses cache lines, so that no line is shared and streamed stores are aligned.
    const auto beyond_line = reinterpret_cast<std::uintptr_t>(output) % streaming_unit;
    shift_ = static_cast<std::int64_t>(beyond_line / sizeof(Out));
  }

  /// The number of blocks.
  std::int64_t blocks() const { return (count_ + shift_ + block_elements_ - 1) / block_elements_; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = std::max<std::int64_t>(0, block * block_elements_ - shift_);
    const std::int64_t end = std::min(count_, (block + 1) * block_elements_ - shift_);
    if (streaming_) {
      write_streaming(begin, end);
    } else {
      write_cached(begin, end, std::index_sequence_for<In...>{});
    }
  }

 private:
  /// Elements that are computed before they are streamed: two cache lines. With more, compilers keep a whole chunk in
  /// registers and store its lines out of order, which costs up to a fifth of the bandwidth.
  static constexpr std::int64_t chunk_elements = static_cast<std::int64_t>(2 * streaming_unit / sizeof(Out));

  /// Short enough that each worker has several blocks and the shares are even; otherwise long, because every block of
  /// streamed stores ends in a fence that waits for memory.
  static std::int64_t elements_of_block(std::int64_t count, std::int64_t workers) {
    constexpr std::int64_t shortest = 4096, longest = 16 * shortest, blocks_per_worker = 16;
    const std::int64_t even = count / (workers * blocks_per_worker) / shortest * shortest;
    return std::clamp(even, shortest, longest);
  }

  /// Whether a chunk is widened before it is computed, and the results narrowed after.
  static constexpr bool converts = (has_vector_conversions<Out> || ... || has_vector_conversions<In>);

  template <std::size_t... I>
  void write_cached(std::int64_t begin, std::int64_t end, std::index_sequence<I...> each) const {
    if constexpr (converts) {
      for (; begin + chunk_elements <= end; begin += chunk_elements) compute_chunk(output_ + begin, begin, each);
      if (begin < end) compute_rest(begin, end, each);
      return;
    }
    const Formula formula = formula_;
    const std::tuple inputs{inputs_.template get<I>()...};
    Out* const output = output_;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = begin; i < end; ++i) {
      output[i] = static_cast<Out>(formula(load(std::get<I>(inputs)[i])...));
    }
  }

  template <std::size_t... I>
  void compute_chunk(Out* buffer, [[maybe_unused]] std::int64_t begin, std::index_sequence<I...>) const {
    compute_chunk_of(buffer, (inputs_.template get<I>() + begin)...);
  }

  void compute_chunk_of(Out* buffer, const In*... from) const {
    const std::tuple<widened_chunk<In>...> widened{from...};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const Formula formula = formula_;
      const std::tuple inputs{std::get<I>(widened).values()...};
      if constexpr (has_vector_conversions<Out>) {
        compute_t<Out> results[chunk_elements];
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t i = 0; i < chunk_elements; ++i) results[i] = formula(load(std::get<I>(inputs)[i])...);
        narrow(results, buffer, static_cast<int>(chunk_elements));
      } else {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t i = 0; i < chunk_elements; ++i) {
          buffer[i] = static_cast<Out>(formula(load(std::get<I>(inputs)[i])...));
        }
      }
    }(std::index_sequence_for<In...>{});
  }

  /// Fewer elements than a chunk, as a chunk: all of an array go through the same instructions.
  template <std::size_t... I>
  void compute_rest(std::int64_t begin, std::int64_t end, std::index_sequence<I...>) const {
    const std::tuple rest{partial_chunk<In>(inputs_.template get<I>() + begin, end - begin)...};
    Out results[chunk_elements];
    compute_chunk_of(results, std::get<I>(rest).elements...);
    std::copy_n(results, end - begin, output_ + begin);
  }

  template <class T>
  struct partial_chunk {
    T elements[chunk_elements];

    partial_chunk(const T* from, std::int64_t count) {
      std::fill_n(std::copy_n(from, count, elements), chunk_elements - count, T(compute_t<T>(1)));
    }
  };

  /// A chunk's elements of an input, in memory as they are or as floats.
  template <class T, bool Converts = has_vector_conversions<T>>
  class widened_chunk {
   public:
    explicit widened_chunk(const T* from) : from_(from) {}
    const T* values() const { return from_; }

   private:
    const T* from_;
  };
  template <class T>
  class widened_chunk<T, true> {
   public:
    explicit widened_chunk(const T* from) { widen(from, values_, static_cast<int>(chunk_elements)); }
    const float* values() const { return values_; }

   private:
    float values_[chunk_elements];
  };

  void write_streaming(std::int64_t begin, std::int64_t end) const {
    constexpr auto each = std::index_sequence_for<In...>{};
    // Only the first block may begin inside a line.
    const std::int64_t aligned = begin == 0 ? std::min(end, lead_elements()) : begin;
    write_cached(begin, aligned, each);
    std::int64_t at = aligned;
    for (; at + chunk_elements <= end; at += chunk_elements) {
      alignas(streaming_unit) Out buffer[chunk_elements];
      compute_chunk(buffer, at, each);
      stream_bytes(output_ + at, buffer, sizeof(buffer));
    }
    write_cached(at, end, each);
    streaming_fence();
  }

  std::int64_t lead_elements() const {
    return shift_ == 0 ? 0 : static_cast<std::int64_t>(streaming_unit / sizeof(Out)) - shift_;
  }

  Formula formula_;
  Out* output_;
  input_pointers<In...> inputs_;
  std::int64_t count_;
  std::int64_t block_elements_;
  std::int64_t shift_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
