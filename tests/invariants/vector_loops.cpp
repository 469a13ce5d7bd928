// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over formulas that take vectors, for check_vector_loops.py: it compiles this file and reads the machine code.
// The operations' own formulas and one of a user's.

#include "../../ops/activation/activation_formulas.hpp"
#include "../../ops/elementary/elementary_formulas.hpp"
#include <prumo/transform.hpp>

namespace user {

struct gate {
  static constexpr bool takes_vectors = true;
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    return prumo::select(x < C(0), prumo::sigmoid(x) * y, prumo::fma(x, y, C(1)));
  }
};

}  // namespace user

template class prumo::detail::contiguous_elements<prumo::exp_formula<float>, float, float>;
template class prumo::detail::contiguous_elements<prumo::log_formula<double>, double, double>;
template class prumo::detail::contiguous_elements<prumo::sqrt_formula<float>, float, float>;
template class prumo::detail::contiguous_elements<prumo::tanh_formula<float>, float, float>;
template class prumo::detail::contiguous_elements<prumo::gelu_formula<float>, float, float>;
template class prumo::detail::contiguous_elements<prumo::gelu_formula<double>, double, double>;
template class prumo::detail::contiguous_elements<prumo::gelu_formula<float>, prumo::bf16, prumo::bf16>;
#if defined(__F16C__) || defined(__aarch64__)  // elsewhere numbers of f16 are widened one by one
template class prumo::detail::contiguous_elements<prumo::log_formula<float>, prumo::f16, prumo::f16>;
template class prumo::detail::contiguous_elements<prumo::relu_formula<float>, prumo::f16, prumo::f16>;
#endif
template class prumo::detail::contiguous_elements<user::gate, float, float, float>;
