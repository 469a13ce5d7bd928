// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/sha256.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace prumo::data {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(sha256, has_the_digests_of_the_standard) {
  EXPECT_EQ(sha256_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of(bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256, does_not_depend_on_the_pieces) {
  const std::vector<std::uint8_t> million(1000000, 'a');
  const std::string expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
  EXPECT_EQ(sha256_of(million), expected);
  sha256 sum;
  for (std::size_t at = 0, piece = 1; at < million.size(); at += piece, piece = piece % 200 + 1) {
    sum.update(std::span(million).subspan(at, std::min(piece, million.size() - at)));
  }
  EXPECT_EQ(sum.digest(), expected);
}

}  // namespace
}  // namespace prumo::data
