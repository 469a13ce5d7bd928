// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace prumo::bench {

/// The candidate that the user most likely meant by `name` (edit distance with swapped neighbours, or a common
/// beginning); empty where none is near.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// `unknown operation 'ad'; did you mean 'add'? There are: add, mul.` The list is left out where it is long.
[[nodiscard]] std::string unknown_name_message(std::string_view what, std::string_view name,
                                               std::span<const std::string> candidates);

}  // namespace prumo::bench
