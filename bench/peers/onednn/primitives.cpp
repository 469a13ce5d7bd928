// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "primitives.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace prumo::peers {
namespace {

using dnnl::algorithm;
using dnnl::memory;

memory::desc vector_of(dtype type, memory::dim n) { return {{n}, data_type_of(type), memory::dims{1}}; }

/// A row-major matrix, or one that is stored transposed.
memory::desc matrix_of(dtype type, memory::dim rows, memory::dim columns, bool is_transposed = false) {
  const memory::dim leading = std::max<memory::dim>(1, is_transposed ? rows : columns);
  const memory::dims strides = is_transposed ? memory::dims{1, leading} : memory::dims{leading, 1};
  return {{rows, columns}, data_type_of(type), strides};
}

/// An element-wise primitive and its two numbers.
struct eltwise_form {
  algorithm kind;
  float alpha = 0;
  float beta = 0;
};

std::optional<eltwise_form> eltwise_of(std::string_view op, const call& it) {
  if (op == "scale") return eltwise_form{algorithm::eltwise_linear, static_cast<float>(it.alpha)};
  if (op == "sigmoid") return eltwise_form{algorithm::eltwise_logistic};
  if (op == "tanh") return eltwise_form{algorithm::eltwise_tanh};
  if (op == "relu") return eltwise_form{algorithm::eltwise_relu};
  if (op == "gelu") return eltwise_form{it.alpha == 0 ? algorithm::eltwise_gelu_erf : algorithm::eltwise_gelu_tanh};
  if (op == "exp") return eltwise_form{algorithm::eltwise_exp};
  if (op == "log") return eltwise_form{algorithm::eltwise_log};
  if (op == "sqrt") return eltwise_form{algorithm::eltwise_sqrt};
  if (op == "rsqrt") return eltwise_form{algorithm::eltwise_pow, 1, -0.5f};  // alpha x^beta
  return std::nullopt;
}

algorithm reduction_of(reduction_kind kind) {
  switch (kind) {
    case reduction_kind::sum: return algorithm::reduction_sum;
    case reduction_kind::sum_of_squares: return algorithm::reduction_norm_lp_power_p_sum;  // of |x|^p
    case reduction_kind::mean: return algorithm::reduction_mean;
    case reduction_kind::max: return algorithm::reduction_max;
    case reduction_kind::min: break;
  }
  return algorithm::reduction_min;
}

described_primitive from_one(dnnl::primitive_desc_base description, memory::desc input, memory::desc output) {
  return {std::move(description), {{DNNL_ARG_SRC, std::move(input)}, {DNNL_ARG_DST, std::move(output)}}};
}

described_primitive reduction_primitive(const dnnl::engine& engine, const operation& what, const memory::desc& input,
                                        const memory::desc& output) {
  constexpr float power = 2;  // read by the norm alone
  return from_one(dnnl::reduction::primitive_desc(engine, reduction_of(what.reduces_by), input, output, power, 0.0f),
                  input, output);
}

described_primitive elementwise_primitive(const dnnl::engine& engine, const operation& what, dtype type,
                                          const call& it) {
  const memory::desc x = vector_of(type, it.n);
  if (const auto form = eltwise_of(what.op, it)) {
    return from_one(dnnl::eltwise_forward::primitive_desc(engine, dnnl::prop_kind::forward_inference, form->kind, x, x,
                                                          form->alpha, form->beta),
                    x, x);
  }
  if (what.op == "add" || what.op == "mul") {
    const algorithm kind = what.op == "add" ? algorithm::binary_add : algorithm::binary_mul;
    return {dnnl::binary::primitive_desc(engine, kind, x, x, x),
            {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, x}, {DNNL_ARG_DST, x}}};
  }
  if (what.op == "axpby") {
    const std::vector<float> factors{static_cast<float>(it.alpha), static_cast<float>(it.beta)};
    return {dnnl::sum::primitive_desc(engine, x, factors, {x, x}),
            {{DNNL_ARG_MULTIPLE_SRC, x}, {DNNL_ARG_MULTIPLE_SRC + 1, x}, {DNNL_ARG_DST, x}}};
  }
  const memory::desc y = vector_of(what.output_type.value_or(type), it.n);
  return from_one(dnnl::reorder::primitive_desc(engine, x, engine, y), x, y);
}

/// C = alpha op(A) op(B) + beta C, the factors as what follows upon the product.
described_primitive product_primitive(const dnnl::engine& engine, dtype type, const call& it) {
  const memory::desc a = matrix_of(type, it.m, it.k, it.trans_a);
  const memory::desc b = matrix_of(type, it.k, it.n, it.trans_b);
  const memory::desc c = matrix_of(type, it.m, it.n);
  dnnl::post_ops after;
  if (it.alpha != 1) after.append_eltwise(algorithm::eltwise_linear, static_cast<float>(it.alpha), 0.0f);
  if (it.beta != 0) after.append_sum(static_cast<float>(it.beta));
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE says
  return {dnnl::matmul::primitive_desc(engine, a, b, c, attributes),
          {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}}};
}

}  // namespace

dnnl::memory::data_type data_type_of(dtype type) {
  switch (type) {
    case dtype::f32: return memory::data_type::f32;
    case dtype::f64: return memory::data_type::f64;
    case dtype::f16: return memory::data_type::f16;
    case dtype::bf16: break;
  }
  return memory::data_type::bf16;
}

bool has_primitive(const operation& what) { return what.op != "fill"; }

described_primitive describe_primitive(const dnnl::engine& engine, const operation& what, dtype type, const call& it) {
  switch (what.shape) {
    case operation_shape::elementwise: return elementwise_primitive(engine, what, type, it);
    case operation_shape::transposition: {
      const memory::desc x = matrix_of(type, it.n, it.m, true);
      const memory::desc y = matrix_of(type, it.n, it.m);
      return from_one(dnnl::reorder::primitive_desc(engine, x, engine, y), x, y);
    }
    case operation_shape::reduction:
      return reduction_primitive(engine, what, vector_of(type, it.n), vector_of(type, 1));
    case operation_shape::row_reduction:
      return reduction_primitive(engine, what, matrix_of(type, it.m, it.n), matrix_of(type, it.m, 1));
    case operation_shape::rows: {
      const memory::desc x = matrix_of(type, it.m, it.n);
      const algorithm kind = what.logarithm ? algorithm::softmax_log : algorithm::softmax_accurate;
      return from_one(dnnl::softmax_forward::primitive_desc(engine, dnnl::prop_kind::forward_inference, kind, x, x, 1),
                      x, x);
    }
    default: break;
  }
  return product_primitive(engine, type, it);
}

}  // namespace prumo::peers
