// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "strict_json.hpp"
#include <prumo/data/net_file.hpp>
#include <prumo/files/input_file.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace prumo::data {
namespace {

using namespace nets;

constexpr std::string_view net_format = "prumo.net/1";
constexpr std::array kinds{"convolution", "shared_convolution", "max_pool", "average_pool", "dense", "softmax"};

/// An object of a net's file, with its place.
class object {
 public:
  object(const json& value, std::string_view file, std::string place)
      : value_(value), file_(file), place_(std::move(place)) {
    if (!value.is_object()) refuse("", "is " + shown(value) + ", and an object is needed; write {...}");
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& what) const {
    const std::string at = place_ + (field.empty() ? "" : "/" + field);
    bench::refuse_file(file_, at.empty() ? "the net " + what : at + ": " + what);
  }

  /// Refuses the keys that are none of these.
  void allow(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, ignored] : value_.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      std::string known;
      for (const std::string_view it : keys) known += (known.empty() ? "" : ", ") + std::string(it);
      refuse(key, "is unknown here; known are " + known);
    }
  }

  [[nodiscard]] bool has(const char* key) const { return value_.contains(key); }

  [[nodiscard]] const json& at(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) refuse("", std::string("has no ") + key + "; add it");
    return *found;
  }

  [[nodiscard]] std::int64_t number(const char* key) const { return whole(key, at(key)); }

  /// A number for both axes, or a list of height and width.
  [[nodiscard]] extent2 pair(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) {
      const std::int64_t both = whole(key, value);
      return {both, both};
    }
    if (value.size() != 2)
      refuse(key, "has " + std::to_string(value.size()) + " numbers; name height and width, or one");
    return {whole(key, value[0]), whole(key, value[1])};
  }
  [[nodiscard]] extent2 pair_or(const char* key, extent2 otherwise) const { return has(key) ? pair(key) : otherwise; }

  [[nodiscard]] std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) refuse(key, "is " + shown(value) + ", and text is needed; put it in quotes");
    return value.get<std::string>();
  }

  [[nodiscard]] bool flag_or(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const json& value = at(key);
    if (!value.is_boolean()) refuse(key, "is " + shown(value) + "; write true or false");
    return value.get<bool>();
  }

  /// The place of the word among those known.
  template <std::size_t Count>
  [[nodiscard]] std::size_t choice(const char* key, const std::array<const char*, Count>& known) const {
    const std::string word = text(key);
    const auto found = std::ranges::find(known, word);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    std::string list;
    for (const char* it : known) list += (list.empty() ? "" : ", ") + std::string(it);
    refuse(key, "is '" + word.substr(0, 40) + "'; known are " + list);
  }

 private:
  std::int64_t whole(const char* key, const json& value) const {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_extent)) {
      refuse(key, "is " + shown(value) + "; name a number up to " + std::to_string(largest_extent));
    }
    if (!value.is_number_integer()) refuse(key, "is " + shown(value) + ", and a whole number is needed; write one");
    return value.get<std::int64_t>();
  }

  const json& value_;
  std::string_view file_;
  std::string place_;
};

activation activation_of(const object& in) {
  constexpr std::array names{"none", "relu", "sigmoid", "tanh"};
  return in.has("activation") ? static_cast<activation>(in.choice("activation", names)) : activation::none;
}

layer read_layer(const object& in) {
  const std::string kind = kinds[in.choice("type", kinds)];
  constexpr extent2 unit{1, 1};
  constexpr extent2 none{0, 0};
  if (kind == "convolution") {
    in.allow({"type", "channels", "filter", "stride", "padding", "bias", "activation"});
    return convolution{in.number("channels"),       in.pair("filter"),        in.pair_or("stride", unit),
                       in.pair_or("padding", none), in.flag_or("bias", true), activation_of(in)};
  }
  if (kind == "shared_convolution") {
    in.allow({"type", "filter", "stride", "padding", "bias", "activation"});
    return shared_convolution{in.pair("filter"), in.pair_or("stride", unit), in.pair_or("padding", none),
                              in.flag_or("bias", true), activation_of(in)};
  }
  if (kind == "dense") {
    in.allow({"type", "features", "bias", "activation"});
    return dense{in.number("features"), in.flag_or("bias", true), activation_of(in)};
  }
  if (kind == "softmax") {
    in.allow({"type"});
    return softmax{};
  }
  in.allow({"type", "window", "stride", "padding", "rounding"});
  const pooling_kind which = kind == "max_pool" ? pooling_kind::maximum : pooling_kind::average;
  const extent2 window = in.pair("window");
  const extent2 stride = in.pair_or("stride", window), padding = in.pair_or("padding", none);
  constexpr std::array roundings{"down", "up"};
  const rounding round = in.has("rounding") ? static_cast<rounding>(in.choice("rounding", roundings)) : rounding::down;
  return pooling{which, window, stride, padding, round};
}

