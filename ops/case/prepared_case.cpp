// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compare.hpp"
#include "fill_arrays.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace prumo::cases {
namespace {

std::int64_t element_count(const array_specification& array) {
  std::int64_t product = 1;
  for (const std::int64_t extent : array.extents) product *= extent;
  return product;
}

std::int64_t elements_spanned(const array_specification& array, array_layout layout) {
  if (element_count(array) == 0) return 0;
  const std::vector<std::int64_t> strides = strides_of(array.extents, layout);
  std::int64_t last = 0;
  for (std::size_t dimension = 0; dimension < strides.size(); ++dimension) {
    last += (array.extents[dimension] - 1) * strides[dimension];
  }
  return last + 1;
}

/// The array in memory that begins at `data`. Messages call it by its name in the case.
template <class MemorySpace>
array_ref describe(const array_specification& array, const specification& choice, void* data) {
  array_ref result;
  result.data = data;
  result.type = element_type(array, choice.type);
  result.memory = prumo::detail::memory_kind_of<MemorySpace>();
  result.rank = static_cast<int>(array.extents.size());
  std::ranges::copy(array.extents, result.extents);
  std::ranges::copy(strides_of(array.extents, choice.layout), result.strides);
  result.labelled = &array.name;
  result.read_label = [](const void* name) { return *static_cast<const std::string*>(name); };
  return result;
}

/// A line of a cache. On the devices at hand a sector is half of it.
constexpr std::size_t line_bytes = 64;

std::vector<std::size_t> bytes_of_arrays(const std::vector<array_specification>& arrays, dtype type,
                                         array_layout layout) {
  std::vector<std::size_t> bytes;
  for (const array_specification& array : arrays) {
    bytes.push_back(static_cast<std::size_t>(elements_spanned(array, layout)) * element_bytes(array, type));
  }
  return bytes;
}

template <class Exec>
std::vector<typename case_memory<Exec>::array> wanted_memory(const std::vector<array_specification>& arrays,
                                                             const specification& choice) {
  const std::vector<std::size_t> bytes = bytes_of_arrays(arrays, choice.type, choice.layout);
  std::vector<typename case_memory<Exec>::array> wanted;
  for (std::size_t which = 0; which < arrays.size(); ++which) wanted.push_back({arrays[which].name, bytes[which]});
  return wanted;
}

std::vector<array_specification> checked_arrays(const specification& choice, std::vector<array_specification> arrays) {
  for (const array_specification& array : arrays) {
    if (array.extents.size() <= static_cast<std::size_t>(max_rank)) continue;
    throw argument_error(choice.op + ": array '" + array.name + "' of its case has rank " +
                         std::to_string(array.extents.size()) + "; the highest is " + std::to_string(max_rank));
  }
  return arrays;
}

}  // namespace

std::size_t footprint_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout) {
  const std::vector<std::size_t> bytes = bytes_of_arrays(arrays, type, layout);
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

std::size_t touched_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout) {
  std::size_t touched = 0;
  for (array_specification array : arrays) {
    if (array.rows_read) array.extents[0] = std::min(array.extents[0], *array.rows_read);
    touched += (footprint_bytes({array}, type, layout) + line_bytes - 1) / line_bytes * line_bytes;
  }
  return touched;
}

template <class Exec>
prepared_case<Exec>::prepared_case(context<Exec>& ctx, const operation_case<Exec>& operation,
                                   const specification& choice, std::size_t copies)
    : context_(ctx),
      operation_(operation),
      choice_(choice),
      specifications_(checked_arrays(choice, operation.arrays(choice.shape, choice.values))),
      memory_(ctx, choice.op, wanted_memory<Exec>(specifications_, choice), copies) {
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    arrays_.push_back(describe<typename Exec::memory_space>(specifications_[which], choice_, memory_.data(0, which)));
  }
  // What lies between the elements is no element: every type's bytes of ones are a NaN, or no index.
  if (choice_.layout == array_layout::strided || memory_.is_shared()) memory_.set(std::byte{0xff});
  for (std::size_t copy = 0; copy < (memory_.is_shared() ? 1 : copies); ++copy) {
    point_to(copy);
    fill_inputs();
    fill_outputs();
  }
  if (memory_.is_shared()) memory_.spread();
  bind();
  context_.fence();
}

