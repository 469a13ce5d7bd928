// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/overloaded.hpp>
#include <prumo/nets/shapes.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace prumo::nets {
namespace {

/// The windows of a layer along one axis.
struct windows {
  std::int64_t extent;  ///< of the input
  std::int64_t window;
  std::int64_t stride;
  std::int64_t padding;

  [[nodiscard]] std::int64_t count(rounding round) const {
    const std::int64_t rest = extent + 2 * padding - window;
    if (rest < 0) return 0;
    std::int64_t result = rest / stride + 1;
    // A further window must begin before the end of the image: one that holds nothing but padding has no value.
    if (round == rounding::up && rest % stride != 0 && result * stride < extent + padding) ++result;
    return result;
  }

  /// How many taps of all windows lie inside of the image.
  [[nodiscard]] std::int64_t taps_inside(std::int64_t windows_there) const {
    // Near an edge windows lose taps; in between they have all. Only those at the edges are visited one by one.
    std::int64_t taps = 0;
    const std::int64_t first_whole = std::min(windows_there, (padding + stride - 1) / stride);
    const std::int64_t last = extent + padding - window;  // the largest begin, in padded places, of a whole window
    const std::int64_t end_whole = last < 0 ? 0 : std::min(windows_there, last / stride + 1);
    const auto taps_of = [&](std::int64_t which) {
      const std::int64_t begin = which * stride - padding;
      return std::max<std::int64_t>(0, std::min(begin + window, extent) - std::max<std::int64_t>(begin, 0));
    };
    if (first_whole >= end_whole) {
      for (std::int64_t i = 0; i < windows_there; ++i) taps += taps_of(i);
      return taps;
    }
    for (std::int64_t i = 0; i < first_whole; ++i) taps += taps_of(i);
    for (std::int64_t i = end_whole; i < windows_there; ++i) taps += taps_of(i);
    return taps + (end_whole - first_whole) * window;
  }
};

std::string pair_text(extent2 value) { return std::to_string(value.height) + " x " + std::to_string(value.width); }

/// Follows one image and collects what it meets.
class walk {
 public:
  explicit walk(const description& net) : net_(net), shape_(net.input) {}

  net_facts run() {
    check_input();
    if (net_.layers.empty()) throw description_error(std::nullopt, "layers", "the net has no layers; add one");
    if (net_.layers.size() > most_layers) {
      throw description_error(std::nullopt, "layers",
                              "the net has " + std::to_string(net_.layers.size()) + " layers, and prumo takes " +
                                  std::to_string(most_layers) + "; split it");
    }
    for (place_ = 0; place_ < net_.layers.size(); ++place_) {
      facts_ = {};
      facts_.input = shape_;
      std::visit([&](const auto& it) { follow(it); }, net_.layers[place_]);
      facts_.output = shape_;
      (void)counted(counted(shape_.channels, shape_.height), shape_.width);
      result_.flops += facts_.flops;
      result_.flops_inside += facts_.flops_inside;
      for (const parameter& it : facts_.parameters) result_.parameters += it.size();
      if (std::max(result_.flops, result_.parameters) > largest_count) {
        refuse("", "takes the net beyond 2^50 numbers or flops an image; make it smaller");
      }
      result_.layers.push_back(std::move(facts_));
    }
    result_.classes = shape_.size();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& message) const {
    throw description_error(place_, field, message);
  }

  void check_input() const {
    const std::array<std::pair<const char*, std::int64_t>, 3> extents{
        {{"channels", net_.input.channels}, {"height", net_.input.height}, {"width", net_.input.width}}};
    for (const auto& [field, value] : extents) {
      if (value < 1 || value > largest_extent) {
        throw description_error(std::nullopt, std::string("input/") + field,
                                "is " + std::to_string(value) + "; images have 1 to 1048576 of each");
      }
    }
  }

  void check(const char* field, std::int64_t value, std::int64_t least) const {
    if (value < least || value > largest_extent) {
      refuse(field, "is " + std::to_string(value) + "; name a number from " + std::to_string(least) + " to 1048576");
    }
  }
  void check(const char* field, extent2 value, std::int64_t least) const {
    check(field, value.height, least);
    check(field, value.width, least);
  }

  void check_follows_images(std::string_view what) const {
    if (is_flat_) {
      refuse("", std::string(what) + " needs images, and the dense layer before it has none; put it before that layer");
    }
  }

