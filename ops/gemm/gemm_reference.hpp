// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What products should give, and how far off they may be.

#include <prumo/case/operation_case.hpp>

#include <cstdint>
#include <vector>

namespace prumo::cases {

/// Appends the entries of a part of C, as operation_case::reference() does.
///
/// The bound (Higham, section 3.5): a product reaches C through at most k + 1 additions, of k products, the old C and
/// the bias, in whatever order and blocks. Its own rounding and those of alpha or beta come on top. So the error is
/// below gamma_{k+3} (|alpha| |A| |B| + |beta| |C| + |bias|), or gamma_{k+2} without a bias. activated_bound() adds the
/// activation. Then C is rounded to its storage type. A mode that rounds inputs by at most e adds
/// (2 e + e^2) |alpha| |A| |B|.
///
/// Sums of f8 products pass through units that keep fewer bits: product_reference::cut_off(). In the mode strict these
/// sum 128 products at a time, after which CUTLASS and others go on in f32. In the mode fast_accumulation they sum all.
void append_gemm_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                           std::vector<reference_entry>& out);

}  // namespace prumo::cases
