// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What an operation runs with: the caller's execution space instance, a workspace that grows, and the handles that
/// vendor libraries want.

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
/// Make one from an instance and keep it: the workspace and the handles are warm after the first call of each
/// operation. Used by one thread at a time; threads that work side by side make a context each. Nothing in it is
/// shared between contexts and it changes no process-wide state. The instance must outlive the context.
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

  /// Whether another context took over this one's memory and handles. Operations refuse it then.
  bool is_moved_from() const { return moved_from_.value; }

  /// The instance that every kernel of the operations is enqueued on.
  const Exec& instance() const { return instance_; }

  /// Memory for temporaries of one call: at least `bytes` bytes, aligned for any scalar type, contents undefined. The
  /// next call on this context reuses it, which the order of the instance makes safe. Where it has to grow, the old
  /// block is freed and a new one allocated: in the order of the instance's stream where the device has memory pools,
  /// else by a call that waits for all work on the device. It cannot grow while the instance is captured in a graph:
  /// call an operation once before.
  ///
  /// Throws memory_error with the size asked for where it cannot be had, or exceeds an adopted workspace.
  void* workspace(std::size_t bytes) {
    if (adopted_ != nullptr) {
      if (bytes <= adopted_bytes_) return adopted_;
      throw memory_error("prumo::context: the adopted workspace has " + std::to_string(adopted_bytes_) +
                         " bytes, and this call needs " + std::to_string(bytes));
    }
    return workspace_.at_least(instance_, bytes);
  }

  /// Uses the caller's memory for temporaries from now on, and allocates none: `bytes` bytes that the instance can
  /// access, aligned to 256 bytes. They stay the caller's and must outlive the context. nullptr ends it. Vendor
  /// libraries keep workspaces of their own, and reductions and products with vectors up to 48 KB by which their teams
  /// meet, on a device.
  ///
  /// Throws argument_error where the memory is not aligned.
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

  /// Tells how many bytes the caller touches between two uses of the same data, where that is more than one
  /// operation's own arrays: a time step over many fields, say. On the host, outputs that cannot stay in the
  /// last-level cache until they are read again are written past it (streaming stores). 0, the default, judges each
  /// operation by its own arrays.
  void set_working_set(std::size_t bytes) { working_set_ = bytes; }
  std::size_t working_set() const { return working_set_; }

  /// Whether the caller vouches for what prumo cannot decide quickly: that an output with very irregular strides shares
  /// no element with an input, and none between its own indices. Operations refuse such arrays otherwise. What prumo
  /// finds to overlap is refused all the same.
  void set_vouches_for_overlap(bool vouches) { vouches_for_overlap_ = vouches; }
  bool vouches_for_overlap() const { return vouches_for_overlap_; }

  /// An object of the given type that belongs to this context, made by `make()` at the first request: a vendor
  /// library's handle bound to the instance, for example.
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
