// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/safetensors.hpp>
#include <prumo/files/file_error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace prumo::data {
namespace {

/// A little-endian number of `Bytes` bytes.
template <class Word>
Word word_at(const std::vector<std::uint8_t>& bytes, std::size_t which) {
  Word word = 0;
  for (std::size_t i = sizeof(Word); i-- > 0;) word = static_cast<Word>(word << 8U | bytes[which * sizeof(Word) + i]);
  return word;
}

float from_f16(std::uint16_t bits) {
  constexpr int fraction_bits = 10;
  const int exponent = bits >> fraction_bits & 0x1F;
  const int fraction = bits & 0x3FF;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

template <class Word, class Convert>
std::vector<float> converted(const tensor& from, Convert convert) {
  std::vector<float> values(from.bytes.size() / sizeof(Word));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(word_at<Word>(from.bytes, i));
  return values;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool is_state(std::string_view name) { return name.starts_with("optimizer.") || name.starts_with("state."); }

}  // namespace

std::int64_t tensor::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

tensor tensor_of(std::string name, std::vector<std::int64_t> shape, std::span<const float> values) {
  tensor made{std::move(name), "F32", std::move(shape), {}};
  made.bytes.reserve(values.size() * sizeof(float));
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) made.bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return made;
}

std::vector<float> floats_of(const tensor& which) {
  if (which.type == "F32") {
    return converted<std::uint32_t>(which, [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
  }
  if (which.type == "F64") {
    return converted<std::uint64_t>(which,
                                    [](std::uint64_t bits) { return static_cast<float>(std::bit_cast<double>(bits)); });
  }
  if (which.type == "BF16") {
    return converted<std::uint16_t>(
        which, [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); });
  }
  if (which.type == "F16") return converted<std::uint16_t>(which, from_f16);
  throw std::invalid_argument("prumo::data::floats_of: array '" + which.name + "' is of type " + which.type +
                              ", and only F64, F32, F16 and BF16 are read as numbers");
}

net_weights weights_for(const nets::description& net, const tensor_file& file, std::string_view name) {
  const auto refuse = [&](const std::string& array, const std::string& what) {
    bench::refuse_file(name, "array '" + array.substr(0, 100) + "' " + what + "; name weights of the net " + net.name);
  };
  const std::vector<nets::parameter> wanted = nets::facts_of(net).all_parameters();
  for (const tensor& it : file.tensors) {
    const bool known = std::ranges::find(wanted, it.name, &nets::parameter::name) != wanted.end();
    if (!known && !is_state(it.name)) refuse(it.name, "is none of the net " + net.name);
  }
  net_weights weights;
  for (const nets::parameter& it : wanted) {
    const tensor* found = file.find(it.name);
    if (found == nullptr) {
      refuse(it.name, "is missing");
    } else {
      if (found->shape != it.extents) {
        refuse(it.name,
               "has the shape " + shape_text(found->shape) + ", and the net has " + shape_text(it.extents) + " there");
      }
      if (found->type != "F32" && found->type != "F64" && found->type != "F16" && found->type != "BF16") {
        refuse(it.name, "is of type " + found->type + ", and weights are F64, F32, F16 or BF16");
      }
      weights.push_back(floats_of(*found));
      const auto wrong = std::ranges::find_if(weights.back(), [](float value) { return !std::isfinite(value); });
      if (wrong != weights.back().end()) {
        refuse(it.name, "holds " + std::string(std::isnan(*wrong) ? "NaN" : "an infinite number") + " at place " +
                            std::to_string(wrong - weights.back().begin()));
      }
    }
  }
  return weights;
}

}  // namespace prumo::data
