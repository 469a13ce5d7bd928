// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of what processors do not report about themselves.
#include "processor.hpp"

#include <algorithm>

namespace prumo::machine::host {

namespace {

struct arm_core {
  int implementer;
  int part;
  std::string_view name;
  double fma_pipes;  ///< 0: not in the table
  int fma_bits;
};

/// The names are those of lscpu in util-linux (sys-utils/lscpu-arm.c).
constexpr arm_core arm_cores[] = {
    {0x41, 0xd03, "Cortex-A53", 0, 0},
    {0x41, 0xd04, "Cortex-A35", 0, 0},
    {0x41, 0xd05, "Cortex-A55", 0, 0},
    {0x41, 0xd07, "Cortex-A57", 0, 0},
    {0x41, 0xd08, "Cortex-A72", 0, 0},
    {0x41, 0xd09, "Cortex-A73", 0, 0},
    {0x41, 0xd0a, "Cortex-A75", 0, 0},
    {0x41, 0xd0b, "Cortex-A76", 2, 128},
    {0x41, 0xd0c, "Neoverse-N1", 2, 128},
    {0x41, 0xd0d, "Cortex-A77", 2, 128},
    {0x41, 0xd40, "Neoverse-V1", 2, 256},
    {0x41, 0xd41, "Cortex-A78", 2, 128},
    {0x41, 0xd44, "Cortex-X1", 4, 128},
    {0x41, 0xd46, "Cortex-A510", 0, 0},
    {0x41, 0xd47, "Cortex-A710", 2, 128},
    {0x41, 0xd48, "Cortex-X2", 4, 128},
    {0x41, 0xd49, "Neoverse-N2", 2, 128},
    {0x41, 0xd4a, "Neoverse-E1", 0, 0},
    {0x41, 0xd4d, "Cortex-A715", 2, 128},
    {0x41, 0xd4e, "Cortex-X3", 4, 128},
    {0x41, 0xd4f, "Neoverse-V2", 4, 128},
    {0x41, 0xd80, "Cortex-A520", 0, 0},
    {0x41, 0xd81, "Cortex-A720", 0, 0},
    {0x41, 0xd82, "Cortex-X4", 0, 0},
    {0x41, 0xd83, "Neoverse-V3AE", 0, 0},
    {0x41, 0xd84, "Neoverse-V3", 0, 0},
    {0x41, 0xd8e, "Neoverse-N3", 0, 0},
    {0x43, 0x0af, "ThunderX2", 2, 128},
    {0x46, 0x001, "A64FX", 2, 512},
    {0x48, 0xd01, "Kunpeng-920", 0, 0},
    {0x4e, 0x004, "Carmel", 0, 0},
    {0x61, 0x022, "Apple M1 (efficiency)", 0, 0},
    {0x61, 0x023, "Apple M1 (performance)", 4, 128},
    {0xc0, 0xac3, "Ampere-1", 0, 0},
    {0xc0, 0xac4, "Ampere-1a", 0, 0},
};

}  // namespace

std::string_view arm_vendor(int implementer) {
  switch (implementer) {
    case 0x41: return "ARM";
    case 0x43: return "Cavium";
    case 0x46: return "Fujitsu";
    case 0x48: return "HiSilicon";
    case 0x4e: return "NVIDIA";
    case 0x51: return "Qualcomm";
    case 0x61: return "Apple";
    case 0xc0: return "Ampere";
    default: return {};
  }
}

std::string_view arm_core_name(int implementer, int part) {
  for (const arm_core& core : arm_cores) {
    if (core.implementer == implementer && core.part == part) return core.name;
  }
  return {};
}

std::optional<fma_units> known_fma_units(const processor& subject) {
  const auto is_model = [&](std::initializer_list<int> models) {
    return std::find(models.begin(), models.end(), subject.model) != models.end();
  };
  const auto between = [&](int first, int last) { return first <= subject.model && subject.model <= last; };
  if (subject.vendor == "Intel" && subject.family == 6) {
    if (is_model({0x3c, 0x3f, 0x45, 0x46})) return fma_units{2, 256, "Haswell"};
    if (is_model({0x3d, 0x47, 0x4f, 0x56})) return fma_units{2, 256, "Broadwell"};
    if (is_model({0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6})) return fma_units{2, 256, "Skylake client"};
    if (is_model({0x7d, 0x7e})) return fma_units{1, 512, "Ice Lake client"};
    if (is_model({0x8c, 0x8d})) return fma_units{1, 512, "Tiger Lake"};
    if (is_model({0x6a, 0x6c})) return fma_units{2, 512, "Ice Lake server"};
    if (is_model({0x8f})) return fma_units{2, 512, "Sapphire Rapids"};
    if (is_model({0xcf})) return fma_units{2, 512, "Emerald Rapids"};
    if (is_model({0xad, 0xae})) return fma_units{2, 512, "Granite Rapids"};
    return std::nullopt;  // 55h, Skylake server, has one unit or two, depending on the product
  }
  if (subject.vendor == "AMD") {
    if (subject.family == 0x17) {
      return subject.model < 0x30 ? fma_units{2, 128, "Zen"} : fma_units{2, 256, "Zen 2"};
    }
    if (subject.family == 0x19) {
      const bool is_zen4 = between(0x10, 0x1f) || between(0x60, 0x7f) || between(0xa0, 0xaf);
      if (is_zen4) return fma_units{1, 512, "Zen 4"};
      if (between(0x00, 0x0f) || between(0x20, 0x5f)) return fma_units{2, 256, "Zen 3"};
    }
    if (subject.family == 0x1a && (between(0x00, 0x1f) || between(0x40, 0x4f))) return fma_units{2, 512, "Zen 5"};
    return std::nullopt;
  }
  for (const arm_core& core : arm_cores) {
    if (core.implementer == subject.implementer && core.part == subject.part && core.fma_pipes > 0) {
      return fma_units{core.fma_pipes, core.fma_bits, std::string(core.name)};
    }
  }
  return std::nullopt;
}

}  // namespace prumo::machine::host
