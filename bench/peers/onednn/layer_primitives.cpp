// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_primitives.hpp"

#include "layer_operations.hpp"
#include "primitive_arrays.hpp"
#include "primitives.hpp"

#include <utility>

namespace prumo::peers {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr std::string_view reordered = "reordered", usual = "onednn";

dnnl::primitive_attr with_activation(std::int64_t which) {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE says
  constexpr algorithm functions[] = {
      algorithm::undef,        algorithm::eltwise_relu,     algorithm::eltwise_logistic,
      algorithm::eltwise_tanh, algorithm::eltwise_gelu_erf, algorithm::eltwise_gelu_tanh};
  if (which == 0) return attributes;
  dnnl::post_ops after;
  after.append_eltwise(functions[which], 0, 0);
  attributes.set_post_ops(after);
  return attributes;
}

memory::dims both(std::int64_t value) { return {value, value}; }
memory::dims behind(const window_sides& of) { return {of.rows.padding_behind(), of.columns.padding_behind()}; }

/// One layer: what is executed for a call, one primitive after the other, and the memory between them.
class layer_chain {
 public:
  layer_chain(const dnnl::engine& engine, const operation& what, bool is_plain, dtype type, const layer_extents& it)
      : engine_(engine), is_plain_(is_plain), type_(data_type_of(type)), it_(it), has_bias_(it.bias != 0) {
    switch (what.shape) {
      case operation_shape::convolution: add_convolution(what); break;
      case operation_shape::pooling: {
        const auto tag = memory::format_tag::nchw;
        const window_sides of = pooling_sides(it);
        has_bias_ = false;
        input_ = memory(images(it.in_channels, it.height, it.width, tag), engine_, nullptr);
        output_ = memory(images(it.in_channels, of.rows.places, of.columns.places, tag), engine_, nullptr);
        const auto kind =
            what.reduces_by == reduction_kind::max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
        append_pooling(kind, input_, output_, of);
        break;
      }
      default: add_dense(); break;
    }
  }

  /// Executes everything with the arrays of a call.
  void run(const dnnl::stream& stream, const call& made) {
    std::size_t array = 0;
    input_.set_data_handle(made.arrays[array++]);
    if (weights_) weights_.set_data_handle(made.arrays[array++]);
    if (has_bias_) bias_.set_data_handle(made.arrays[array++]);
    output_.set_data_handle(made.arrays[array]);
    for (const auto& [primitive, given] : steps_) primitive.execute(stream, given);
  }

 private:
  memory::desc images(std::int64_t channels, std::int64_t height, std::int64_t width, memory::format_tag tag) const {
    return {{it_.images, channels, height, width}, type_, tag};
  }
  memory::format_tag layout(memory::format_tag if_plain) const {
    return is_plain_ ? if_plain : memory::format_tag::any;
  }

  void append(const dnnl::primitive& made, primitive_arrays given) { steps_.emplace_back(made, std::move(given)); }

  /// The caller's array as a primitive wants it: itself, or a copy that each call makes.
  memory in_layout(const memory& given, const memory::desc& wanted) {
    if (given.get_desc() == wanted) return given;
    memory moved(wanted, engine_);
    append(dnnl::reorder(given, moved), {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, moved}});
    return moved;
  }

  /// What a primitive writes: the caller's array, or memory that is reordered or read by the next one.
  memory result_for(const memory::desc& written, bool is_last) {
    return is_last && written == output_.get_desc() ? output_ : memory(written, engine_);
  }
  void leave(const memory& result) {
    if (result.get() == output_.get()) return;
    append(dnnl::reorder(result, output_), {{DNNL_ARG_FROM, result}, {DNNL_ARG_TO, output_}});
  }

  memory::desc bias_layout() {
    if (!has_bias_) return {};
    const memory::desc layout({it_.out_channels}, type_, memory::format_tag::x);
    bias_ = memory(layout, engine_, nullptr);
    return layout;
  }

  /// Appends the sums of a layer.
  template <class Description>
  memory append_sums(const Description& made, bool is_last) {
    primitive_arrays given{{DNNL_ARG_SRC, in_layout(input_, made.src_desc())},
                           {DNNL_ARG_WEIGHTS, in_layout(weights_, made.weights_desc())}};
    if (has_bias_) given.emplace(DNNL_ARG_BIAS, bias_);
    const memory result = result_for(made.dst_desc(), is_last);
    given.emplace(DNNL_ARG_DST, result);
    append(dnnl::primitive(made.get()), std::move(given));
    return result;
  }

