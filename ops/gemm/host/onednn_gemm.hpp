// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of f16, bf16 and f32 on the host by oneDNN. For 16-bit numbers it uses instructions that multiply them and
/// add the products in f32, up to the matrix units of Intel's AMX. Products of f32 are those of a BLAS. oneDNN has no
/// products of f64 on processors.

#include "blas_form.hpp"

#include <string>

namespace prumo::backend {

/// Whether oneDNN has such instructions for T on this processor, and can compute the problem as it lies in memory.
template <class Exec, class T>
std::string prepare_onednn(const Exec& instance, const gemm_problem<T>& problem, blas_form<T>& form);

/// oneDNN adds beta C and a bias of the columns to the sums, before it rounds them. For anything else a pass over C
/// follows. If C has 16 bits, oneDNN leaves the product in f32 in the context's workspace for it.
///
/// Products of f16 and bf16 are exact in f32, and sums are f32, so the bound of the portable kernel holds. Only numbers
/// of bf16 below 2^-126 count as zero, and so do sums below it: AVX512-BF16 and AMX always compute like this.
template <class Exec, class T>
void run_onednn(context<Exec>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

}  // namespace prumo::backend
