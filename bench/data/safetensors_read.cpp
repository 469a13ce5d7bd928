// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "strict_json.hpp"
#include <prumo/data/safetensors.hpp>
#include <prumo/files/file_error.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace prumo::data {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = std::uint64_t{1} << 24U;  // a hundred thousand arrays
constexpr std::size_t most_extents = 32;

constexpr std::string_view write_anew = "; fetch or copy the file again, or write it anew";

struct known_type {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<known_type, 15> types{{{"F64", 8},
                                            {"I64", 8},
                                            {"U64", 8},
                                            {"F32", 4},
                                            {"I32", 4},
                                            {"U32", 4},
                                            {"F16", 2},
                                            {"BF16", 2},
                                            {"I16", 2},
                                            {"U16", 2},
                                            {"F8_E4M3", 1},
                                            {"F8_E5M2", 1},
                                            {"I8", 1},
                                            {"U8", 1},
                                            {"BOOL", 1}}};

/// An array that the header announces.
struct announced {
  tensor what;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// One entry of the header.
class entry {
 public:
  entry(const byte_source& source, const std::string& name, const json& value)
      : source_(source), name_(name), value_(value) {
    if (!value.is_object()) refuse("is " + shown(value) + ", and an object is needed");
    for (const auto& [key, ignored] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        refuse("has the unknown key '" + key.substr(0, 40) + "'");
    }
  }

  [[nodiscard]] announced read() const {
    announced result;
    result.what.name = name_;
    result.what.type = type();
    std::uint64_t bytes = bytes_of_type(result.what.type);
    const json& shape = at("shape", json::value_t::array);
    if (shape.size() > most_extents) refuse("has " + std::to_string(shape.size()) + " extents, more than 32");
    for (const json& extent : shape) {
      const std::uint64_t value = number("shape", extent);
      if (value != 0 && bytes > most_content_bytes / value)
        refuse("has the shape " + shown(shape) + ", more than 1 TiB");
      bytes *= value;
      result.what.shape.push_back(static_cast<std::int64_t>(value));
    }
    const json& offsets = at("data_offsets", json::value_t::array);
    if (offsets.size() != 2) refuse("has " + std::to_string(offsets.size()) + " data_offsets instead of two");
    result.begin = number("data_offsets", offsets[0]);
    result.end = number("data_offsets", offsets[1]);
    if (result.end < result.begin || result.end - result.begin != bytes) {
      refuse("has the data_offsets " + shown(offsets) + ", and " + result.what.type + " of shape " + shown(shape) +
             " takes " + std::to_string(bytes) + " bytes");
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    bench::refuse_file(source_.name(), "array '" + name_.substr(0, 100) + "' " + what + std::string(write_anew));
  }

  const json& at(const char* key, json::value_t type) const {
    const auto found = value_.find(key);
    if (found == value_.end()) refuse(std::string("has no ") + key);
    if (found->type() != type) refuse(std::string("has the ") + key + " " + shown(*found));
    return *found;
  }

  [[nodiscard]] std::string type() const {
    auto name = at("dtype", json::value_t::string).get<std::string>();
    if (bytes_of_type(name) == 0) refuse("has the unknown dtype '" + name.substr(0, 40) + "'");
    return name;
  }

  [[nodiscard]] std::uint64_t number(const char* key, const json& value) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most_content_bytes) {
      refuse(std::string("has ") + shown(value) + " in its " + key + ", and a number from 0 to 2^40 is needed");
    }
    return value.get<std::uint64_t>();
  }

  const byte_source& source_;
  const std::string& name_;
  const json& value_;
};

json read_header(byte_source& source) {
  std::array<std::uint8_t, length_bytes> head{};
  if (const std::size_t got = source.read(head.data(), head.size()); got < head.size()) {
    source.refuse(0, "the file ends after " + std::to_string(got) + " bytes, and a header's length takes 8" +
                         std::string(write_anew));
  }
  std::uint64_t length = 0;
  for (std::size_t i = head.size(); i-- > 0;) length = length << 8U | head[i];
  const auto left = source.remaining();
  if (length < 2 || length > longest_header || (left && length > *left)) {
    source.refuse(0, "the header's length is " + std::to_string(length) +
                         (left ? " and the file holds " + std::to_string(*left) + " bytes after it" : "") +
                         "; is this a safetensors file?");
  }
  const std::vector<std::uint8_t> text = source.read_vector(length);
  if (text.size() < length) {
    source.refuse(source.position(), "the file ends within its header" + std::string(write_anew));
  }
  if (text.front() != '{') source.refuse(length_bytes, "the header does not begin with {; is this a safetensors file?");
  return parse_strict_json(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()), source.name());
}

std::map<std::string, std::string> read_metadata(const byte_source& source, const json& value) {
  std::map<std::string, std::string> metadata;
  const auto refuse = [&](const std::string& what) {
    bench::refuse_file(source.name(),
                       "__metadata__" + what + ", and texts by name are needed" + std::string(write_anew));
  };
  if (!value.is_object()) refuse(" is " + shown(value));
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse("/" + key.substr(0, 40) + " is " + shown(text));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// Refuses arrays that overlap, and bytes between them that belong to none.
void check_places(const byte_source& source, std::vector<announced>& arrays) {
  std::ranges::stable_sort(arrays, {}, [](const announced& it) { return std::pair(it.begin, it.end); });
  std::uint64_t end = 0;
  for (const announced& it : arrays) {
    if (it.begin != end) {
      bench::refuse_file(
          source.name(),
          "array '" + it.what.name.substr(0, 100) + "' begins at " + std::to_string(it.begin) +
              (it.begin < end ? ", within another one that ends at " : ", and the one before it ends at ") +
              std::to_string(end) + std::string(write_anew));
    }
    end = it.end;
  }
}

}  // namespace

std::size_t bytes_of_type(std::string_view type) {
  const auto found = std::ranges::find(types, type, &known_type::name);
  return found == types.end() ? 0 : found->bytes;
}

tensor_file read_tensors(byte_source source) {
  const json header = read_header(source);
  tensor_file file;
  std::vector<announced> arrays;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      file.metadata = read_metadata(source, value);
    } else {
      arrays.push_back(entry(source, name, value).read());
    }
  }
  check_places(source, arrays);
  const std::uint64_t begin = source.position();
  const std::uint64_t total = arrays.empty() ? 0 : arrays.back().end;
  const auto refuse_length = [&](const std::string& there) {
    source.refuse(begin, "the arrays take " + std::to_string(total) + " bytes, and the file holds " + there +
                             " after its header" + std::string(write_anew));
  };
  if (const auto left = source.remaining(); left && *left != total) refuse_length(std::to_string(*left));
  for (announced& it : arrays) {
    it.what.bytes = source.read_vector(it.end - it.begin);
    if (it.what.bytes.size() < it.end - it.begin) refuse_length(std::to_string(source.position() - begin));
    file.tensors.push_back(std::move(it.what));
  }
  if (!source.is_at_end()) refuse_length("more");
  return file;
}

tensor_file read_tensors(const std::string& path) {
  return read_tensors(byte_source::of_file(path, "safetensors file"));
}

const tensor* tensor_file::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace prumo::data
