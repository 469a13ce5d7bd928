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

/// None where the libraries have no such mode for T; `why_not` says so.
///
/// Strict f32 is the pedantic computation: plain COMPUTE_32F would follow NVIDIA_TF32_OVERRIDE and the emulation that
/// CUBLAS_EMULATE_SINGLE_PRECISION asks for. f64 and the 16-bit types lose nothing in tensor units: products of f16 and
/// bf16 are exact in f32, and so are those of f8; the sums of f8 products are not, as cublaslt_limits.hpp says.
template <class T>
std::optional<library_types> library_types_of(gemm_mode mode, std::string& why_not);

/// cuBLAS can compute the problem as it lies in memory; it has nothing for f8.
template <class T>
std::string prepare_cublas(const Kokkos::Cuda& instance, const gemm_problem<T>& problem, blas_form<T>& form);

/// For f8 it throws unsupported_error: cuBLASLt turned out to have nothing either.
template <class T>
void run_cublas(context<Kokkos::Cuda>& ctx, const blas_form<T>& form);

/// cuBLASLt may have an algorithm for the problem.
template <class T>
std::string prepare_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem, blas_form<T>& form);

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

/// As run_cublaslt(), by the fastest of what cuBLASLt proposes and of what cuBLAS takes: backend::run_fastest().
template <class T>
void run_tuned(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

}  // namespace prumo::backend::cuda
