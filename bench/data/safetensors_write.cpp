// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "strict_json.hpp"
#include <prumo/data/safetensors.hpp>
#include <prumo/files/output_file.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace prumo::data {
namespace {

constexpr std::size_t alignment = 8;

void check(const tensor_file& file) {
  std::set<std::string_view> names;
  for (const tensor& it : file.tensors) {
    const auto refuse = [&](const std::string& what) {
      throw std::invalid_argument("prumo::data::write_tensors: array '" + it.name + "' " + what);
    };
    if (it.name == "__metadata__") refuse("has a name that the format keeps for itself");
    if (!names.insert(it.name).second) refuse("is there twice");
    const std::size_t each = bytes_of_type(it.type);
    if (each == 0) refuse("has the unknown type '" + it.type + "'");
    if (it.bytes.size() != static_cast<std::size_t>(it.size()) * each)
      refuse("has a shape that does not fit its bytes");
  }
}

std::string header_of(const tensor_file& file, const std::vector<const tensor*>& order) {
  ordered_json header = ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t place = 0;
  for (const tensor* it : order) {
    header[it->name] = {{"dtype", it->type}, {"shape", it->shape}, {"data_offsets", {place, place + it->bytes.size()}}};
    place += it->bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  return text;
}

std::string_view as_text(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // char may alias bytes
}

}  // namespace

void write_tensors(const std::string& path, const tensor_file& file) {
  check(file);
  std::vector<const tensor*> order;
  for (const tensor& it : file.tensors) order.push_back(&it);
  std::ranges::stable_sort(order, std::ranges::greater(), [](const tensor* it) { return bytes_of_type(it->type); });
  const std::string header = header_of(file, order);
  std::string length;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    length += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> shift & 0xFFU);
  }
  std::vector<std::string_view> parts{length, header};
  for (const tensor* it : order) parts.push_back(as_text(it->bytes));
  bench::output_file(path).write_parts(parts);
}

}  // namespace prumo::data
