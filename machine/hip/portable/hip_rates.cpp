// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hip_rates.hpp"

#include <algorithm>
#include <array>

namespace prumo::machine::hip {

namespace {

constexpr int unknown = -1;
constexpr int none = 0;

/// How one instruction does two operations in f32.
enum class pairs { no, packed, dual_issue };

/// A row of the table: the flops of one compute unit in one clock.
struct compute_unit_rates {
  std::string_view architecture;
  int f32;
  pairs f32_pairs;  ///< `f32` counts both operations of a pair
  int f64;
  int f16;
  int bf16;
  int matrix_f16;
  int matrix_bf16;
  int matrix_f32;
  int matrix_f64;
  int memory_transfers;
};

// Sources:
// - CDNA: the tables of the architecture whitepapers (CDNA 2: "Peak throughput comparison", CDNA 3: "flops/clock/CU"),
//   and datasheets divided by compute units and clock (MI100 23.1 TFLOP/s and 184.6, MI250X 47.9 and 383, MI300X 163.4
//   and 1307.4, MI355X 157.3 and 2516.6).
// - RDNA: the product pages, divided in the same way (RX 6900 XT 23.04 TFLOP/s, RX 7900 XTX 61.4 and 122.8, RX 9070 XT
//   48.7 and 195). Half-precision vector rates are those of packed instructions on the lanes of f32.
// - Memory: the bandwidth of datasheets, divided by the width of the bus and by the clock that the driver reports
//   (MI250X 1600 MHz, MI300X 1300 MHz; GDDR6 of 20 Gbit/s 1249 MHz).
constexpr std::array table = {
    compute_unit_rates{"gfx900", 128, pairs::no, 8, 256, none, none, none, none, none, 2},
    compute_unit_rates{"gfx906", 128, pairs::no, 64, 256, none, none, none, none, none, 2},
    compute_unit_rates{"gfx908", 128, pairs::no, 64, 256, none, 1024, 512, 256, none, 2},
    compute_unit_rates{"gfx90a", 256, pairs::packed, 128, 256, none, 1024, 1024, 256, 256, 2},
    compute_unit_rates{"gfx942", 256, pairs::packed, 128, 256, none, 2048, 2048, 256, 256, 4},
    compute_unit_rates{"gfx950", 256, pairs::packed, 128, unknown, unknown, 4096, 4096, 256, 128, unknown},
    compute_unit_rates{"gfx1010", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1012", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1030", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1031", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1032", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1034", 128, pairs::no, 8, 256, none, none, none, none, none, 16},
    compute_unit_rates{"gfx1100", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, 16},
    compute_unit_rates{"gfx1101", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, 16},
    compute_unit_rates{"gfx1102", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, 16},
    // These are parts of processors, whose memory is the host's.
    compute_unit_rates{"gfx1103", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, unknown},
    compute_unit_rates{"gfx1150", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, unknown},
    compute_unit_rates{"gfx1151", 256, pairs::dual_issue, 8, 256, none, 512, 512, none, none, unknown},
    compute_unit_rates{"gfx1200", 256, pairs::dual_issue, 8, unknown, unknown, 1024, 1024, none, none, unknown},
    compute_unit_rates{"gfx1201", 256, pairs::dual_issue, 8, unknown, unknown, 1024, 1024, none, none, unknown},
};

const compute_unit_rates* find(std::string_view architecture) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const compute_unit_rates& row) { return row.architecture == architecture; });
  return found == table.end() ? nullptr : &*found;
}

/// Whether it is gfx10 or later. Their compute units come in pairs.
bool is_rdna(std::string_view architecture) { return architecture.size() == 7 && architecture.starts_with("gfx1"); }

int vector_entry(const compute_unit_rates& row, dtype type) {
  switch (type) {
    case dtype::f32: return row.f32;
    case dtype::f64: return row.f64;
    case dtype::f16: return row.f16;
    case dtype::bf16: return row.bf16;
    default: return none;
  }
  return unknown;
}

int matrix_entry(const compute_unit_rates& row, dtype type) {
  switch (type) {
    case dtype::f32: return row.matrix_f32;
    case dtype::f64: return row.matrix_f64;
    case dtype::f16: return row.matrix_f16;
    case dtype::bf16: return row.matrix_bf16;
    default: return none;  // prumo has no product of this type on AMD GPUs
  }
  return unknown;
}

rate known(const compute_unit_rates& row, int entry, dtype type, const std::string& what) {
  rate result;
  result.source = row.architecture;
  if (entry == unknown) {
    result.source =
        "the " + what + " rate of " + std::string(dtype_name(type)) + " of " + result.source + " is not in the table";
  } else {
    result.value = entry;
  }
  return result;
}

}  // namespace

std::string architecture_name(std::string_view target) { return std::string(target.substr(0, target.find(':'))); }

rate vector_rate(const std::string& architecture, dtype type, const std::string& product) {
  rate result;
  const compute_unit_rates* const row = find(architecture);
  if (row == nullptr) {
    result.source = (architecture.empty() ? "the architecture is not known" : architecture + " is not in the table");
    return result;
  }
  result = known(*row, vector_entry(*row, type), type, "vector");
  // The consumer card of this architecture has half of its FP64 units switched off.
  if (architecture == "gfx906" && type == dtype::f64 && product.find("Radeon VII") != std::string::npos) {
    result.value = 32;
    result.source += " and product";
  }
  if (type == dtype::f32 && row->f32_pairs != pairs::no) {
    result.plain = row->f32 / 2;
    result.pairs = row->f32_pairs == pairs::packed ? "packed" : "dual issue";
  }
  return result;
}

std::optional<rate> matrix_rate(const std::string& architecture, dtype type) {
  const compute_unit_rates* const row = find(architecture);
  if (row == nullptr) {
    // Architectures newer than the table are assumed to have matrix units for the narrow types, with an unknown rate.
    if (dtype_size(type) != 2) return std::nullopt;
    rate result;
    result.source = (architecture.empty() ? "the architecture is not known" : architecture + " is not in the table");
    return result;
  }
  const int entry = matrix_entry(*row, type);
  if (entry == none) return std::nullopt;
  return known(*row, entry, type, "matrix");
}

std::optional<int> memory_transfers(const std::string& architecture) {
  const compute_unit_rates* const row = find(architecture);
  return row == nullptr || row->memory_transfers == unknown ? std::nullopt : std::optional(row->memory_transfers);
}

std::optional<int> compute_units(const std::string& architecture, std::optional<int> multiprocessors,
                                 std::optional<int> physical) {
  if (physical.value_or(0) > 0) return physical;
  if (multiprocessors.value_or(0) <= 0) return std::nullopt;
  return is_rdna(architecture) ? 2 * *multiprocessors : *multiprocessors;
}

}  // namespace prumo::machine::hip
