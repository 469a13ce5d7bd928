// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise kernels of devices and of strided arrays, and the choice among all. A formula is a function object
/// on scalars; the loops around it are here and in elementwise_host_kernel.hpp, once.

#include <prumo/array_ref.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/elementwise_host_kernel.hpp>
#include <prumo/detail/elementwise_inputs.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/detail/loop_nest.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <concepts>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Arrays that lie in one run each, on a device: an index for every `Packs` packs of 16 bytes, then one for every
/// element that is left. Where arrays are small a kernel takes as long as a thread has instructions to do and to fetch,
/// so there is no loop, indices have 32 bits, and longer arrays are several kernels'.
template <int Packs, int BlockThreads, class Formula, class Out, class... In>
class contiguous_device_kernel {
 public:
  using index_type = int;
  static constexpr bool checks_index = true;
  static constexpr int block_threads = BlockThreads;
  static constexpr std::size_t widest = std::max({sizeof(Out), sizeof(In)...});
  static constexpr int pack_elements = static_cast<int>(16 / widest);
  /// The most elements of a kernel.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 30;

  contiguous_device_kernel(const Formula& formula, Out* output, const input_pointers<In...>& inputs, std::int64_t count)
      : formula_(formula), output_(output), inputs_(inputs), count_(static_cast<int>(count)) {
    bool aligned = reinterpret_cast<std::uintptr_t>(output) % (pack_elements * sizeof(Out)) == 0;
    std::size_t which = 0;
    ((aligned = aligned && reinterpret_cast<std::uintptr_t>(inputs.base[which++]) % (pack_elements * sizeof(In)) == 0),
     ...);
    threads_of_packs_ = aligned ? count_ / (stretch * Packs * pack_elements) * stretch : 0;
  }

  int blocks() const { return threads_of_packs_ + (count_ - first_single()); }

  KOKKOS_FUNCTION void operator()(int index) const {
    if (index < threads_of_packs_) {
      whole_packs(Packs == 1 ? index : index / stretch * (stretch * Packs) + index % stretch,
                  std::index_sequence_for<In...>{});
    } else {
      single_element(first_single() + (index - threads_of_packs_), std::index_sequence_for<In...>{});
    }
  }

 private:
  /// Neighbouring threads whose packs lie side by side: those of a warp, where each has several.
  static constexpr int stretch = Packs == 1 ? 1 : 32;

  template <class T>
  struct alignas(pack_elements * sizeof(T)) pack {
    T values[pack_elements];
  };

  KOKKOS_FORCEINLINE_FUNCTION int first_single() const { return threads_of_packs_ * Packs * pack_elements; }

  /// All loads before the first computation.
  template <std::size_t... I>
  KOKKOS_FORCEINLINE_FUNCTION void whole_packs(int first, std::index_sequence<I...>) const {
    loaded_packs<std::index_sequence<I...>> loaded[Packs];
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      loaded[which] = load_packs(first + which * stretch, std::index_sequence<I...>{});
    }
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      pack<Out> result;
      for (int lane = 0; lane < pack_elements; ++lane) {
        result.values[lane] = static_cast<Out>(formula_(load(loaded[which].template get<I>().values[lane])...));
      }
      reinterpret_cast<pack<Out>*>(output_)[first + which * stretch] = result;
    }
  }

  template <std::size_t I, class T>
  struct indexed_pack {
    pack<T> value;
  };
  template <class Sequence>
  struct loaded_packs;
  template <std::size_t... I>
  struct loaded_packs<std::index_sequence<I...>> : indexed_pack<I, In>... {
    template <std::size_t Which>
    KOKKOS_FORCEINLINE_FUNCTION const auto& get() const {
      using type = std::tuple_element_t<Which, std::tuple<In...>>;
      return static_cast<const indexed_pack<Which, type>&>(*this).value;
    }
  };

  template <std::size_t... I>
  KOKKOS_FORCEINLINE_FUNCTION auto load_packs(int which, std::index_sequence<I...>) const {
    return loaded_packs<std::index_sequence<I...>>{
        {reinterpret_cast<const pack<In>*>(inputs_.template get<I>())[which]}...};
  }

  template <std::size_t... I>
  KOKKOS_FORCEINLINE_FUNCTION void single_element(int which, std::index_sequence<I...>) const {
    if (which < count_) output_[which] = static_cast<Out>(formula_(load(inputs_.template get<I>()[which])...));
  }

  Formula formula_;
  Out* output_;
  input_pointers<In...> inputs_;
  int threads_of_packs_;  ///< none where an array is not aligned for packs
  int count_;
};

/// Arrays with strides of any kind: a stretch of the inner loop an iteration.
template <bool OnHost, class Formula, class Out, class... In>
class strided_kernel {
 public:
  /// With 256 threads nvcc takes 46 registers where 40 do.
  using launch_bounds = Kokkos::LaunchBounds<512>;
  static constexpr int count = 1 + static_cast<int>(sizeof...(In));
  static constexpr std::int64_t stretch = OnHost ? 1024 : 1;

  strided_kernel(const Formula& formula, Out* output, const input_pointers<In...>& inputs, const loop_nest<count>& nest)
      : formula_(formula), output_(output), inputs_(inputs), nest_(nest) {
    stretches_ = (nest.extents[nest.inner()] + stretch - 1) / stretch;
  }

