// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/array.hpp>

#include <cstdint>

namespace prumo {
namespace {

struct byte_span {
  std::intptr_t begin;
  std::intptr_t end;
};

bool is_empty(const array_description& description) {
  for (int dimension = 0; dimension < description.rank; ++dimension) {
    if (description.extents[dimension] == 0) return true;
  }
  return false;
}

byte_span span_of(const array_description& description) {
  const auto bytes = static_cast<std::int64_t>(description.element_bytes);
  const auto base = reinterpret_cast<std::intptr_t>(description.data);
  byte_span span{base, base + static_cast<std::intptr_t>(bytes)};
  for (int dimension = 0; dimension < description.rank; ++dimension) {
    const std::int64_t reach = (description.extents[dimension] - 1) * description.strides[dimension] * bytes;
    (reach < 0 ? span.begin : span.end) += static_cast<std::intptr_t>(reach);
  }
  return span;
}

bool follows(const array_description& description, bool last_is_fastest) {
  std::int64_t expected = 1;
  for (int step = 0; step < description.rank; ++step) {
    const int dimension = last_is_fastest ? description.rank - 1 - step : step;
    if (description.extents[dimension] != 1 && description.strides[dimension] != expected) return false;
    expected *= description.extents[dimension];
  }
  return true;
}

}  // namespace

std::string_view layout_name(const array_description& description) {
  if (follows(description, true)) return "right";
  return follows(description, false) ? "left" : "strided";
}

std::string to_string(const array_description& description) {
  const std::string label = description.read_label != nullptr ? description.read_label(description.view) : "";
  std::string text = std::string(description.role) + (label.empty() ? "" : " '" + label + "'") + ": " +
                     std::string(description.type) + " [";
  for (int dimension = 0; dimension < description.rank; ++dimension) {
    text += (dimension ? " x " : "") + std::to_string(description.extents[dimension]);
  }
  text += "], strides (";
  for (int dimension = 0; dimension < description.rank; ++dimension) {
    text += (dimension ? ", " : "") + std::to_string(description.strides[dimension]);
  }
  return text + "), " + std::string(layout_name(description)) + ", in " + description.space;
}

bool spans_overlap(const array_description& first, const array_description& second) {
  if (is_empty(first) || is_empty(second)) return false;
  const byte_span a = span_of(first);
  const byte_span b = span_of(second);
  return a.begin < b.end && b.begin < a.end;
}

bool same_elements(const array_description& first, const array_description& second) {
  if (first.data != second.data || first.type != second.type || first.rank != second.rank) return false;
  for (int dimension = 0; dimension < first.rank; ++dimension) {
    if (first.extents[dimension] != second.extents[dimension]) return false;
    if (first.extents[dimension] > 1 && first.strides[dimension] != second.strides[dimension]) return false;
  }
  return true;
}

}  // namespace prumo
