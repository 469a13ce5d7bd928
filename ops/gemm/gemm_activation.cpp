// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_activation.hpp"

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

template <activation_function Function, class C>
PRUMO_FLATTEN void activate_by(C* values, std::int64_t count) {
  PRUMO_INDEPENDENT_ITERATIONS
  for (std::int64_t i = 0; i < count; ++i) values[i] = activated(Function, values[i]);
}

}  // namespace

template <class C>
void activate(activation_function function, C* values, std::int64_t count) {
  using enum activation_function;
  switch (function) {
    case none: return;
    case relu: return activate_by<relu>(values, count);
    case sigmoid: return activate_by<sigmoid>(values, count);
    case tanh: return activate_by<tanh>(values, count);
    case gelu: return activate_by<gelu>(values, count);
    case gelu_by_tanh: return activate_by<gelu_by_tanh>(values, count);
  }
}

template void activate(activation_function, float*, std::int64_t);
template void activate(activation_function, double*, std::int64_t);
template void activate(activation_function, counted<float>*, std::int64_t);
template void activate(activation_function, counted<double>*, std::int64_t);

}  // namespace PRUMO_INSTRUCTION_SET

flop_counts activation_counts(activation_function function) {
  using enum activation_function;
  flop_counts counts;
  switch (function) {
    case none: break;
    case relu: counts[flop_kind::minmax] = 1; break;
    case tanh: counts[flop_kind::tanh] = 1; break;
    case gelu:
      counts[flop_kind::mul] = 3;
      counts[flop_kind::add] = counts[flop_kind::erf] = 1;
      break;
    case gelu_by_tanh:
      counts[flop_kind::mul] = 3;
      counts[flop_kind::fma] = counts[flop_kind::minmax] = 1;
      [[fallthrough]];
    case sigmoid: {
      const flop_kind of_sigmoid[] = {flop_kind::exp, flop_kind::add, flop_kind::div, flop_kind::compare};
      for (const flop_kind kind : of_sigmoid) ++counts[kind];
      break;
    }
  }
  return counts;
}

}  // namespace prumo::backend
