// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "functions.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace prumo::accuracy {

/// Wrong usage. The message says what to do.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct options {
  std::vector<function> functions{all_functions.begin(), all_functions.end()};
  std::vector<dtype> types{dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
  std::string device;                              ///< empty: the one that Kokkos prefers
  std::uint64_t stride = 1;                        ///< the distance between tried arguments of 32 and 16 bits
  std::uint64_t samples = std::uint64_t{1} << 22;  ///< of each kind of arguments of 64 bits
  std::uint64_t seed = 1;
  std::string output;  ///< empty: no file; `-`: standard output, in place of the table
  bool list = false;
  bool help = false;
  bool version = false;
};

/// Reads a command line without the program's name and without Kokkos' own arguments. Throws usage_error.
options parse_options(const std::vector<std::string>& arguments);

/// What `--help` prints.
std::string help_text(const std::string& program, const std::vector<std::string>& devices);

}  // namespace prumo::accuracy
