// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What prumo throws. Every message begins with the operation's name, describes each array concerned (label, type,
/// extents, strides, space), and says what was expected. Checks run in Release builds too; no Kokkos kernel has been
/// launched when one of the first four is thrown.

#include <stdexcept>
#include <string>

namespace prumo {

/// The base of everything that prumo throws.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Extents that do not fit one another or the operation.
class shape_error : public error {
 public:
  using error::error;
};

/// Arrays that overlap where the operation does not allow it.
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

/// Memory that could not be had; the message tells how much was asked for.
class memory_error : public error {
 public:
  using error::error;
};

/// A library or device that reported a failure.
class backend_error : public error {
 public:
  using error::error;
};

}  // namespace prumo
