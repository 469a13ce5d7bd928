// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace prumo::data {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces.
class sha256 {
 public:
  void update(std::span<const std::uint8_t> bytes);

  /// The digest of all bytes so far, 64 hexadecimal digits. More bytes may follow.
  [[nodiscard]] std::string digest() const;

 private:
  void take_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                      0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t count_ = 0;
};

/// The digest of these bytes.
[[nodiscard]] std::string sha256_of(std::span<const std::uint8_t> bytes);

}  // namespace prumo::data
