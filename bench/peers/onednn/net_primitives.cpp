// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_primitives.hpp"

#include "onednn_refusal.hpp"
#include "primitive_arrays.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace prumo::peers {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr auto f32 = memory::data_type::f32;
constexpr auto any = memory::format_tag::any;
constexpr std::string_view own_layouts = "own_layouts";

memory::desc plain_images(memory::dim images, const nets::image_shape& of) {
  return {{images, of.channels, of.height, of.width}, f32, memory::format_tag::nchw};
}
memory::desc plain_rows(memory::dim images, memory::dim features) {
  return {{images, features}, f32, memory::format_tag::nc};
}

memory::dims dims_of(const nets::extent2& it) { return {it.height, it.width}; }

/// The padding behind an image with which the last window ends where it does: negative where windows leave pixels out.
memory::dims padding_behind(const nets::image_shape& input, const nets::image_shape& output,
                            const nets::extent2& window, const nets::extent2& stride, const nets::extent2& padding) {
  return {(output.height - 1) * stride.height + window.height - input.height - padding.height,
          (output.width - 1) * stride.width + window.width - input.width - padding.width};
}

/// The activation follows upon the sum, in the same primitive.
dnnl::primitive_attr with(nets::activation which) {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE says
  dnnl::post_ops after;
  switch (which) {
    case nets::activation::none: return attributes;
    case nets::activation::relu: after.append_eltwise(algorithm::eltwise_relu, 0, 0); break;
    case nets::activation::sigmoid: after.append_eltwise(algorithm::eltwise_logistic, 0, 0); break;
    case nets::activation::tanh: after.append_eltwise(algorithm::eltwise_tanh, 0, 0); break;
  }
  attributes.set_post_ops(after);
  return attributes;
}

/// Primitives that are executed one after the other: those of a layer.
struct executed_step {
  std::vector<std::pair<dnnl::primitive, primitive_arrays>> calls;
};

/// The steps of a net for one number of images.
class net_chain {
 public:
  net_chain(const dnnl::engine& engine, const dnnl::stream& stream, const data::net& net,
            const data::net_weights& weights, memory::dim images, bool is_plain)
      : engine_(engine), stream_(stream), net_(net), weights_(weights), images_(images), is_plain_(is_plain) {
    x_ = at_ = memory(plain_images(images, net.description.input), engine_, nullptr);
    inputs_.push_back(x_);
    std::size_t parameter = 0;
    for (std::size_t layer = 0; layer < net.facts.layers.size(); ++layer) {
      facts_ = &net.facts.layers[layer];
      first_parameter_ = parameter;
      parameter += facts_->parameters.size();
      steps_.emplace_back();
      std::visit([&](const auto& it) { add(it); }, net.description.layers[layer]);
    }
    // The last step leaves its results where the caller wants them.
    const memory::desc wanted = plain_rows(images, net.facts.classes);
    if (at_.get_desc() == wanted) {
      y_ = at_;
    } else {
      y_ = memory(wanted, engine_, nullptr);
      append(dnnl::reorder(at_, y_), {{DNNL_ARG_FROM, at_}, {DNNL_ARG_TO, y_}});
    }
  }

  void run_step(std::size_t step, const void* x, void* y) {
    for (memory& it : inputs_) it.set_data_handle(const_cast<void*>(x));
    y_.set_data_handle(y);
    for (const auto& [made, given] : steps_[step].calls) made.execute(stream_, given);
    stream_.wait();
  }

 private:
  void append(const dnnl::primitive& made, primitive_arrays given) {
    steps_.back().calls.emplace_back(made, std::move(given));
  }

  memory::format_tag layout(memory::format_tag if_plain) const { return is_plain_ ? if_plain : any; }

  /// What the layer before left, as the next primitive wants it.
  memory in_layout(const memory::desc& wanted) {
    if (at_.get_desc() == wanted) return at_;
    memory moved(wanted, engine_);
    append(dnnl::reorder(at_, moved), {{DNNL_ARG_FROM, at_}, {DNNL_ARG_TO, moved}});
    return moved;
  }

