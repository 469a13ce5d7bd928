// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace prumo::data {

/// What prumo can read.
enum class file_kind { images, labels, weights, net };

/// What a file holds, by its first bytes; the name of a known net counts as one.
/// \throws bench::file_error for a file that is none of these, or that cannot be read
[[nodiscard]] file_kind kind_of_file(const std::string& path);

}  // namespace prumo::data
