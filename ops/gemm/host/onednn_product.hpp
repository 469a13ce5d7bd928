// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Primitives of oneDNN for products, and what a context keeps of them.

#include "gemm_plan.hpp"
#include "openmp_threads.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <oneapi/dnnl/dnnl.hpp>

namespace prumo::backend {

/// Everything that a primitive is made for.
struct onednn_product_key {
  dnnl::memory::data_type element;
  gemm_plan_shape shape;
  float alpha;
  float beta;
  bool adds_to_c;  ///< beta C, and writes C
  bool adds_bias;  ///< of the columns, to a single product
  int threads;

  bool operator==(const onednn_product_key&) const = default;
};

/// The matrices `which` of a key, all of its batch: 0 is A, 1 is B, 2 is C.
inline dnnl::memory::desc onednn_matrices(const onednn_product_key& key, int which) {
  using dnnl::memory;
  const gemm_plan_shape& shape = key.shape;
  const auto [m, n, k, batch] = shape.extents;
  const memory::dim rows = which == 1 ? k : m;
  const memory::dim columns = which == 0 ? k : n;
  const bool is_transposed = which < 2 && shape.transposed[which];
  const memory::dim leading = shape.leading[which];
  const memory::data_type type = which == 2 && !key.adds_to_c ? memory::data_type::f32 : key.element;
  memory::dims extents{rows, columns};
  memory::dims strides = is_transposed ? memory::dims{1, leading} : memory::dims{leading, 1};
  if (batch > 1) {
    // A matrix that all products share has an extent of 1.
    const memory::dim step = shape.batch_strides[which];
    extents.insert(extents.begin(), step == 0 ? 1 : batch);
    strides.insert(strides.begin(), step == 0 ? rows * columns : step);
  }
  return {extents, type, strides};
}

/// The bias of the columns of a single product.
inline dnnl::memory::desc onednn_bias(const onednn_product_key& key) {
  const dnnl::memory::dim n = key.shape.extents[1];
  return {{1, n}, key.element, dnnl::memory::dims{n, 1}};
}

/// What a product of oneDNN reads and writes: addresses.
struct onednn_operands {
  const void* a;
  const void* b;
  void* c;
  const void* bias;
  void* scratchpad;
};

/// A primitive of oneDNN, and what it reads and writes. It runs by the C interface: that of C++ makes a map of
/// arguments for each call and a list from it, which takes as long as a small product.
class onednn_product {
 public:
  onednn_product_key key;

  onednn_product(const onednn_product_key& made_for, const dnnl::engine& engine) : key(made_for), engine_(engine) {
    const dnnl::memory::desc bias = onednn_bias(key);
    dnnl::post_ops after;
    if (key.alpha != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, key.alpha, 0);
    if (key.adds_to_c && key.beta != 0) after.append_sum(key.beta);
    // The bias of a product is added first, and twice as fast as one that follows something else.
    const bool adds_bias_first = key.adds_bias && after.len() == 0;
    if (adds_bias_first) {
      bias_role_ = DNNL_ARG_BIAS;
    } else if (key.adds_bias) {
      bias_role_ = DNNL_ARG_ATTR_MULTIPLE_POST_OP(after.len()) | DNNL_ARG_SRC_1;
      after.append_binary(dnnl::algorithm::binary_add, bias);
    }
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::memory::desc a = onednn_matrices(key, 0), b = onednn_matrices(key, 1), c = onednn_matrices(key, 2);
    const auto description = adds_bias_first ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes)
                                             : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
    primitive_ = dnnl::matmul(description);
    scratchpad_ = description.scratchpad_desc();
    scratchpad_bytes_ = scratchpad_.get_size();
    prepare_callers(1);
  }
  onednn_product(const onednn_product&) = delete;
  onednn_product& operator=(const onednn_product&) = delete;

  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  /// So many threads may then run the product at the same time. Each tells which of them it is.
  void prepare_callers(std::int64_t count) {
    while (std::ssize(callers_) < count) callers_.emplace_back(*this);
  }

  dnnl_status_t run(const onednn_operands& operands, std::int64_t which = 0) {
    return callers_[static_cast<std::size_t>(which)].run(primitive_, operands);
  }

 private:
  /// Memory whose address is set only if it is another one: other threads have read the last one.
  class placed_memory {
   public:
    placed_memory(const dnnl::memory::desc& layout, const dnnl::engine& engine) : memory_(layout, engine, nullptr) {}

    dnnl_status_t set(const void* address) {
      if (address == address_) return dnnl_success;
      address_ = address;
      return dnnl_memory_set_data_handle(memory_.get(), const_cast<void*>(address));
    }
    dnnl_memory_t get() const { return memory_.get(); }

   private:
    dnnl::memory memory_;
    const void* address_ = nullptr;
  };

  /// What a thread needs for itself to run the primitive.
  class caller {
   public:
    explicit caller(const onednn_product& of)
        : stream_(of.engine_),
          a_(onednn_matrices(of.key, 0), of.engine_),
          b_(onednn_matrices(of.key, 1), of.engine_),
          c_(onednn_matrices(of.key, 2), of.engine_),
          bias_(onednn_bias(of.key), of.engine_),
          scratchpad_(of.scratchpad_, of.engine_),
          arguments_{{{DNNL_ARG_SRC, a_.get()},
                      {DNNL_ARG_WEIGHTS, b_.get()},
                      {DNNL_ARG_DST, c_.get()},
                      {DNNL_ARG_SCRATCHPAD, scratchpad_.get()},
                      {of.bias_role_, bias_.get()}}},
          count_(static_cast<int>(arguments_.size()) - (of.key.adds_bias ? 0 : 1)) {}

    dnnl_status_t run(const dnnl::matmul& primitive, const onednn_operands& operands) {
      for (const dnnl_status_t status : {a_.set(operands.a), b_.set(operands.b), c_.set(operands.c),
                                         bias_.set(operands.bias), scratchpad_.set(operands.scratchpad)}) {
        if (status != dnnl_success) return status;
      }
      return dnnl_primitive_execute(primitive.get(), stream_.get(), count_, arguments_.data());
    }

   private:
    dnnl::stream stream_;
    placed_memory a_, b_, c_, bias_, scratchpad_;
    std::array<dnnl_exec_arg_t, 5> arguments_;  ///< the bias is the last one
    int count_;
  };

  dnnl::engine engine_;
  dnnl::matmul primitive_;
  dnnl::memory::desc scratchpad_;
  std::size_t scratchpad_bytes_ = 0;
  int bias_role_ = 0;
  std::deque<caller> callers_;
};

/// What a context keeps: the primitives of its latest products. To make one anew takes longer than a small product.
struct onednn_products {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  recent_plans<onednn_product> plans;

  /// The primitive, made for as many threads of OpenMP as the key says.
  onednn_product& find(const onednn_product_key& key) {
    const openmp_threads_scope scope(key.threads);
    return plans.find(key, engine);
  }
};

}  // namespace prumo::backend
