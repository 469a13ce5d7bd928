// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/sha256.hpp>
#include <prumo/data/weights_file.hpp>

#include <charconv>
#include <filesystem>
#include <utility>

namespace prumo::data {
namespace {

namespace fs = std::filesystem;

std::string text_at(const tensor_file& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? std::string() : found->second;
}

/// The share, if the text is a number from 0 to 1. People write the metadata, so it may be any other text.
std::optional<double> share_of(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_share = failure == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1;
  return is_share ? std::optional(value) : std::nullopt;
}

}  // namespace

weights_file read_weights(const std::string& path) {
  const std::vector<std::uint8_t> bytes =
      byte_source::of_file(path, "safetensors file").read_vector(most_content_bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // char may alias bytes
  weights_file file{path, sha256_of(bytes), read_tensors(byte_source::of_bytes(text, path)), {}, {}};
  file.trained_on = text_at(file.tensors, "data");
  file.stated_accuracy = share_of(text_at(file.tensors, "test_accuracy"));
  return file;
}

std::string find_weights(std::string_view net, std::span<const std::string> folders, std::string_view data) {
  const std::string name = std::string(net) + "-" + std::string(data) + ".safetensors";
  for (const std::string& folder : folders) {
    for (const fs::path& place :
         {fs::path(folder) / "weights", fs::path(folder) / ".." / "share" / "prumo" / "weights"}) {
      std::error_code ignored;
      if (fs::is_regular_file(place / name, ignored)) return (place / name).lexically_normal().string();
    }
  }
  return {};
}

}  // namespace prumo::data