  memory append_pooling(algorithm kind, const memory& from, const memory& to, const window_sides& of) {
    const std::int64_t stride = of.rows.stride, window = of.rows.window, padding = of.rows.padding;
    const dnnl::pooling_forward::primitive_desc made(engine_, prop_kind::forward_inference, kind, from.get_desc(),
                                                     to.get_desc(), both(stride), both(window), both(0), both(padding),
                                                     behind(of));
    append(dnnl::pooling_forward(made), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
    return to;
  }

  void add_convolution(const operation& what) {
    const auto nchw = memory::format_tag::nchw, oihw = memory::format_tag::oihw;
    const window_sides sums = filter_sides(it_), results = result_sides(what, it_);
    const memory::dims filter{it_.out_channels, it_.in_channels, it_.filter_rows, it_.filter_columns};
    input_ = memory(images(it_.in_channels, it_.height, it_.width, nchw), engine_, nullptr);
    weights_ = memory({filter, type_, oihw}, engine_, nullptr);
    output_ = memory(images(it_.out_channels, results.rows.places, results.columns.places, nchw), engine_, nullptr);
    const memory::desc bias = bias_layout();
    const dnnl::convolution_forward::primitive_desc made(
        engine_, prop_kind::forward_inference, algorithm::convolution_auto,
        images(it_.in_channels, it_.height, it_.width, layout(nchw)), memory::desc(filter, type_, layout(oihw)), bias,
        images(it_.out_channels, sums.rows.places, sums.columns.places, layout(nchw)), both(it_.stride),
        both(it_.padding), behind(sums), with_activation(it_.activation));
    memory result = append_sums(made, it_.pooling == 0);
    if (it_.pooling != 0) {
      const auto kind = it_.pooling == 1 ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
      const memory::desc chosen =
          dnnl::pooling_forward::primitive_desc(
              engine_, prop_kind::forward_inference, kind, result.get_desc(),
              images(it_.out_channels, results.rows.places, results.columns.places, layout(nchw)), both(it_.window),
              both(it_.window), both(0), both(0), behind(results))
              .dst_desc();
      result = append_pooling(kind, result, result_for(chosen, true), results);
    }
    leave(result);
  }

  void add_dense() {
    const auto nc = memory::format_tag::nc;
    const memory::dims rows{it_.images, it_.in_channels}, filter{it_.out_channels, it_.in_channels};
    const memory::desc result({it_.images, it_.out_channels}, type_, nc);
    input_ = memory({rows, type_, nc}, engine_, nullptr);
    weights_ = memory({filter, type_, nc}, engine_, nullptr);
    output_ = memory(result, engine_, nullptr);
    const memory::desc bias = bias_layout();
    const dnnl::inner_product_forward::primitive_desc made(
        engine_, prop_kind::forward_inference, memory::desc(rows, type_, layout(nc)),
        memory::desc(filter, type_, layout(nc)), bias, result, with_activation(it_.activation));
    leave(append_sums(made, true));
  }

  dnnl::engine engine_;
  bool is_plain_;
  memory::data_type type_;
  layer_extents it_;
  bool has_bias_;
  memory input_, weights_, bias_, output_;
  std::vector<std::pair<dnnl::primitive, primitive_arrays>> steps_;
};

}  // namespace

std::vector<std::string> layer_ways(const operation& what) {
  if (what.shape == operation_shape::pooling) return {std::string(usual)};
  return {std::string(reordered), std::string(plain_way)};
}

void require_layer_primitive(const dnnl::engine& engine, const operation& what, dtype type, const call& extents) {
  layer_chain(engine, what, false, type, extents.layer);
}

std::vector<std::function<void()>> bind_layer(const dnnl::engine& engine, const dnnl::stream& stream,
                                              const operation& what, const std::string& way, dtype type,
                                              std::span<const call> calls) {
  std::vector<std::function<void()>> functions;
  const auto chain = std::make_shared<layer_chain>(engine, what, way == plain_way, type, calls.front().layer);
  for (const call& made : calls) {
    functions.emplace_back([chain, stream, made] { chain->run(stream, made); });
  }
  return functions;
}

}  // namespace prumo::peers
