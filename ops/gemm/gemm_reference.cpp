// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_reference.hpp"

#include "gemm_choice.hpp"
#include "gemm_epilogue_reference.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

/// The largest relative error of an input that a mode rounds: of one unit in the last place, since units of some
/// devices cut digits off.
long double input_error(gemm_mode mode) {
  switch (mode) {
    case gemm_mode::strict:
    case gemm_mode::fast_accumulation: return 0;
    case gemm_mode::fast_tf32:
    case gemm_mode::fast_f16: return 0x1p-10L;
    case gemm_mode::fast_bf16: return 0x1p-7L;
  }
  return 0;
}

}  // namespace

void append_gemm_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                           std::vector<reference_entry>& out) {
  const gemm_choice what(choice);
  const long double alpha = as_computed(choice.type, what.alpha);
  const long double beta = as_computed(choice.type, what.beta);
  const gemm_mode mode = mode_of(choice);
  const long double e = input_error(mode);
  const long double growth = gamma(compute_type(choice.type), static_cast<double>(what.k) + (what.has_bias() ? 3 : 2));
  const std::int64_t parts = product_reference::parts(what.m, what.n);
  const std::int64_t which = part / parts;
  product_reference::extents whole{what.m, what.n, what.k, what.trans_a, what.trans_b, which};
  if (mode == gemm_mode::fast_accumulation) whole.stretch = std::max<std::int64_t>(1, what.k);
  const product_reference tile(choice.type, inputs, part % parts, whole);
  const dtype result_type = product_result_type(choice.type);
  const input_values results = inputs.of_type(result_type);
  std::vector<double> old(static_cast<std::size_t>(tile.columns()));
  std::vector<double> bias(static_cast<std::size_t>(what.has_bias() ? what.bias_entries() : 0));
  results.read(3, 0, bias);
  for (std::int64_t i = 0; i < tile.rows(); ++i) {
    const std::int64_t first = (which * what.m + tile.first_row() + i) * what.n + tile.first_column();
    if (beta != 0) results.read(2, first, old);
    for (std::int64_t j = 0; j < tile.columns(); ++j) {
      const long double addend = beta * static_cast<long double>(old[static_cast<std::size_t>(j)]);
      const std::int64_t place = what.bias == bias_kind::of_rows ? tile.first_row() + i : tile.first_column() + j;
      const long double added = what.has_bias() ? static_cast<long double>(bias[static_cast<std::size_t>(place)]) : 0;
      const long double value = alpha * tile.sum(i, j) + addend + added;
      const long double products = std::fabs(alpha) * tile.sum_of_magnitudes(i, j);
      const long double bound = growth * (products + std::fabs(addend) + std::fabs(added)) +
                                (2 * e + e * e) * products + std::fabs(alpha) * tile.cut_off(i, j);
      const long double result = exactly_activated(what.activation, value);
      out.push_back({2, first + j, result,
                     stored_bound(result_type, result, activated_bound(what.activation, result_type, value, bound))});
    }
  }
}

}  // namespace prumo::cases
