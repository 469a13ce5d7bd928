// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Instruction sequences of known length. They are written in assembly, so that no compiler shortens them. They are
/// chosen at run time, so that a program compiled for any processor measures what the present one can do.

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::machine::host {

/// Whether integer_chain() exists for this architecture.
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__GNUC__)
inline constexpr bool has_integer_chain = true;
#else
inline constexpr bool has_integer_chain = false;
#endif

/// Additions of one round of integer_chain().
inline constexpr std::int64_t chain_length = 128;

/// Runs a chain of additions, each of which waits for the one before. Adding one register to another takes one cycle on
/// every supported processor, so a round takes chain_length cycles. The operand is no immediate number, because some
/// processors add such numbers while they rename registers, which takes no cycle.
void integer_chain(std::int64_t rounds);

/// Independent fused multiply-adds. Enough of them are in flight to fill the pipes.
struct fma_kernel {
  const char* name = "";
  int bits = 0;                        ///< of one vector
  std::int64_t vectors_per_round = 0;  ///< fused multiply-adds of whole vectors in a round
  void (*run)(std::int64_t rounds) = nullptr;
};

/// The kernels that a processor with these instruction sets can run, the widest first.
std::vector<fma_kernel> fma_kernels(const std::vector<std::string>& instruction_sets);

}  // namespace prumo::machine::host
