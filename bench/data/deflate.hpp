// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// All that prumo needs of zlib. Workers may be built without it: then gzip is refused with a message.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace prumo::data {

/// Inflates gzip data, which may consist of several members after each other.
class gzip_stream {
 public:
  gzip_stream();
  ~gzip_stream();
  gzip_stream(gzip_stream&&) noexcept;
  gzip_stream& operator=(gzip_stream&&) noexcept;

  struct step {
    std::size_t taken = 0;  ///< bytes of the input that were used
    std::size_t made = 0;   ///< bytes that were written
    std::string problem;    ///< what is wrong with the data; empty if nothing is
  };

  /// Fills `to` as far as the input goes.
  step inflate(std::span<const std::uint8_t> from, std::span<std::uint8_t> to);

  /// True between two members and after the last one, whose checksum was right.
  [[nodiscard]] bool is_complete() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Compresses the parts, one after the other, into one gzip member without a name and a time, so that equal bytes make
/// equal files. \throws bench::file_error where this build has no zlib
[[nodiscard]] std::string compress_gzip(std::span<const std::span<const std::uint8_t>> parts);

/// Compresses bytes into the format of zlib, which PNG uses. \throws bench::file_error as above
[[nodiscard]] std::string compress_zlib(std::span<const std::uint8_t> bytes);

/// The checksum of PNG. \throws bench::file_error as above
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::uint8_t> bytes);

}  // namespace prumo::data
