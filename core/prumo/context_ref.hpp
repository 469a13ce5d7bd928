// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The type of an operation's first argument: a reference to a context or an instance whose execution space is known at
/// run time. Contexts and instances convert to it, so programs rarely name these classes.

#include <prumo/array_ref.hpp>
#include <prumo/context.hpp>
#include <prumo/spaces.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prumo {

/// The execution spaces that operations can be compiled for. A build has the spaces of its Kokkos.
enum class space_kind : std::uint8_t { serial, openmp, threads, cuda, hip };

/// The name that Kokkos gives to the space.
std::string_view space_name(space_kind space);

/// Whether kernels of the space may read and write such memory. It is true for memory that prumo does not know.
constexpr bool can_access(space_kind space, memory_kind memory) {
  switch (memory) {
    case memory_kind::host: return space != space_kind::cuda && space != space_kind::hip;
    case memory_kind::cuda: return space == space_kind::cuda;
    case memory_kind::cuda_managed:
    case memory_kind::cuda_pinned: return space != space_kind::hip;
    case memory_kind::hip: return space == space_kind::hip;
    case memory_kind::hip_managed:
    case memory_kind::hip_pinned: return space != space_kind::cuda;
    case memory_kind::other: break;
  }
  return true;
}

namespace detail {

template <class Exec>
struct space_kind_of;
PRUMO_IF_SERIAL(template <>
                struct space_kind_of<Kokkos::Serial> { static constexpr space_kind value = space_kind::serial; };)
PRUMO_IF_OPENMP(template <>
                struct space_kind_of<Kokkos::OpenMP> { static constexpr space_kind value = space_kind::openmp; };)
PRUMO_IF_THREADS(template <>
                 struct space_kind_of<Kokkos::Threads> { static constexpr space_kind value = space_kind::threads; };)
PRUMO_IF_CUDA(template <> struct space_kind_of<Kokkos::Cuda> { static constexpr space_kind value = space_kind::cuda; };)
PRUMO_IF_HIP(template <> struct space_kind_of<Kokkos::HIP> { static constexpr space_kind value = space_kind::hip; };)

/// Whether operations are compiled for an execution space.
template <class Exec>
concept compiled_space = requires { space_kind_of<Exec>::value; };

}  // namespace detail

/// Where work is enqueued: an instance of any execution space, with the settings of its context. It is meant for one
/// call, and the instance must outlive it.
class instance_ref {
 public:
  template <detail::compiled_space Exec>
  instance_ref(const Exec& instance)  // NOLINT(google-explicit-constructor): operations take either
      : space_(detail::space_kind_of<Exec>::value), instance_(&instance) {}

  template <detail::compiled_space Exec>
  instance_ref(const context<Exec>& owner)  // NOLINT(google-explicit-constructor)
      : space_(detail::space_kind_of<Exec>::value),
        is_moved_from_(owner.is_moved_from()),
        vouches_for_overlap_(owner.vouches_for_overlap()),
        instance_(&owner.instance()),
        working_set_(owner.working_set()) {}

  /// No other type says where work is enqueued. Without this overload, compilers list every conversion that they tried.
  template <class Other>
    requires(!detail::compiled_space<Other> && !std::derived_from<Other, instance_ref>)
  instance_ref(const Other& other) = delete;

  space_kind space() const { return space_; }

  /// context::working_set() of the context; 0 for an instance without a context.
  std::size_t working_set() const { return working_set_; }

  /// context::vouches_for_overlap() of the context; false for an instance without a context.
  bool vouches_for_overlap() const { return vouches_for_overlap_; }

  /// The instance. Exec must be the space that space() returns.
  template <class Exec>
  const Exec& instance() const {
    return *static_cast<const Exec*>(instance_);
  }

  /// Why no work can be enqueued there, in words that follow an operation's name; null if work can be enqueued.
  const char* why_unusable() const;

 private:
  space_kind space_;
  bool is_moved_from_ = false;
  bool vouches_for_overlap_ = false;
  const void* instance_;
  std::size_t working_set_ = 0;
};

/// A context of any execution space, for operations that need its memory or its handles.
class context_ref : public instance_ref {
 public:
  template <detail::compiled_space Exec>
  context_ref(context<Exec>& owner)  // NOLINT(google-explicit-constructor)
      : instance_ref(owner), context_(&owner) {}

  /// A const context or an instance has no memory to offer.
  template <class Other>
    requires(!std::derived_from<Other, context_ref>)
  context_ref(const Other& other) = delete;

  /// The context. Exec must be the space that space() returns.
  template <class Exec>
  context<Exec>& as() const {
    return *static_cast<context<Exec>*>(context_);
  }

 private:
  void* context_;
};

namespace detail {

/// Calls `visit.template operator()<Exec>()` for the execution space of that kind.
template <class Visitor>
void with_space(space_kind space, const Visitor& visit) {
  switch (space) {
    case space_kind::serial: PRUMO_IF_SERIAL(return visit.template operator()<Kokkos::Serial>();) break;
    case space_kind::openmp: PRUMO_IF_OPENMP(return visit.template operator()<Kokkos::OpenMP>();) break;
    case space_kind::threads: PRUMO_IF_THREADS(return visit.template operator()<Kokkos::Threads>();) break;
    case space_kind::cuda: PRUMO_IF_CUDA(return visit.template operator()<Kokkos::Cuda>();) break;
    case space_kind::hip: PRUMO_IF_HIP(return visit.template operator()<Kokkos::HIP>();) break;
  }
}

/// Calls `visit.template operator()<T>()` for a type that every operation takes (is_scalar_type()).
template <class Visitor>
void with_scalar(dtype type, const Visitor& visit) {
  switch (type) {
    case dtype::f32: return visit.template operator()<float>();
    case dtype::f64: return visit.template operator()<double>();
    case dtype::f16: return visit.template operator()<f16>();
    case dtype::bf16: return visit.template operator()<bf16>();
    default: break;
  }
}

/// Calls `visit.template operator()<Exec, T>()` for an execution space and a type that every operation takes.
template <class Visitor>
void with_space_and_scalar(space_kind space, dtype type, const Visitor& visit) {
  with_space(space, [&]<class Exec> { with_scalar(type, [&]<class T> { visit.template operator()<Exec, T>(); }); });
}

}  // namespace detail
}  // namespace prumo
