// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::data {

/// No file of data or weights may hold or promise more bytes: 1 TiB.
inline constexpr std::uint64_t most_content_bytes = std::uint64_t{1} << 40U;

/// Bytes read from the beginning to the end of a file, a pipe, standard input (`-`) or memory. Gzip is recognized by
/// its first bytes and inflated on the way, never further than what is asked for.
class byte_source {
 public:
  /// `kind` is what the file should be, for messages. \throws bench::file_error as bench::input_file
  [[nodiscard]] static byte_source of_file(const std::string& path, std::string_view kind = "data file");

  /// The bytes in memory, which outlive this object. `name` stands for the file in messages.
  [[nodiscard]] static byte_source of_bytes(std::string_view bytes, std::string name);

  byte_source(byte_source&&) noexcept;
  byte_source& operator=(byte_source&&) noexcept;
  ~byte_source();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_gzip() const { return inflater_ != nullptr; }

  /// How many bytes were read so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// How many bytes are left; unknown for gzip and for pipes.
  [[nodiscard]] std::optional<std::uint64_t> remaining() const;

  /// Reads `count` bytes, or fewer where the bytes end before.
  /// \throws bench::file_error where the machine refuses to read, or compressed data are damaged
  [[nodiscard]] std::size_t read(std::uint8_t* to, std::size_t count);

  /// Reads `count` bytes into a new array. The array grows with what arrives, so that a wrong count costs no memory.
  /// It is shorter where the bytes end before.
  [[nodiscard]] std::vector<std::uint8_t> read_vector(std::uint64_t count);

  /// Reads on and returns true if there is nothing more. Compressed data are checked to their end, then.
  [[nodiscard]] bool is_at_end();

  /// Refuses the bytes: `NAME: byte POSITION: WHAT`. \throws bench::file_error (input)
  [[noreturn]] void refuse(std::uint64_t place, std::string_view what) const;

 private:
  class inflater;
  using reader = std::function<std::size_t(char*, std::size_t)>;
  byte_source(std::string name, reader read, std::optional<std::uint64_t> size);
  void recognize_gzip();
  [[nodiscard]] std::size_t read_raw(std::uint8_t* to, std::size_t count);

  std::string name_;
  reader read_;
  std::optional<std::uint64_t> size_;
  std::vector<std::uint8_t> first_;  ///< read ahead, to recognize gzip
  std::size_t first_taken_ = 0;
  std::uint64_t position_ = 0;
  std::unique_ptr<inflater> inflater_;
};

}  // namespace prumo::data
