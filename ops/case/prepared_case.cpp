// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compare.hpp"
#include "fill_arrays.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/detail/huge_pages.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <string>

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

}  // namespace

std::size_t footprint_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout) {
  std::size_t bytes = 0;
  for (const array_specification& array : arrays) {
    bytes += static_cast<std::size_t>(elements_spanned(array, layout)) * element_bytes(array, type);
  }
  return bytes;
}

std::size_t touched_bytes(const std::vector<array_specification>& arrays, dtype type, array_layout layout) {
  std::vector<array_specification> touched = arrays;
  for (array_specification& array : touched) {
    if (array.rows_read) array.extents[0] = std::min(array.extents[0], *array.rows_read);
  }
  return footprint_bytes(touched, type, layout);
}

template <class Exec>
prepared_case<Exec>::prepared_case(context<Exec>& ctx, const operation_case<Exec>& operation,
                                   const specification& choice, std::size_t copies)
    : context_(ctx),
      operation_(operation),
      choice_(choice),
      specifications_(operation.arrays(choice.shape, choice.values)),
      footprint_(copies * cases::footprint_bytes(specifications_, choice.type, choice.layout)) {
  for (const array_specification& array : specifications_) {
    if (array.extents.size() <= static_cast<std::size_t>(max_rank)) continue;
    throw argument_error(choice.op + ": array '" + array.name + "' of its case has rank " +
                         std::to_string(array.extents.size()) + "; the highest is " + std::to_string(max_rank));
  }
  allocate(copies);
  bind();
  for (const std::vector<array_ref>& arrays : copies_) {
    fill_inputs(arrays);
    fill_outputs(arrays);
  }
  context_.fence();
}

template <class Exec>
typename prepared_case<Exec>::array_memory prepared_case<Exec>::memory_of(std::size_t copy, std::size_t which) const {
  const bytes_view& allocation = allocations_[copy * specifications_.size() + which];
  return {allocation.data(), allocation.extent(0), specifications_[which].role};
}

template <class Exec>
void prepared_case<Exec>::allocate(std::size_t copies) {
  for (std::size_t copy = 0; copy < copies; ++copy) {
    std::vector<array_ref> arrays;
    for (const array_specification& array : specifications_) {
      const std::size_t bytes =
          static_cast<std::size_t>(elements_spanned(array, choice_.layout)) * element_bytes(array, choice_.type);
      try {
        allocations_.emplace_back(
            Kokkos::view_alloc(context_.instance(), Kokkos::WithoutInitializing, "prumo::case::" + array.name), bytes);
      } catch (const std::exception& cause) {
        throw memory_error(choice_.op + ": array '" + array.name + "' of " + std::to_string(bytes) + " bytes (" +
                           std::to_string(footprint_) + " for the case) cannot be allocated: " + cause.what());
      }
      if constexpr (is_host_space<Exec>) prumo::detail::prefer_huge_pages(allocations_.back().data(), bytes);
      if (choice_.layout == array_layout::strided) {
        // What lies between the elements is no element: every type's bytes of ones are a NaN, or no index.
        Kokkos::deep_copy(context_.instance(), allocations_.back(), std::byte{0xff});
      }
      arrays.push_back(describe<typename Exec::memory_space>(array, choice_, allocations_.back().data()));
    }
    copies_.push_back(std::move(arrays));
  }
}

template <class Exec>
void prepared_case<Exec>::bind() {
  calls_.clear();
  for (const std::vector<array_ref>& arrays : copies_) {
    calls_.push_back(operation_.repeatable_call(context_, choice_, arrays));
  }
}

template <class Exec>
void prepared_case<Exec>::fill(const array_ref& target, std::size_t which) {
  const Exec& instance = context_.instance();
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
void prepared_case<Exec>::fill_inputs(case_arrays arrays) {
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role == array_role::input) fill(arrays[which], which);
  }
}

template <class Exec>
void prepared_case<Exec>::fill_outputs(case_arrays arrays) {
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role != array_role::input) fill(arrays[which], which);
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
  fill_outputs(copies_.at(copy));
  if (call) {
    call();
  } else {
    run(copy);
  }
  context_.fence();

  std::vector<detail::host_output> outputs(specifications_.size());
  std::vector<Kokkos::View<std::byte*, Kokkos::HostSpace>> mirrors;
  for (std::size_t which = 0; which < specifications_.size(); ++which) {
    if (specifications_[which].role == array_role::input) continue;
    const bytes_view& allocation = allocations_[copy * specifications_.size() + which];
    mirrors.push_back(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, allocation));
    outputs[which] = {mirrors.back().data(), specifications_[which], choice_.type,
                      detail::element_order(copies_[copy][which]), element_count(specifications_[which])};
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
