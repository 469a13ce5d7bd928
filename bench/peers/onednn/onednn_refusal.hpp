// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/serving/server.hpp>

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

namespace prumo::peers {

/// `3.12.1`.
std::string onednn_version();

/// `avx512_core_bf16`: what kernels are generated for.
std::string onednn_instruction_set();

/// What oneDNN says of a refusal, without its advice to trace the program.
std::string reason_of(const dnnl::error& refused);

/// The answer of the worker to a request for `what`, which oneDNN refused.
protocol::request_error refusal_of(const std::string& what, const dnnl::error& refused);

}  // namespace prumo::peers