description read_description(const json& document, std::string_view name) {
  const object top(document, name, "");
  if (!top.has("schema")) top.refuse("", "has no schema; add \"schema\": \"" + std::string(net_format) + '"');
  if (top.text("schema") != net_format) {
    top.refuse("schema", "is '" + top.text("schema").substr(0, 40) + "', and this prumo reads " +
                             std::string(net_format) + "; write that");
  }
  top.allow({"schema", "name", "input", "layers"});
  description net;
  net.name = top.text("name");
  const object input(top.at("input"), name, "/input");
  input.allow({"channels", "height", "width"});
  net.input = {input.number("channels"), input.number("height"), input.number("width")};
  const json& layers = top.at("layers");
  if (!layers.is_array()) top.refuse("layers", "is " + shown(layers) + ", and a list is needed; write [...]");
  if (layers.size() > most_layers) {
    top.refuse("layers",
               "holds " + std::to_string(layers.size()) + " layers; name at most " + std::to_string(most_layers));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    net.layers.push_back(read_layer(object(layers[i], name, "/layers/" + std::to_string(i))));
  }
  return net;
}

ordered_json number_or_pair(extent2 value) {
  if (value.height == value.width) return value.height;
  return ordered_json::array({value.height, value.width});
}

/// Writes what differs from the default.
struct layer_writer {
  ordered_json& out;

  void put(const char* key, extent2 value, extent2 otherwise) const {
    if (value != otherwise) out[key] = number_or_pair(value);
  }
  void put_sum(bool bias, activation activate) const {
    if (!bias) out["bias"] = false;
    if (activate != activation::none) out["activation"] = name_of(activate);
  }

  void operator()(const convolution& it) const {
    out["channels"] = it.channels;
    out["filter"] = number_or_pair(it.filter);
    put("stride", it.stride, {1, 1});
    put("padding", it.padding, {0, 0});
    put_sum(it.bias, it.activate);
  }
  void operator()(const shared_convolution& it) const {
    out["filter"] = number_or_pair(it.filter);
    put("stride", it.stride, {1, 1});
    put("padding", it.padding, {0, 0});
    put_sum(it.bias, it.activate);
  }
  void operator()(const pooling& it) const {
    out["window"] = number_or_pair(it.window);
    put("stride", it.stride, it.window);
    put("padding", it.padding, {0, 0});
    if (it.round == rounding::up) out["rounding"] = "up";
  }
  void operator()(const dense& it) const {
    out["features"] = it.features;
    put_sum(it.bias, it.activate);
  }
  void operator()(const softmax&) const {}
};

}  // namespace

net parse_net(std::string_view text, std::string_view name) {
  const json document = parse_strict_json(text, name);
  description read = read_description(document, name);
  try {
    net_facts facts = facts_of(read);
    return {std::move(read), std::move(facts), std::string(name)};
  } catch (const description_error& error) {
    std::string place = error.layer() ? "/layers/" + std::to_string(*error.layer()) : "";
    if (!error.field().empty()) place += "/" + error.field();
    bench::refuse_file(name, place + ": " + error.message());
  }
}

net read_net(const std::string& name_or_path) {
  if (std::ranges::find(known_nets(), name_or_path) != known_nets().end()) {
    description known = named_net(name_or_path);
    net_facts facts = facts_of(known);
    return {std::move(known), std::move(facts), name_or_path};
  }
  if (std::error_code ignored; name_or_path != "-" && !std::filesystem::exists(name_or_path, ignored) && !ignored) {
    std::string names;
    for (const std::string_view it : known_nets()) names += (names.empty() ? "" : ", ") + std::string(it);
    bench::refuse_file(name_or_path, "is neither a file nor a net that prumo knows; these are " + names);
  }
  bench::input_limits limits;
  limits.bytes = std::size_t{1} << 20U;
  limits.kind = "net's JSON file";
  return parse_net(bench::read_text(name_or_path, limits), bench::input_name(name_or_path));
}

std::string net_text(const description& net) {
  // One layer in each line reads better than one number in each line.
  const ordered_json head{{"schema", net_format}, {"name", net.name}};
  const ordered_json input{{"channels", net.input.channels}, {"height", net.input.height}, {"width", net.input.width}};
  std::string text = "{\n  \"schema\": " + head["schema"].dump() +
                     ",\n  \"name\": " + head["name"].dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
                     ",\n  \"input\": " + input.dump() + ",\n  \"layers\": [";
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    ordered_json out{{"type", kind_of(net.layers[i])}};
    std::visit(layer_writer{out}, net.layers[i]);
    text += (i > 0 ? ",\n    " : "\n    ") + out.dump();
  }
  return text + "\n  ]\n}\n";
}

}  // namespace prumo::data
