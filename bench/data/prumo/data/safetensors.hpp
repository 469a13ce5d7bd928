// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Weights in safetensors files: the length of a header as 8 bytes, the header as JSON, then the arrays. The header
/// names each array with its type, shape and place. docs/data.md describes what prumo reads and writes.

#include <prumo/data/byte_source.hpp>
#include <prumo/nets/shapes.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::data {

/// An array in a file.
struct tensor {
  std::string name;
  std::string type;  ///< as in the file: `F32`, `F64`, `F16`, `BF16`, `I64`, `U8`, ...
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  ///< little-endian, row by row

  /// How many numbers it holds.
  [[nodiscard]] std::int64_t size() const;
};

/// What a file holds.
struct tensor_file {
  std::map<std::string, std::string> metadata;
  std::vector<tensor> tensors;

  /// The array of this name, or a null pointer.
  [[nodiscard]] const tensor* find(std::string_view name) const;
};

/// The bytes of a number of this type; 0 for a type that is unknown.
[[nodiscard]] std::size_t bytes_of_type(std::string_view type);

/// Reads a file. Nothing is allocated that the file does not hold.
/// \throws bench::file_error that names the file, the place and the remedy. It refuses a header that is too long, cut
/// or
///         no JSON, keys that are there twice, types that are unknown, shapes that do not fit their bytes, arrays that
///         overlap or leave gaps, and missing or further bytes
[[nodiscard]] tensor_file read_tensors(const std::string& path);
[[nodiscard]] tensor_file read_tensors(byte_source source);

/// Writes a file as a whole: readers see the old one or the new one, also after a crash. Arrays of wide types come
/// first and the header's length is a multiple of eight, so each array is aligned for its type.
/// \throws bench::file_error where the system refuses; std::invalid_argument for arrays that read_tensors() would
/// refuse
void write_tensors(const std::string& path, const tensor_file& file);

/// An array of 32-bit floats.
[[nodiscard]] tensor tensor_of(std::string name, std::vector<std::int64_t> shape, std::span<const float> values);

/// The numbers of an array of F64, F32, F16 or BF16, rounded to float.
/// \throws std::invalid_argument for another type
[[nodiscard]] std::vector<float> floats_of(const tensor& which);

/// The numbers of an array, rounded to F64, F32, F16 or BF16: each becomes the nearest number of that type. If two are
/// equally near, it becomes the one whose last bit is zero.
/// \throws std::invalid_argument for another type, and for a number that is not finite or too large for the type; the
///         message names the array
[[nodiscard]] tensor in_type(const tensor& from, std::string_view type);

/// Weights for a net: one array for each of its parameters, in order.
using net_weights = std::vector<std::vector<float>>;

/// Takes the net's weights from a file. Arrays of other names are ignored if they begin with `optimizer.` or `state.`.
/// \throws bench::file_error for a missing or surplus array, another shape or type, and a number that is not finite;
///         the message names the array and the remedy
[[nodiscard]] net_weights weights_for(const nets::description& net, const tensor_file& file, std::string_view name);

}  // namespace prumo::data
