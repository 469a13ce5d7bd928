// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What an operation runs with: the caller's execution space instance, a workspace that grows, and the handles of
/// vendor libraries.

#include <prumo/detail/workspace.hpp>
#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

namespace prumo {

/// An execution space instance together with the memory and handles that operations need on it.
///
/// Make one from an instance and keep it: after the first call of each operation, the workspace and the handles are
/// there for the next ones. Only one thread at a time may use a context, so each thread makes its own. Contexts share
/// nothing and change no state of the process, with one exception. On an NVIDIA GPU, the first context whose
/// convolution needs constant memory reserves it until that context is destroyed. Other contexts compute without it,
/// with the same bits. The instance must outlive the context.
template <class Exec>
class context {
  static_assert(Kokkos::is_execution_space_v<Exec>, "prumo::context: Exec is not a Kokkos execution space");

 public:
  using execution_space = Exec;
  using memory_space = typename Exec::memory_space;

  explicit context(const Exec& instance = Exec{}) : instance_(instance) {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  context(context&&) noexcept = default;
  context& operator=(context&&) noexcept = default;

  /// Whether another context took over the memory and handles of this one. Operations then refuse this one.
  bool is_moved_from() const { return moved_from_.value; }

  /// The instance that every kernel of the operations is enqueued on.
  const Exec& instance() const { return instance_; }

  /// Memory for the temporaries of one call: at least `bytes` bytes, aligned for any scalar type, with undefined
  /// contents. The next call on this context reuses it, which is safe because the work of an instance runs in order. If
  /// it has to grow, the old block is freed and a new one is allocated. If the device has memory pools, this happens in
  /// the order of the instance's stream; otherwise it waits for all work on the device. The workspace cannot grow while
  /// the instance is captured in a graph, so call an operation once before the capture.
  ///
  /// Throws memory_error, with the size, if the memory cannot be allocated or is more than an adopted workspace has.
  void* workspace(std::size_t bytes) {
    if (adopted_ != nullptr) {
      if (bytes <= adopted_bytes_) return adopted_;
      throw memory_error("prumo::context: the adopted workspace has " + std::to_string(adopted_bytes_) +
                         " bytes, and this call needs " + std::to_string(bytes));
    }
    return workspace_.at_least(instance_, bytes);
  }

  /// From now on uses the caller's memory for temporaries and allocates none: `bytes` bytes that the instance can
  /// access, aligned to 256 bytes. The memory still belongs to the caller and must outlive the context. nullptr ends
  /// this. Vendor libraries still have workspaces of their own. On a device, reductions and products with vectors still
  /// allocate up to 48 KB, by which their teams exchange values.
  ///
  /// Throws argument_error if the memory is not aligned.
  void adopt_workspace(void* memory, std::size_t bytes) {
    constexpr std::uintptr_t alignment = 256;
    if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
      throw argument_error("prumo::context::adopt_workspace: the memory is not aligned to 256 bytes");
    }
    adopted_ = memory;
    adopted_bytes_ = memory == nullptr ? 0 : bytes;
  }

  /// Bytes of the workspace now.
  std::size_t workspace_bytes() const { return adopted_ != nullptr ? adopted_bytes_ : workspace_.bytes(); }

  /// Sets how many bytes the program touches between two uses of the same data, if that is more than the arrays of one
  /// operation. An example is a time step over many fields. On the host, outputs that cannot stay in the last-level
  /// cache until they are read again are written past it (streaming stores), and small matrices are prefetched. With 0,
  /// the default, only the arrays of each operation count.
  void set_working_set(std::size_t bytes) { working_set_ = bytes; }
  std::size_t working_set() const { return working_set_; }

  /// Whether the caller vouches for what prumo cannot find out quickly: that an output with very irregular strides
  /// shares no element with an input, and has no element at two indices. Without this, operations refuse such arrays.
  /// If prumo finds out that arrays overlap, they are refused in any case.
  void set_vouches_for_overlap(bool vouches) { vouches_for_overlap_ = vouches; }
  bool vouches_for_overlap() const { return vouches_for_overlap_; }

  /// An object of the given type that belongs to this context, for example a vendor library's handle for the instance.
  /// `make()` makes it at the first request.
  template <class Attachment, class Make>
  Attachment& attachment(Make&& make) {
    const std::type_index wanted(typeid(Attachment));
    for (auto& [type, object] : attachments_) {
      if (type == wanted) return *static_cast<Attachment*>(object.get());
    }
    attachments_.emplace_back(wanted, std::make_shared<Attachment>(std::forward<Make>(make)()));
    return *static_cast<Attachment*>(attachments_.back().second.get());
  }

  /// Waits for everything enqueued on the instance.
  void fence() const { instance_.fence("prumo::context::fence"); }

 private:
  /// Becomes true in an object that is moved from.
  struct moved_from_flag {
    bool value = false;
    moved_from_flag() = default;
    moved_from_flag(moved_from_flag&& other) noexcept : value(std::exchange(other.value, true)) {}
    moved_from_flag& operator=(moved_from_flag&& other) noexcept {
      value = std::exchange(other.value, true);
      return *this;
    }
  };

  Exec instance_;
  moved_from_flag moved_from_;
  detail::growing_workspace<Exec> workspace_;
  void* adopted_ = nullptr;
  std::size_t adopted_bytes_ = 0;
  std::size_t working_set_ = 0;
  bool vouches_for_overlap_ = false;
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> attachments_;
};

template <class T>
inline constexpr bool is_context_v = false;
template <class Exec>
inline constexpr bool is_context_v<context<Exec>> = true;

}  // namespace prumo
