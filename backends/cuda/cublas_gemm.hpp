// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product through NVIDIA's libraries.

#include <prumo/backend/blas_form.hpp>
#include <prumo/backend/gemm.hpp>

#include <cublas_v2.h>
#include <optional>
#include <string>

namespace prumo::backend::cuda {

/// How the libraries call a product of T in a mode.
struct library_types {
  cudaDataType_t element;
  cudaDataType_t scale;
  cublasComputeType_t compute;
};

/// None where the libraries have no such mode for T; `why_not` says so.
///
/// Strict f32 is the pedantic computation: plain COMPUTE_32F would follow NVIDIA_TF32_OVERRIDE and the emulation that
/// CUBLAS_EMULATE_SINGLE_PRECISION asks for. f64 and the 16-bit types lose nothing in tensor units: products of f16 and
/// bf16 are exact in f32.
template <class T>
std::optional<library_types> library_types_of(gemm_mode mode, std::string& why_not);

/// Where a library writes its result, and what it adds to it.
struct library_result {
  void* data;
  cudaDataType_t type;
  std::int64_t leading_dimension;
  std::int64_t batch_stride;
  const void* beta;  ///< on the host, of the scale type
};

/// C itself, or f32 in the context's workspace where C has to be accumulated afterwards.
template <class T>
library_result result_of(context<Kokkos::Cuda>& ctx, const blas_form<T>& form, const library_types& types);

/// Empty where the libraries can compute the problem as it lies in memory.
template <class T>
std::string why_not_cublas(const Kokkos::Cuda& instance, const gemm_problem<T>& problem);

template <class T>
void run_cublas(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem);

/// Empty where cuBLASLt has an algorithm for the problem.
template <class T>
std::string why_not_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem);

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem);

/// As run_cublaslt(), by the fastest of what cuBLASLt proposes and of what cuBLAS takes. The first product of a problem
/// in a context measures them all, which waits for the device, tenths of a second and more; where the instance is being
/// captured in a graph and nothing was measured before, it is run_cublaslt().
template <class T>
void run_tuned(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend::cuda
