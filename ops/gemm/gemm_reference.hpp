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
/// The bound: each product reaches C through at most k + 1 additions (of k products, the old C and the bias, in
/// whatever order and blocks), its own rounding, and those of alpha or beta, so the error is below gamma_{k+3}
/// (|alpha| |A| |B| + |beta| |C| + |bias|), with one less where there is no bias; Higham, section 3.5. The activation
/// follows, activated_bound(). Then C is rounded to its storage type. A mode that rounds
/// inputs by e at most adds (2 e + e^2) |alpha| |A| |B|. Sums of f8 products pass through units that keep fewer bits:
/// product_reference::cut_off(), of 128 products at a time in mode strict, which is how often CUTLASS and others
/// promote them, and of all in mode fast_accumulation.
void append_gemm_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                           std::vector<reference_entry>& out);

}  // namespace prumo::cases
