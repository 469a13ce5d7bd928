// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The BLAS that prumo calls on the host.

#include <string>
#include <vector>

namespace prumo::backend {

/// The library and its version as it tells them itself. Empty where prumo was built without a CBLAS.
std::string host_blas_description();

/// What makes the BLAS slow or its measurements doubtful, in sentences: an OpenBLAS with threads of its own beside
/// OpenMP's, say. Empty where all is well.
std::vector<std::string> host_blas_warnings();

}  // namespace prumo::backend
