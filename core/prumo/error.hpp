// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The exceptions of prumo. Every message begins with the operation's name. It describes each array concerned (label,
/// type, extents, strides, space) and says what was expected. Checks run in Release builds, too. The first four are
/// thrown before any Kokkos kernel is launched.

#include <stdexcept>
#include <string>

namespace prumo {

/// The base class of all exceptions of prumo.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Extents that do not fit one another or the operation.
class shape_error : public error {
 public:
  using error::error;
};

/// Arrays that overlap although the operation does not allow it.
class alias_error : public error {
 public:
  using error::error;
};

/// A parameter outside its range.
class argument_error : public error {
 public:
  using error::error;
};

/// A combination of type, layout, mode and backend that nothing implements.
class unsupported_error : public error {
 public:
  using error::error;
};

/// Memory that could not be allocated. The message says how much it was.
class memory_error : public error {
 public:
  using error::error;
};

/// A failure that a library or device reported.
class backend_error : public error {
 public:
  using error::error;
};

}  // namespace prumo