  /// Checks the windows of a layer and takes the shape to its output.
  void slide(const char* window_field, extent2 window, extent2 stride, extent2 padding, rounding round) {
    check(window_field, window, 1);
    check("stride", stride, 1);
    check("padding", padding, 0);
    if (padding.height >= window.height || padding.width >= window.width) {
      refuse("padding", "is " + pair_text(padding) + " around windows of " + pair_text(window) +
                            ", so some hold nothing else; make it smaller than the window");
    }
    rows_ = {shape_.height, window.height, stride.height, padding.height};
    columns_ = {shape_.width, window.width, stride.width, padding.width};
    const extent2 out{rows_.count(round), columns_.count(round)};
    if (out.height < 1 || out.width < 1) {
      refuse(window_field, "is " + pair_text(window) + ", larger than its input of " +
                               pair_text({shape_.height, shape_.width}) + " with padding " + pair_text(padding) +
                               "; take a smaller one, or images of another size");
    }
    shape_.height = out.height;
    shape_.width = out.width;
  }

  /// `products` each for every tap of an output map.
  void count_taps(extent2 filter, std::int64_t products) {
    facts_.flops = counted(products, counted(shape_.height * shape_.width, filter.height * filter.width));
    facts_.flops_inside =
        counted(products, counted(rows_.taps_inside(shape_.height), columns_.taps_inside(shape_.width)));
  }

  [[nodiscard]] std::int64_t counted(std::int64_t a, std::int64_t b) const {
    if (b != 0 && a > largest_count / b)
      refuse("", "takes the net beyond 2^50 numbers or flops an image; make it smaller");
    return a * b;
  }

  void name_layer(const std::string& kind) { facts_.name = kind + std::to_string(++numbers_[kind]); }

  void add_parameters(std::vector<std::int64_t> weight, bool bias, std::int64_t outputs) {
    std::int64_t size = 1;
    for (const std::int64_t extent : weight) size = counted(size, extent);
    facts_.parameters.push_back({facts_.name + ".weight", std::move(weight)});
    if (bias) facts_.parameters.push_back({facts_.name + ".bias", {outputs}});
  }

  void follow(const convolution& it) {
    check_follows_images("a convolution");
    check("channels", it.channels, 1);
    name_layer("conv");
    const std::int64_t inputs = shape_.channels;
    slide("filter", it.filter, it.stride, it.padding, rounding::down);
    shape_.channels = it.channels;
    add_parameters({it.channels, inputs, it.filter.height, it.filter.width}, it.bias, it.channels);
    count_taps(it.filter, counted(2 * it.channels, inputs));
  }

  void follow(const shared_convolution& it) {
    check_follows_images("a shared convolution");
    name_layer("shared");
    slide("filter", it.filter, it.stride, it.padding, rounding::down);
    add_parameters({it.filter.height, it.filter.width}, it.bias, 1);
    count_taps(it.filter, 2 * shape_.channels);
  }

  void follow(const pooling& it) {
    check_follows_images("pooling");
    name_layer("pool");
    slide("window", it.window, it.stride, it.padding, it.round);
  }

  void follow(const dense& it) {
    check("features", it.features, 1);
    name_layer("dense");
    const std::int64_t inputs = counted(counted(shape_.channels, shape_.height), shape_.width);
    shape_ = {it.features, 1, 1};
    is_flat_ = true;
    add_parameters({it.features, inputs}, it.bias, it.features);
    facts_.flops = counted(2 * it.features, inputs);
    facts_.flops_inside = facts_.flops;
  }

  void follow(const softmax&) {
    facts_.name = "softmax";
    if (!is_flat_) refuse("", "softmax needs classes, and there is no dense layer before it; add one");
    if (place_ + 1 != net_.layers.size())
      refuse("", "softmax is not the last layer; put it at the end or leave it out");
  }

  const description& net_;
  image_shape shape_;
  bool is_flat_ = false;
  std::size_t place_ = 0;
  windows rows_{};
  windows columns_{};
  layer_facts facts_;
  net_facts result_;
  std::map<std::string, int> numbers_;
};

}  // namespace

std::int64_t parameter::size() const {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<parameter> net_facts::all_parameters() const {
  std::vector<parameter> all;
  for (const layer_facts& it : layers) all.insert(all.end(), it.parameters.begin(), it.parameters.end());
  return all;
}

net_facts facts_of(const description& net) { return walk(net).run(); }

std::string_view kind_of(const layer& which) {
  return std::visit(overloaded{[](const convolution&) -> std::string_view { return "convolution"; },
                               [](const shared_convolution&) -> std::string_view { return "shared_convolution"; },
                               [](const pooling& it) -> std::string_view {
                                 return it.kind == pooling_kind::maximum ? "max_pool" : "average_pool";
                               },
                               [](const dense&) -> std::string_view { return "dense"; },
                               [](const softmax&) -> std::string_view { return "softmax"; }},
                    which);
}

std::string_view name_of(activation which) {
  switch (which) {
    case activation::none: return "none";
    case activation::relu: return "relu";
    case activation::sigmoid: return "sigmoid";
    case activation::tanh: return "tanh";
  }
  return "none";
}

}  // namespace prumo::nets
