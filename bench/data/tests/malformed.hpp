// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::data {

/// A file that must be refused.
struct malformed {
  std::string name;                    ///< of the test
  std::string bytes;                   ///< the file
  std::vector<std::string> message{};  ///< what the message says: the place, what is wrong, the remedy
};

inline void PrintTo(const malformed& value, std::ostream* out) { *out << value.name; }

/// Expects that `read` refuses the bytes as its user's fault, with a message that begins with the file's name.
template <class Read>
void expect_refusal(const malformed& file, Read read) {
  try {
    read(file.bytes, "bad-file");
  } catch (const bench::file_error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.why(), bench::file_error::cause::input) << message;
    EXPECT_THAT(message, ::testing::StartsWith("bad-file: "));
    for (const std::string& part : file.message) EXPECT_THAT(message, ::testing::HasSubstr(part));
    EXPECT_THAT(message, ::testing::HasSubstr("; ")) << "a message ends with what to do";
    return;
  }
  ADD_FAILURE() << file.name << " was read";
}

/// 32-bit numbers, big-endian.
inline std::string big_endian(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFFU);
  }
  return bytes;
}

/// 32-bit numbers, little-endian.
inline std::string little_endian(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xFFU);
  }
  return bytes;
}

}  // namespace prumo::data
