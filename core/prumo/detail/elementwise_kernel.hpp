// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise kernel of arrays that each lie in memory without gaps, on a device, and the choice among all
/// kernels. A formula is a function object on scalars; the loops around it are here, in elementwise_host_kernel.hpp and
/// in elementwise_strided_kernel.hpp, once.

#include <prumo/array_ref.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/elementwise_arrays.hpp>
#include <prumo/detail/elementwise_host_kernel.hpp>
#include <prumo/detail/elementwise_strided_kernel.hpp>
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

/// Arrays that each lie in memory without gaps, on a device: an index for every `Packs` packs of 16 bytes, then one for
/// every element that is left. The time of small arrays is that of a thread's instructions. So there is no loop, and
/// indices have 32 bits. Longer arrays take several kernels.
template <int Packs, int BlockThreads, class Formula, class Out, class... In>
class contiguous_device_kernel {
 public:
  using index_type = int;
  static constexpr bool checks_index = true;
  static constexpr int block_threads = BlockThreads;
  using outputs = output_pointers<Out>;
  static constexpr std::size_t widest = std::max({outputs::widest, sizeof(In)...});
  static constexpr int pack_elements = static_cast<int>(16 / widest);
  /// The most elements of a kernel.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 30;

  contiguous_device_kernel(const Formula& formula, const outputs& to, const input_pointers<In...>& inputs,
                           std::int64_t count)
      : formula_(formula), outputs_(to), inputs_(inputs), count_(static_cast<int>(count)) {
    bool aligned = outputs_are_aligned(each_output<Out>{});
    std::size_t which = 0;
    ((aligned = aligned && is_aligned<In>(inputs.base[which++])), ...);
    threads_of_packs_ = aligned ? count_ / (stretch * Packs * pack_elements) * stretch : 0;
  }

  int blocks() const { return threads_of_packs_ + (count_ - first_single()); }

  KOKKOS_FUNCTION void operator()(int index) const {
    if (index < threads_of_packs_) {
      whole_packs(Packs == 1 ? index : index / stretch * (stretch * Packs) + index % stretch,
                  std::index_sequence_for<In...>{}, each_output<Out>{});
    } else {
      single_element(first_single() + (index - threads_of_packs_), std::index_sequence_for<In...>{},
                     each_output<Out>{});
    }
  }

 private:
  /// Neighbouring threads whose packs lie side by side: those of a warp, where each has several.
  static constexpr int stretch = Packs == 1 ? 1 : 32;

  template <class T>
  static bool is_aligned(const void* base) {
    return reinterpret_cast<std::uintptr_t>(base) % (pack_elements * sizeof(T)) == 0;
  }
  template <std::size_t... O>
  bool outputs_are_aligned(std::index_sequence<O...>) const {
    return (is_aligned<typename outputs::template type<O>>(outputs_.template get<O>()) && ...);
  }

  KOKKOS_FORCEINLINE_FUNCTION int first_single() const { return threads_of_packs_ * Packs * pack_elements; }

  /// All loads before the first computation.
  template <std::size_t... I, std::size_t... O>
  KOKKOS_FORCEINLINE_FUNCTION void whole_packs(int first, std::index_sequence<I...>, std::index_sequence<O...>) const {
    using loaded_packs = packs_of<pack_elements, std::index_sequence<I...>, In...>;
    using result_packs = packs_of<pack_elements, std::index_sequence<O...>, typename outputs::template type<O>...>;
    c_array<loaded_packs, Packs> loaded;
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      loaded[which] = loaded_packs{reinterpret_cast<const typename loaded_packs::template pack<I>*>(
          inputs_.template get<I>())[first + which * stretch]...};
    }
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      result_packs results;
      for (int lane = 0; lane < pack_elements; ++lane) {
        const auto& result = formula_(load(loaded[which].template get<I>().values[lane])...);
        ((results.template get<O>().values[lane] =
              static_cast<typename outputs::template type<O>>(outputs::template part<O>(result))),
         ...);
      }
      ((reinterpret_cast<typename result_packs::template pack<O>*>(
            outputs_.template get<O>())[first + which * stretch] = results.template get<O>()),
       ...);
    }
  }

  template <std::size_t... I, std::size_t... O>
  KOKKOS_FORCEINLINE_FUNCTION void single_element(int which, std::index_sequence<I...>,
                                                  std::index_sequence<O...>) const {
    if (which >= count_) return;
    const auto& result = formula_(load(inputs_.template get<I>()[which])...);
    ((outputs_.template get<O>()[which] =
          static_cast<typename outputs::template type<O>>(outputs::template part<O>(result))),
     ...);
  }

  Formula formula_;
  outputs outputs_;
  input_pointers<In...> inputs_;
  int threads_of_packs_;  ///< none where an array is not aligned for packs
  int count_;
};

