// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/case/operation_case.hpp>
#include <prumo/protocol/messages.hpp>

#include <cstdint>
#include <vector>

namespace prumo::worker {

/// What `hello` says of a case.
protocol::case_description describe(const cases::case_info& info, int arrays);

/// The choice that a request makes, all but the shape: type, layout, parameters with their defaults. Throws
/// request_error that names what does not exist (usage) or what this operation lacks (unsupported).
cases::specification choose(const cases::case_info& info, const protocol::case_request& request);

/// The axes that a request gives. Throws request_error (usage) for one that the operation does not have.
cases::shape given_shape(const cases::case_info& info, const protocol::case_request& request);

/// Adds mode, seed and implementation.
void complete(cases::specification& choice, const cases::case_info& info, const protocol::prepare_request& request);

/// Bytes of one copy of all arrays. Throws request_error (memory) where the number is beyond any machine, before it
/// could overflow.
std::int64_t checked_footprint(const std::vector<cases::array_specification>& arrays,
                               const cases::specification& choice);

/// Bytes of the largest array.
std::int64_t largest_array_bytes(const std::vector<cases::array_specification>& arrays, dtype type);

/// `add f32 n=1000`
std::string case_label(const cases::specification& choice);

}  // namespace prumo::worker
