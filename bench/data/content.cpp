// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/byte_source.hpp>
#include <prumo/data/content.hpp>
#include <prumo/data/idx.hpp>
#include <prumo/files/file_error.hpp>
#include <prumo/files/file_identity.hpp>
#include <prumo/nets/description.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace prumo::data {
namespace {

constexpr std::string_view content_remedy = "name an IDX file, a safetensors file or a net's JSON file";

}  // namespace

file_kind kind_of_file(const std::string& path) {
  const auto known = nets::known_nets();
  std::error_code ignored;
  if (std::ranges::find(known, path) != known.end()) return file_kind::net;
  const bool is_there = std::filesystem::exists(path, ignored);
  if (bench::is_standard_input(path) || (is_there && !std::filesystem::is_regular_file(path, ignored))) {
    bench::refuse_file(path, "is no regular file; name one, because it is read more than once");
  }
  byte_source source = byte_source::of_file(path, "data file");
  std::array<std::uint8_t, 9> first{};
  const std::size_t count = source.read(first.data(), first.size());
  if (count == 0) bench::refuse_file(source.name(), "byte 0: the file is empty; " + std::string(content_remedy));
  // The length of a safetensors header has less than five bytes, and the header begins with a brace.
  const bool has_short_length =
      std::all_of(first.begin() + 4, first.begin() + 8, [](std::uint8_t it) { return it == 0; });
  if (count == first.size() && has_short_length && first[8] == '{') return file_kind::weights;
  if (first[0] == '{' || std::isspace(first[0]) != 0) return file_kind::net;
  if (first[0] == 0 && first[1] == 0) {
    return content_of(path) == idx_content::images ? file_kind::images : file_kind::labels;
  }
  source.refuse(0, "the file begins like none that prumo knows; " + std::string(content_remedy));
}

}  // namespace prumo::data