/// Enqueues a kernel for arrays that each lie in memory without gaps, on a device: a pack a thread in large blocks,
/// because a device starts some 1.6 blocks a nanosecond.
///
/// A formula with one input has one load for each pack. If there are more packs than threads that run at the same time,
/// other choices are faster on an H200 (docs/performance-log.md has the times). Two packs a thread take 2 to 12 % less
/// time if caches hold the arrays. If not, they take 5 % less for 8 MB and 1 % more for 32 MB. If memory is the limit,
/// a pack a thread in small blocks takes 1 % less than two packs. For 16-bit numbers, whose limit is instructions, it
/// takes 10 % more.
template <class Exec, class Formula, class Out, class... In>
void launch_contiguous_device_kernel(const Exec& instance, const std::string& label, const Formula& formula,
                                     const output_pointers<Out>& to, const input_pointers<In...>& inputs,
                                     std::int64_t count) {
  const auto launch = [&]<int Packs, int BlockThreads> {
    launch_blocks(instance, label,
                  contiguous_device_kernel<Packs, BlockThreads, Formula, Out, In...>(formula, to, inputs, count));
  };
  if constexpr (sizeof...(In) == 1 && output_pointers<Out>::count == 1) {
    using kernel = contiguous_device_kernel<1, 256, Formula, Out, In...>;
    constexpr std::int64_t large_count = (std::int64_t{1} << 26) / kernel::widest;
    if (count > std::int64_t{concurrency_of(instance)} * kernel::pack_elements) {
      const bool memory_is_the_limit = count >= large_count && kernel::widest > 2;
      return memory_is_the_limit ? launch.template operator()<1, 128>() : launch.template operator()<2, 128>();
    }
  }
  launch.template operator()<1, 256>();
}

/// What a formula takes a host for this number of elements, with what is read and written.
template <class Formula, class Out, class... In>
constexpr host_work elementwise_work(std::int64_t elements) {
  constexpr bool is_wide = std::max({output_pointers<Out>::widest, sizeof(In)...}) > sizeof(float);
  constexpr double lanes_lost = is_wide ? 3 : 1;  // half of the lanes, and longer polynomials
  // With registers of 16 f32, a Zen 5 takes half of the usual time for arrays in the caches, and a third for formulas.
  // An Intel of the Skylake generation takes the usual time and more.
  constexpr bool is_quick = simd<float>::lanes >= 16 && compiled_for_zen;
  constexpr double of_memory = is_quick ? 0.45 : 1, of_formulas = is_quick ? 0.3 : 1;
  const host_work outputs = [&]<std::size_t... O>(std::index_sequence<O...>) {
    return host_work::streaming<typename output_pointers<Out>::template type<O>...>(elements);
  }(each_output<Out>{});
  const host_work arrays = outputs + host_work::streaming<In...>(elements);
  return host_work{of_memory * arrays.nanoseconds} +
         host_work::repeated(elements, of_formulas * lanes_lost * formula_nanoseconds<Formula>);
}

/// Chooses the kernel and enqueues outputs = formula(inputs...), for inputs that broadcast to the outputs. The arrays
/// are the outputs, whose types are `Out`, and the inputs, whose types are `In`; where a word stands for a number, of
/// the same size.
template <class Out, class... In, class Exec, class Formula, std::same_as<array_ref>... Arrays>
void launch_elementwise(const Exec& instance, const std::string& label, const Formula& formula, std::size_t working_set,
                        const Arrays&... outputs_then_inputs) {
  using outputs = output_pointers<Out>;
  static_assert(outputs::count + sizeof...(In) == sizeof...(Arrays));
  constexpr std::size_t element_bytes = (outputs::bytes + ... + sizeof(In));  // nvcc cannot fold nothing in a lambda
  const auto nest = make_loop_nest(outputs_then_inputs...);
  if (nest.size() == 0) return;
  const array_ref* const arrays[] = {&outputs_then_inputs...};
  const auto to = outputs::of(arrays);
  const auto from = input_pointers<In...>::of(arrays + outputs::count);
  const std::size_t footprint = static_cast<std::size_t>(nest.size()) * element_bytes;
  if (!nest.contiguous()) {
    constexpr double of_a_stride = 0.6;
    const host_work work = elementwise_work<Formula, Out, In...>(nest.size()) +
                           host_work::repeated(nest.size(), of_a_stride) + memory_work(footprint, working_set);
    launch_strided_kernel(instance, label, formula, to, from, nest, work);
  } else if constexpr (is_host_space<Exec>) {
    constexpr std::size_t few_bytes = 16384;
    const bool streaming = has_streaming_stores && should_stream(footprint, working_set, few_bytes);
    const host_work work = elementwise_work<Formula, Out, In...>(nest.size()) + memory_work(footprint, working_set);
    launch_blocks(instance, label,
                  contiguous_host_kernel<Formula, Out, In...>(formula, to, from, nest.size(),
                                                              threads_for(instance, work), streaming),
                  work);
  } else {
    constexpr std::int64_t most = contiguous_device_kernel<1, 256, Formula, Out, In...>::most_elements;
    for (std::int64_t begin = 0; begin < nest.size(); begin += most) {
      launch_contiguous_device_kernel(instance, label, formula, to.from(begin), from.from(begin),
                                      std::min(nest.size() - begin, most));
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
