// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inputs of the fuzzers as ordinary tests, for builds without libFuzzer: what once crashed stays mended.
#include "fuzz_targets.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace prumo::bench::fuzz {
namespace {

struct target {
  const char* name;
  void (*run)(std::string_view);
};

void PrintTo(const target& value, std::ostream* out) { *out << value.name; }

class corpus : public ::testing::TestWithParam<target> {};

TEST_P(corpus, is_read_or_refused) {
  const std::filesystem::path folder = std::filesystem::path(PRUMO_FUZZ_CORPUS) / GetParam().name;
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    GetParam().run(text);
    // Truncated files are the most frequent kind of broken ones.
    for (std::size_t part = 1; part < 8; ++part)
      GetParam().run(std::string_view(text).substr(0, text.size() * part / 8));
    ++inputs;
  }
  EXPECT_GT(inputs, 0U) << folder;
}

INSTANTIATE_TEST_SUITE_P(fuzz, corpus,
                         ::testing::Values(target{"results", results}, target{"foreign_formats", foreign_formats},
                                           target{"protocol", protocol}, target{"units", units},
                                           target{"command_line", command_line}, target{"idx", idx},
                                           target{"gzip", gzip}, target{"safetensors", safetensors},
                                           target{"net", net}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace prumo::bench::fuzz