  std::int64_t blocks() const {
    return nest_.size() == 0 ? 0 : nest_.size() / nest_.extents[nest_.inner()] * stretches_;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    std::int64_t rest = block / stretches_;
    std::int64_t offset[count] = {};
    for (int dimension = nest_.rank - 2; dimension >= 0; --dimension) {
      const std::int64_t index = rest % nest_.extents[dimension];
      rest /= nest_.extents[dimension];
      for (int which = 0; which < count; ++which) offset[which] += index * nest_.strides[which][dimension];
    }
    const std::int64_t begin = block % stretches_ * stretch;
    const std::int64_t extent = nest_.extents[nest_.inner()];
    const std::int64_t end = begin + stretch < extent ? begin + stretch : extent;
    walk(offset, begin, end, std::index_sequence_for<In...>{});
  }

 private:
  template <std::size_t... I>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const std::int64_t (&offset)[count], std::int64_t begin, std::int64_t end,
                                        std::index_sequence<I...>) const {
    const int inner = nest_.inner();
    if constexpr (OnHost) {
      // Copies: where elements are moved as words, these may alias anything, and so the members.
      const Formula formula = formula_;
      Out* const to = output_ + offset[0];
      const std::int64_t steps[count] = {nest_.strides[0][inner], nest_.strides[I + 1][inner]...};
      [[maybe_unused]] const input_pointers<In...> inputs = inputs_;
      for (std::int64_t i = begin; i < end; ++i) {
        to[i * steps[0]] =
            static_cast<Out>(formula(load((inputs.template get<I>() + offset[I + 1])[i * steps[I + 1]])...));
      }
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        output_[offset[0] + i * nest_.strides[0][inner]] = static_cast<Out>(
            formula_(load(inputs_.template get<I>()[offset[I + 1] + i * nest_.strides[I + 1][inner]])...));
      }
    }
  }

  Formula formula_;
  Out* output_;
  input_pointers<In...> inputs_;
  loop_nest<count> nest_;
  std::int64_t stretches_;
};

/// Enqueues a kernel for arrays that lie in one run each, on a device: a pack a thread in large blocks, because a
/// device starts some 1.6 blocks a nanosecond.
///
/// Formulas with one input, for which a pack is one load, were measured on an H200 to like other distributions of what
/// is more than all threads that run at the same time (docs/performance.md has the times). Two packs a thread take 2 to
/// 12 % less time of what caches hold, and 5 % less of 8 MB that they do not hold, 1 % more of 32 MB. Where memory is
/// the limit, a pack a thread in small blocks takes 1 % less than two packs; of 16-bit numbers, whose limit is
/// instructions, it takes 10 % more.
template <class Exec, class Formula, class Out, class... In>
void launch_contiguous_device_kernel(const Exec& instance, const std::string& label, const Formula& formula,
                                     Out* output, const input_pointers<In...>& inputs, std::int64_t count) {
  const auto launch = [&]<int Packs, int BlockThreads> {
    launch_blocks(instance, label,
                  contiguous_device_kernel<Packs, BlockThreads, Formula, Out, In...>(formula, output, inputs, count));
  };
  if constexpr (sizeof...(In) == 1) {
    using kernel = contiguous_device_kernel<1, 256, Formula, Out, In...>;
    constexpr std::int64_t large_count = (std::int64_t{1} << 26) / kernel::widest;
    if (count > std::int64_t{concurrency_of(instance)} * kernel::pack_elements) {
      const bool memory_is_the_limit = count >= large_count && kernel::widest > 2;
      return memory_is_the_limit ? launch.template operator()<1, 128>() : launch.template operator()<2, 128>();
    }
  }
  launch.template operator()<1, 256>();
}

/// Chooses the kernel for arrays of equal extents and enqueues output = formula(inputs...). `In` are the types of the
/// inputs; where a word stands for a number, of the same size.
template <class Out, class... In, class Exec, class Formula, std::same_as<array_ref>... Inputs>
void launch_elementwise(const Exec& instance, const std::string& label, const Formula& formula, std::size_t working_set,
                        const array_ref& output, const Inputs&... inputs) {
  static_assert(sizeof...(In) == sizeof...(Inputs));
  constexpr std::size_t element_bytes = (sizeof(Out) + ... + sizeof(In));  // nvcc cannot fold nothing in a lambda
  const auto nest = make_loop_nest(output, inputs...);
  const input_pointers<In...> from{{inputs.data...}};
  Out* const to = output.as<Out>();
  if (nest.size() == 0) return;
  if (!nest.contiguous()) {
    launch_blocks(instance, label, strided_kernel<is_host_space<Exec>, Formula, Out, In...>(formula, to, from, nest));
  } else if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(nest.size()) * element_bytes;
    const bool streaming = has_streaming_stores && should_stream(footprint, working_set);
    launch_blocks(instance, label,
                  contiguous_host_kernel<Formula, Out, In...>(formula, to, from, nest.size(), concurrency_of(instance),
                                                              streaming));
  } else {
    constexpr std::int64_t most = contiguous_device_kernel<1, 256, Formula, Out, In...>::most_elements;
    for (std::int64_t begin = 0; begin < nest.size(); begin += most) {
      launch_contiguous_device_kernel(instance, label, formula, to + begin, from.from(begin),
                                      std::min(nest.size() - begin, most));
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
