// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// The unsigned integer of so many bytes: kernels that only move elements are compiled once a size, not once a type.
template <std::size_t Bytes>
using word_of_bytes =
    std::conditional_t<Bytes == 8, std::uint64_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint16_t>>;

}  // namespace prumo::detail
