// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The memory of a case's arrays, which may be there many times over.

#include <prumo/context.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace prumo::cases {

/// The arrays of a case in the memory of a space, in one or more copies. A large array has an allocation of its own, as
/// in a program. Where a copy is small, millions of them may be needed to pass the caches, and each allocation takes a
/// device some 100 us. So all copies then share one, one behind the other, with the gaps that allocations would have.
template <class Exec>
class case_memory {
 public:
  /// What is asked for: an array's name, for messages, and its bytes.
  struct array {
    std::string name;
    std::size_t bytes;
  };

  /// Allocates on the context's instance. Throws memory_error that begins with `label`.
  case_memory(context<Exec>& ctx, const std::string& label, std::vector<array> arrays, std::size_t copies);

  /// Bytes that are allocated for so many copies of arrays that have these bytes, up to what allocations add.
  static std::size_t allocated_bytes(const std::vector<std::size_t>& arrays, std::size_t copies);

  std::size_t copies() const { return copies_; }
  std::byte* data(std::size_t copy, std::size_t which) const {
    return is_shared_ ? shared_.data() + copy * distance_ + offsets_[which]
                      : own_[copy * arrays_.size() + which].data();
  }
  std::size_t bytes(std::size_t which) const { return arrays_[which].bytes; }

  /// Whether all copies lie in one allocation, so that spread() makes them.
  bool is_shared() const { return is_shared_; }

  /// Sets all bytes of all copies, or of the first one where spread() makes the others. Enqueued on the context's
  /// instance.
  void set(std::byte value) const;

  /// Makes all copies equal to the first one. Enqueued on the context's instance.
  /// \pre is_shared()
  void spread() const;

 private:
  using bytes_view = Kokkos::View<std::byte*, typename Exec::memory_space>;

  bytes_view allocate(const std::string& name, std::size_t bytes) const;

  context<Exec>& context_;
  std::string label_;
  std::vector<array> arrays_;
  std::size_t copies_;
  bool is_shared_;
  std::size_t distance_ = 0;          ///< from a copy to the next one, in bytes
  std::vector<std::size_t> offsets_;  ///< of the arrays in a copy
  bytes_view shared_;
  std::vector<bytes_view> own_;  ///< [copy][array]
};

}  // namespace prumo::cases
