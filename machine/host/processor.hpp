// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Identifies the processor: its name, its instruction sets, and what is known about its vector units.

#include "system_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::machine::host {

/// A processor's identity. Family, model, implementer and part are -1 if they do not exist.
struct processor {
  std::optional<std::string> vendor;
  std::optional<std::string> name;
  std::optional<std::string> architecture;
  std::vector<std::string> instruction_sets;
  std::optional<int> vector_bits;
  std::optional<bool> virtual_machine;
  std::optional<double> clock_base_mhz;
  std::optional<double> clock_max_mhz;
  int family = -1;       ///< x86
  int model = -1;        ///< x86
  int implementer = -1;  ///< ARM
  int part = -1;         ///< ARM
};

/// Asks the processor, and the system for what the processor does not say.
processor identify_processor(const system_files& files);

/// The registers of the x86 instruction CPUID that name instruction sets, and the register states that the system saves
/// (XCR0).
struct x86_feature_words {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf1_edx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t enabled_states = 0;
};

/// The instruction sets that both processor and system provide, from the oldest on.
std::vector<std::string> x86_instruction_sets(const x86_feature_words& words);

/// The instruction sets of the line `Features` in an ARM /proc/cpuinfo.
std::vector<std::string> arm_instruction_sets(std::string_view features);

/// Who designed an ARM core, by MIDR implementer; empty if unknown.
std::string_view arm_vendor(int implementer);

/// The name of an ARM core, by MIDR implementer and part; empty if unknown.
std::string_view arm_core_name(int implementer, int part);

/// The width of the widest vectors of a list of instruction sets. None if there are no vectors in it, or SVE, whose
/// width only the processor knows.
std::optional<int> vector_bits_of(const std::vector<std::string>& instruction_sets);

bool has_instruction_set(const std::vector<std::string>& instruction_sets, std::string_view name);

/// The vector units of a core: `pipes` fused multiply-adds of `bits` bits start in each cycle.
struct fma_units {
  double pipes = 0;
  int bits = 0;
  std::string source;
};

/// The units of the processor's microarchitecture; none if they are not known for certain. Sources: Intel's
/// optimization reference manual, AMD's software optimization guides for families 17h, 19h and 1Ah, and Arm's software
/// optimization guides for the cores.
std::optional<fma_units> known_fma_units(const processor& subject);

}  // namespace prumo::machine::host