  /// What the layer before left, first in one layout, and then the same numbers with other extents.
  void see_as(const memory::desc& as_it_lies, const memory::desc& other_extents) {
    const memory lies = in_layout(as_it_lies);
    at_ = memory(other_extents, engine_, lies.get_data_handle());
    (lies.get() == x_.get() ? inputs_ : kept_).push_back(lies.get() == x_.get() ? at_ : lies);
  }

  /// A parameter of the layer, reordered once.
  memory parameter(std::size_t place, const memory::desc& given, const memory::desc& wanted) {
    memory source(given, engine_, const_cast<float*>(weights_[first_parameter_ + place].data()));
    memory made(wanted, engine_);
    dnnl::reorder(source, made).execute(stream_, source, made);
    stream_.wait();
    return made;
  }

  template <class Layer>
  std::optional<memory::desc> bias_layout(const Layer& it) const {
    if (!it.bias) return std::nullopt;
    return memory::desc({facts_->parameters[1].size()}, f32, memory::format_tag::x);
  }

  /// Appends a convolution or a dense layer, whose arguments are the same.
  template <class Description>
  void append_sum(const Description& made, const memory::desc& weights, const std::optional<memory::desc>& bias) {
    const memory source = in_layout(made.src_desc());
    primitive_arrays given{{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, parameter(0, weights, made.weights_desc())}};
    if (bias) given.emplace(DNNL_ARG_BIAS, parameter(1, *bias, *bias));
    at_ = memory(made.dst_desc(), engine_);
    given.emplace(DNNL_ARG_DST, at_);
    append(dnnl::primitive(made.get()), std::move(given));
  }

  template <class Layer>
  void add_convolution(const Layer& it, const memory::desc& source, const memory::dims& filter,
                       const memory::desc& result) {
    const memory::desc weights(filter, f32, memory::format_tag::oihw);
    const memory::desc chosen(filter, f32, layout(memory::format_tag::oihw));
    const memory::dims behind = padding_behind(facts_->input, facts_->output, it.filter, it.stride, it.padding);
    const auto bias = bias_layout(it);
    append_sum(
        dnnl::convolution_forward::primitive_desc(engine_, prop_kind::forward_inference, algorithm::convolution_auto,
                                                  source, chosen, bias.value_or(memory::desc()), result,
                                                  dims_of(it.stride), dims_of(it.padding), behind, with(it.activate)),
        weights, bias);
  }

  void add(const nets::convolution& it) {
    const auto& in = facts_->input;
    const auto& out = facts_->output;
    const auto tag = layout(memory::format_tag::nchw);
    add_convolution(it, {{images_, in.channels, in.height, in.width}, f32, tag},
                    {out.channels, in.channels, it.filter.height, it.filter.width},
                    {{images_, out.channels, out.height, out.width}, f32, tag});
  }

  /// One filter for all maps: each map is an image of one channel.
  void add(const nets::shared_convolution& it) {
    const nets::image_shape in{1, facts_->input.height, facts_->input.width};
    const nets::image_shape out{1, facts_->output.height, facts_->output.width};
    const memory::dim maps = images_ * facts_->input.channels;
    const memory::desc source = plain_images(maps, in), result = plain_images(maps, out);
    see_as(plain_images(images_, facts_->input), source);
    add_convolution(it, source, {1, 1, it.filter.height, it.filter.width}, result);
    see_as(result, plain_images(images_, facts_->output));
  }

