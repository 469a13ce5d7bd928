// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product through NVIDIA's libraries.

#include "blas_form.hpp"
#include "gemm_plan.hpp"

#include <cublas_v2.h>
#include <optional>
#include <string>

namespace prumo::backend::cuda {

using library_types = gemm_library_types<cudaDataType_t, cublasComputeType_t>;

/// None if the libraries have no such mode for T; `why_not` then says so.
///
/// Strict f32 is the pedantic computation, because plain COMPUTE_32F follows NVIDIA_TF32_OVERRIDE and
/// CUBLAS_EMULATE_SINGLE_PRECISION. f64 and the 16-bit types lose nothing in tensor units, because products of f16 and
/// bf16 are exact in f32. Products of f8 are exact, too, but their sums are not, as cublaslt_limits.hpp says.
template <class T>
std::optional<library_types> library_types_of(gemm_mode mode, std::string& why_not);

/// Whether cuBLAS can compute the problem as it lies in memory. It has no product for f8.
template <class T>
std::string prepare_cublas(const Kokkos::Cuda& instance, const gemm_problem<T>& problem, blas_form<T>& form);

/// For f8 it throws unsupported_error, because cuBLASLt was asked before and has no algorithm either.
template <class T>
void run_cublas(context<Kokkos::Cuda>& ctx, const blas_form<T>& form);

/// Whether cuBLASLt may have an algorithm for the problem.
template <class T>
std::string prepare_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem, blas_form<T>& form);

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

/// Like run_cublaslt(), with the fastest algorithm of cuBLASLt and cuBLAS: backend::run_fastest().
template <class T>
void run_tuned(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

}  // namespace prumo::backend::cuda
