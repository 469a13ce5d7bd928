// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/case/operation_case.hpp>
#include <prumo/protocol/messages.hpp>

#include <cstdint>
#include <vector>

namespace prumo::worker {

/// The description of a case for `hello`.
protocol::case_description describe(const cases::case_info& info, int arrays);

/// The choice of a request without the shape: type, layout, and parameters with their defaults. Throws request_error,
/// which names what does not exist (usage) or what this operation lacks (unsupported).
cases::specification choose(const cases::case_info& info, const protocol::case_request& request);

/// The axes in a request. Throws request_error (usage) if the operation lacks one of them.
cases::shape given_shape(const cases::case_info& info, const protocol::case_request& request);

/// Adds mode, seed and implementation.
void complete(cases::specification& choice, const cases::case_info& info, const protocol::prepare_request& request);

/// The bytes of one copy of all arrays. Throws request_error (memory) before the number could overflow, because no
/// machine has so much memory.
std::int64_t checked_footprint(const std::vector<cases::array_specification>& arrays,
                               const cases::specification& choice);

/// Bytes of the largest array.
std::int64_t largest_array_bytes(const std::vector<cases::array_specification>& arrays, dtype type);

/// `add f32 n=1000`
std::string case_label(const cases::specification& choice);

}  // namespace prumo::worker