  void add(const nets::pooling& it) {
    const auto& out = facts_->output;
    const memory::desc result({images_, out.channels, out.height, out.width}, f32, layout(memory::format_tag::nchw));
    const auto kind =
        it.kind == nets::pooling_kind::maximum ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
    const memory::dims behind = padding_behind(facts_->input, out, it.window, it.stride, it.padding);
    const dnnl::pooling_forward::primitive_desc made(engine_, prop_kind::forward_inference, kind, at_.get_desc(),
                                                     result, dims_of(it.stride), dims_of(it.window), {0, 0},
                                                     dims_of(it.padding), behind);
    const memory source = at_;
    at_ = memory(made.dst_desc(), engine_);
    append(dnnl::pooling_forward(made), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, at_}});
  }

  void add(const nets::dense& it) {
    const auto& in = facts_->input;
    const bool takes_images = in.height != 1 || in.width != 1;
    const memory::dims source =
        takes_images ? memory::dims{images_, in.channels, in.height, in.width} : memory::dims{images_, in.channels};
    const memory::dims filter = takes_images ? memory::dims{it.features, in.channels, in.height, in.width}
                                             : memory::dims{it.features, in.channels};
    const auto plain_tag = takes_images ? memory::format_tag::nchw : memory::format_tag::nc;
    if (!takes_images && at_.get_desc().get_ndims() == 4) {
      see_as(plain_images(images_, in), plain_rows(images_, in.channels));
    }
    const auto bias = bias_layout(it);
    append_sum(
        dnnl::inner_product_forward::primitive_desc(
            engine_, prop_kind::forward_inference, {source, f32, layout(plain_tag)}, {filter, f32, layout(plain_tag)},
            bias.value_or(memory::desc()), plain_rows(images_, it.features), with(it.activate)),
        {filter, f32, plain_tag}, bias);
  }

  void add(const nets::softmax&) {
    const memory::desc rows = plain_rows(images_, facts_->input.channels);
    const memory source = in_layout(rows);
    const dnnl::softmax_forward::primitive_desc made(engine_, prop_kind::forward_inference, algorithm::softmax_accurate,
                                                     rows, rows, 1);
    at_ = memory(rows, engine_);
    append(dnnl::softmax_forward(made), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, at_}});
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  const data::net& net_;
  const data::net_weights& weights_;
  memory::dim images_;
  bool is_plain_;
  const nets::layer_facts* facts_ = nullptr;  ///< of the layer that is added
  std::size_t first_parameter_ = 0;
  memory x_, y_;
  memory at_;                   ///< what the last layer that was added leaves
  std::vector<memory> inputs_;  ///< what reads the caller's images
  std::vector<memory> kept_;    ///< memory that is also seen with other extents
  std::vector<executed_step> steps_;
};

class net_primitives final : public net_program {
 public:
  net_primitives(const dnnl::engine& engine, const dnnl::stream& stream, const net_choice& choice, bool is_plain)
      : engine_(engine), stream_(stream), net_(choice.net), weights_(choice.weights), is_plain_(is_plain) {
    chain_of(choice.batch);
  }

  void run_step(std::size_t step, const void* x, void* y, std::int64_t images) override {
    chain_of(images).run_step(step, x, y);
  }

 private:
  /// Primitives know the number of images, so a last batch that is smaller has its own.
  net_chain& chain_of(std::int64_t images) {
    auto& it = chains_[images];
    if (it == nullptr) {
      try {
        it = std::make_unique<net_chain>(engine_, stream_, net_, weights_, images, is_plain_);
      } catch (const dnnl::error& refused) {
        throw refusal_of("the net " + net_.description.name, refused);
      }
    }
    return *it;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  data::net net_;
  data::net_weights weights_;
  bool is_plain_;
  std::map<std::int64_t, std::unique_ptr<net_chain>> chains_;
};

}  // namespace

std::vector<std::string> net_ways() { return {std::string(own_layouts), std::string(plain_way)}; }

std::unique_ptr<net_program> make_net_primitives(const dnnl::engine& engine, const dnnl::stream& stream,
                                                 const net_choice& choice, const std::string& way) {
  return std::make_unique<net_primitives>(engine, stream, choice, way == plain_way);
}

}  // namespace prumo::peers
