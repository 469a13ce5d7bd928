// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Checkpoints: all that a training needs to go on, in a safetensors file. docs/training.md describes what is in it.

#include <prumo/data/safetensors.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::data {

/// A training at one moment.
struct checkpoint {
  using texts = std::map<std::string, std::string>;

  texts identity;    ///< what makes it this training: net, data, type, options
  texts conditions;  ///< what its bits depend on beside that: build, device, way to compute
  std::string note;  ///< a text of whoever wrote it

  /// The weights under their names, and further arrays whose names begin with `optimizer.` or `state.`, so that a
  /// checkpoint also serves as a file of weights.
  std::vector<tensor> arrays;

  /// The array of this name, or a null pointer.
  [[nodiscard]] const tensor* find(std::string_view name) const;
};

/// Writes a checkpoint as a whole: readers see the old one or the new one, also after a crash.
/// \throws bench::file_error where the system refuses, or for an array with a number that is not finite; the old
///         checkpoint stays then
void write_checkpoint(const std::string& path, const checkpoint& content);

/// Reads a checkpoint of the same training.
/// \param expected the identity and conditions of the training that goes on, and its arrays with their names, types
///        and shapes; their bytes are not looked at
/// \param allow_mixed whether the conditions may differ
/// \throws bench::file_error that names the file and the reason: a file that was cut, is no checkpoint, was changed
///         after it was written, belongs to another training, was written under other conditions, lacks an array or
///         holds a number that is not finite
[[nodiscard]] checkpoint read_checkpoint(const std::string& path, const checkpoint& expected, bool allow_mixed = false);

/// Whether a file is a checkpoint, of any training and version.
[[nodiscard]] bool is_checkpoint(const tensor_file& file);

/// The digest of the bytes of some arrays, one after the other in this order.
[[nodiscard]] std::string digest_of(const std::vector<tensor>& arrays);

/// An array of 64-bit floats, and its numbers.
[[nodiscard]] tensor tensor_of_doubles(std::string name, std::vector<std::int64_t> shape,
                                       std::span<const double> values);
/// The numbers of an array of F64 or F32 as they are. \throws std::invalid_argument for another type
[[nodiscard]] std::vector<double> doubles_of(const tensor& which);

}  // namespace prumo::data
