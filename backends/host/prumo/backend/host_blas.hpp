// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The BLAS that prumo calls on the host.

#include <string>
#include <vector>

namespace prumo::backend {

/// The library and its version, as the library reports them. Empty if prumo was built without a CBLAS.
std::string host_blas_description();

/// What makes the BLAS slow or measurements of it doubtful, in sentences. An example is an OpenBLAS that has its own
/// threads beside those of OpenMP. Empty if there is nothing to warn about.
std::vector<std::string> host_blas_warnings();

}  // namespace prumo::backend
