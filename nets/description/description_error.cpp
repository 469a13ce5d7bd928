// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/description.hpp>

#include <algorithm>
#include <utility>

namespace prumo::nets {
namespace {

/// What a description_error says, with the place as a program names it: `layers[0].filter`, `input.height`.
std::string whole_message(const std::optional<std::size_t>& layer, std::string field, const std::string& message) {
  std::replace(field.begin(), field.end(), '/', '.');
  std::string text = "prumo::nets: ";
  if (layer) text += "layers[" + std::to_string(*layer) + "]";
  if (layer && !field.empty()) text += ".";
  text += field;
  if (layer || !field.empty()) text += ": ";
  return text + message;
}

}  // namespace

description_error::description_error(std::optional<std::size_t> layer, std::string field, std::string message)
    : std::invalid_argument(whole_message(layer, field, message)),
      layer_(layer),
      field_(std::move(field)),
      message_(std::move(message)) {}

}  // namespace prumo::nets