template <class Exec>
std::size_t prepared_case<Exec>::allocated_bytes(const std::vector<array_specification>& arrays,
                                                 const specification& choice, std::size_t copies) {
  return case_memory<Exec>::allocated_bytes(bytes_of_arrays(arrays, choice.type, choice.layout), copies);
}

template <class Exec>
typename prepared_case<Exec>::array_memory prepared_case<Exec>::memory_of(std::size_t copy, std::size_t which) const {
  return {memory_.data(copy, which), memory_.bytes(which), specifications_[which].role};
}

template <class Exec>
void prepared_case<Exec>::fill(std::size_t which) {
  const Exec& instance = context_.instance();
  const array_ref& target = arrays_[which];
  const array_specification& array = specifications_[which];
  const detail::element_order order(target);
  const std::int64_t count = element_count(array);
  with_element_type(array, choice_.type, [&]<class T>(T) {
    T* const data = target.template as<T>();
    if (array.role == array_role::output) {
      prumo::detail::launch_blocks(instance, "prumo::case::poison", detail::poison_kernel<T>{data, order, count});
    } else if constexpr (std::is_integral_v<T>) {
      prumo::detail::launch_blocks(
          instance, "prumo::case::fill_indices",
          detail::fill_indices_kernel<T>{data, order, count, choice_.seed, which, *array.indices_below});
    } else {
      const bool positive = array.domain == input_domain::positive;
      prumo::detail::launch_blocks(instance, "prumo::case::fill_uniform",
                                   detail::fill_uniform_kernel<T>{data, order, count, choice_.seed, which, positive});
    }
  });
}

template <class Exec>
void prepared_case<Exec>::fill_inputs() {
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role == array_role::input) fill(which);
  }
}

template <class Exec>
void prepared_case<Exec>::fill_outputs() {
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role != array_role::input) fill(which);
  }
}

template <class Exec>
bool prepared_case<Exec>::reads_results() const {
  return std::ranges::any_of(specifications_,
                             [](const array_specification& it) { return it.role == array_role::input_output; });
}

template <class Exec>
check_result prepared_case<Exec>::verify(double budget, const std::function<void()>& call, kept_reference* kept,
                                         std::size_t copy) {
  point_to(copy);
  fill_outputs();
  if (call) {
    call();
  } else {
    run(copy);
  }
  context_.fence();

  std::vector<detail::host_output> outputs(specifications_.size());
  using result_bytes = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<decltype(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, std::declval<result_bytes>()))> mirrors;
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role == array_role::input) continue;
    const result_bytes there(memory_.data(copy, which), memory_.bytes(which));
    mirrors.push_back(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, there));
    outputs[which] = {mirrors.back().data(), specifications_[which], choice_.type,
                      detail::element_order(arrays_[which]), element_count(specifications_[which])};
  }

  const std::int64_t parts = operation_.reference_parts(choice_.shape, choice_.values);
  const double part_cost = std::max(1.0, operation_.reference_part_cost(choice_.shape, choice_.values));
  if (kept != nullptr) kept->resize(static_cast<std::size_t>(parts));
  const auto reference = [&](std::int64_t part, std::vector<reference_entry>& scratch) {
    // Threads share the parts out, so that no other one looks at this entry.
    std::vector<reference_entry>& entries = kept == nullptr ? scratch : (*kept)[static_cast<std::size_t>(part)];
    if (entries.empty()) operation_.reference(choice_, input_values(choice_), part, entries);
    return std::span<const reference_entry>(entries);
  };
  return detail::compare(outputs, parts, detail::parts_within(budget, parts, part_cost), reference);
}

#define PRUMO_INSTANTIATE_PREPARED_CASE(Space) template class prepared_case<Space>;
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PREPARED_CASE)

}  // namespace prumo::cases
