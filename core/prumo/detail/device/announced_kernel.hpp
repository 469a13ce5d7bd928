// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>

namespace prumo::detail {

/// Announces a kernel that no policy of Kokkos launches to Kokkos' tools, as Kokkos::parallel_for does.
class announced_kernel {
 public:
  template <class Exec>
  announced_kernel(const Exec& instance, const std::string& label) : announced_(Kokkos::Tools::profileLibraryLoaded()) {
    if (announced_) Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance), &number_);
  }
  ~announced_kernel() {
    if (announced_) Kokkos::Tools::endParallelFor(number_);
  }
  announced_kernel(const announced_kernel&) = delete;
  announced_kernel& operator=(const announced_kernel&) = delete;

 private:
  bool announced_;
  std::uint64_t number_ = 0;
};

}  // namespace prumo::detail
