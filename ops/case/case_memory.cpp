// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/case_memory.hpp>
#include <prumo/detail/huge_pages.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace prumo::cases {
namespace {

/// Copies that are larger have allocations of their own: there are few enough of them.
constexpr std::size_t largest_shared_copy = std::size_t{1} << 20;

/// From an array's begin to that of the next one: as far as with allocations of their own. Those of a device begin at
/// multiples of 512 bytes. On a host a header lies between them, so that the next array is never on a line that is
/// fetched together with the last one of this array.
template <class Exec>
std::size_t distance_behind(std::size_t bytes) {
  constexpr std::size_t step = is_host_space<Exec> ? 64 : 512, header = is_host_space<Exec> ? 128 : 0;
  return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step + header;
}

template <class Exec>
std::size_t distance_of_copies(const std::vector<std::size_t>& arrays) {
  return std::accumulate(arrays.begin(), arrays.end(), std::size_t{0},
                         [](std::size_t sum, std::size_t bytes) { return sum + distance_behind<Exec>(bytes); });
}

bool shares(std::size_t distance, std::size_t copies) { return copies > 1 && distance <= largest_shared_copy; }

}  // namespace

template <class Exec>
case_memory<Exec>::case_memory(context<Exec>& ctx, const std::string& label, std::vector<array> arrays,
                               std::size_t copies)
    : context_(ctx), label_(label), arrays_(std::move(arrays)), copies_(copies) {
  for (const array& each : arrays_) {
    offsets_.push_back(distance_);
    distance_ += distance_behind<Exec>(each.bytes);
  }
  is_shared_ = shares(distance_, copies);
  if (is_shared_) {
    shared_ = allocate("copies", copies * distance_);
    return;
  }
  own_.reserve(copies * arrays_.size());
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const array& each : arrays_) {
      own_.push_back(allocate(each.name, each.bytes));
      if constexpr (is_host_space<Exec>) prumo::detail::prefer_huge_pages(own_.back().data(), each.bytes);
    }
  }
}

template <class Exec>
std::size_t case_memory<Exec>::allocated_bytes(const std::vector<std::size_t>& arrays, std::size_t copies) {
  const std::size_t distance = distance_of_copies<Exec>(arrays);
  const std::size_t bytes = std::accumulate(arrays.begin(), arrays.end(), std::size_t{0});
  return copies * (shares(distance, copies) ? distance : bytes);
}

template <class Exec>
typename case_memory<Exec>::bytes_view case_memory<Exec>::allocate(const std::string& name, std::size_t bytes) const {
  try {
    return bytes_view(Kokkos::view_alloc(context_.instance(), Kokkos::WithoutInitializing, "prumo::case::" + name),
                      bytes);
  } catch (const std::exception& cause) {
    std::vector<std::size_t> sizes;
    for (const array& each : arrays_) sizes.push_back(each.bytes);
    const std::string what = is_shared_ ? std::to_string(copies_) + " copies of its arrays" : "array '" + name + "'";
    throw memory_error(label_ + ": " + what + " of " + std::to_string(bytes) + " bytes (" +
                       std::to_string(allocated_bytes(sizes, copies_)) +
                       " for the case) cannot be allocated: " + cause.what());
  }
}

template <class Exec>
void case_memory<Exec>::set(std::byte value) const {
  if (is_shared_) {
    const auto first = Kokkos::subview(shared_, std::pair(std::size_t{0}, distance_));
    return Kokkos::deep_copy(context_.instance(), first, value);
  }
  for (const bytes_view& each : own_) Kokkos::deep_copy(context_.instance(), each, value);
}

template <class Exec>
void case_memory<Exec>::spread() const {
  for (std::size_t done = 1; done < copies_; done *= 2) {
    const std::size_t now = std::min(done, copies_ - done);
    const auto of = [&](std::size_t first) {
      return Kokkos::subview(shared_, std::pair(first * distance_, (first + now) * distance_));
    };
    Kokkos::deep_copy(context_.instance(), of(done), of(0));
  }
}

#define PRUMO_INSTANTIATE_CASE_MEMORY(Space) template class case_memory<Space>;
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_CASE_MEMORY)
#undef PRUMO_INSTANTIATE_CASE_MEMORY

}  // namespace prumo::cases
