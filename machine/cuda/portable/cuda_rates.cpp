// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_rates.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

namespace prumo::machine::cuda {

namespace {

constexpr int unknown = -1;
constexpr int none = 0;

/// A row of the table: what a multiprocessor does in one clock. Vector units in fused multiply-adds, tensor units in
/// flops.
struct multiprocessor {
  compute_capability capability;
  int f32;
  int f64;
  int f16;
  int bf16;
  /// With sums in f32, on products that have them at full rate. From 8.0 on bf16 has the same rate and TF32 half of it;
  /// from 8.9 on f8 has twice this rate.
  int tensor_f16;
  int tensor_f64;
};

// Sources. Vector rates up to 7.x: "Throughput of Native Arithmetic Instructions" in the CUDA C++ Programming Guide.
// The other rates are those of datasheets, divided by multiprocessors and clock:
// - Half-precision vector rates of 8.0 to 12.0: the non-tensor FP16 and BF16 rates (A100: 78 and 39 TFLOP/s, H100: 134
//   and 134; RTX 3090, 4090 and 5090: the same as FP32).
// - Tensor rates: V100 125 TFLOP/s, A100 312, H100 989, B200 2250; FP64: A100 19.5, H100 67, B200 37.
// - FP8 with sums in f32 is twice FP16: RTX 4090 330 and 165, L40S 733 and 362, H100 1979 and 989, B200 4500, RTX 5090
//   419 and 209.5.
// Only the FP32 rate of the H200 was compared with a measurement: a matrix product reached 73 % of it.
constexpr std::array table = {
    multiprocessor{{2, 0}, 32, 16, none, none, none, none},
    multiprocessor{{2, 1}, 48, 4, none, none, none, none},
    multiprocessor{{3, 0}, 192, 8, none, none, none, none},
    multiprocessor{{3, 2}, 192, 8, none, none, none, none},
    multiprocessor{{3, 5}, 192, 64, none, none, none, none},
    multiprocessor{{3, 7}, 192, 64, none, none, none, none},
    multiprocessor{{5, 0}, 128, 4, none, none, none, none},
    multiprocessor{{5, 2}, 128, 4, none, none, none, none},
    multiprocessor{{5, 3}, 128, 4, 256, none, none, none},
    multiprocessor{{6, 0}, 64, 32, 128, none, none, none},
    multiprocessor{{6, 1}, 128, 4, 2, none, none, none},
    multiprocessor{{6, 2}, 128, 4, 256, none, none, none},
    multiprocessor{{7, 0}, 64, 32, 128, none, 1024, none},
    multiprocessor{{7, 2}, 64, 32, 128, none, 1024, none},
    multiprocessor{{7, 5}, 64, 2, 128, none, 1024, none},
    multiprocessor{{8, 0}, 64, 32, 256, 128, 2048, 128},
    multiprocessor{{8, 6}, 128, 2, 128, 128, 1024, none},
    multiprocessor{{8, 7}, 128, 2, unknown, unknown, unknown, none},
    multiprocessor{{8, 9}, 128, 2, 128, 128, 1024, none},
    multiprocessor{{9, 0}, 128, 64, 256, 256, 4096, 256},
    multiprocessor{{10, 0}, 128, 64, unknown, unknown, 8192, 128},
    multiprocessor{{10, 3}, 128, unknown, unknown, unknown, 8192, none},
    multiprocessor{{12, 0}, 128, 2, 128, 128, 1024, none},
    multiprocessor{{12, 1}, 128, 2, 128, 128, unknown, none},
};

const multiprocessor* find(compute_capability capability) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const multiprocessor& row) {
    return row.capability.major == capability.major && row.capability.minor == capability.minor;
  });
  return found == table.end() ? nullptr : &*found;
}

bool is(compute_capability capability, int major, int minor) {
  return capability.major == major && capability.minor == minor;
}

/// A product's name as words: `NVIDIA GeForce RTX 4090` has RTX, `NVIDIA A10G` has no A10.
class product_words {
 public:
  explicit product_words(std::string_view name) {
    while (!name.empty()) {
      const std::size_t end = std::min(name.find_first_of(" -_/()"), name.size());
      if (end > 0) words_.emplace_back(name.substr(0, end));
      name.remove_prefix(std::min(end + 1, name.size()));
    }
  }

  template <class... Words>
  bool has_any(const Words&... words) const {
    return ((std::find(words_.begin(), words_.end(), words) != words_.end()) || ...);
  }

  /// RTX A2000, RTX A6000: workstation cards whose number begins with a letter.
  bool has_rtx_a() const {
    return has_any("RTX") && std::any_of(words_.begin(), words_.end(), [](std::string_view word) {
             return word.size() > 4 && word[0] == 'A' &&
                    std::all_of(word.begin() + 1, word.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
           });
  }

 private:
  std::vector<std::string_view> words_;
};

/// How fast the tensor units sum in f32. Within one compute capability, some product lines do so at half the rate. The
/// lists come from the rates of datasheets, divided by multiprocessors and clock.
enum class f32_sums { full, half, absent, by_product_unknown };

f32_sums sums_of(compute_capability capability, const product_words& product) {
  const bool geforce = product.has_any("GeForce");
  if (is(capability, 7, 5)) {
    if (product.has_any("GTX", "MX450", "MX550", "T400", "T500", "T550", "T600", "T1000", "T1200")) {
      return f32_sums::absent;
    }
    if (geforce) return f32_sums::half;
    if (product.has_any("T4", "T4G") || (product.has_any("Quadro", "TITAN") && product.has_any("RTX"))) {
      return f32_sums::full;
    }
    return f32_sums::by_product_unknown;
  }
  if (is(capability, 8, 6)) {
    if (geforce || product.has_any("A10G")) return f32_sums::half;
    return product.has_any("A2", "A10", "A16", "A40") || product.has_rtx_a() ? f32_sums::full
                                                                             : f32_sums::by_product_unknown;
  }
  if (is(capability, 8, 9)) {
    if (geforce || product.has_any("L40")) return f32_sums::half;
    return product.has_any("L4", "L40S", "Ada") ? f32_sums::full : f32_sums::by_product_unknown;
  }
  if (is(capability, 12, 0)) {
    if (geforce && product.has_any("5090") && product.has_any("D")) return f32_sums::by_product_unknown;
    if (geforce) return f32_sums::half;
    return product.has_any("RTX") && product.has_any("PRO") ? f32_sums::full : f32_sums::by_product_unknown;
  }
  return f32_sums::full;
}

/// Whether a product has fewer units than other products of its compute capability.
bool is_cut(const product_words& product, bool tensor, dtype type) {
  if (product.has_any("CMP")) return true;
  if (product.has_any("H20")) return tensor || type == dtype::f64;
  return product.has_any("H800") && type == dtype::f64;
}

int vector_entry(const multiprocessor& row, dtype type, const product_words& product) {
  switch (type) {
    case dtype::f32: return row.f32;
    case dtype::f64:
      // GeForce cards of these two have most FP64 units switched off, unless they are named TITAN.
      if (product.has_any("GeForce") && !product.has_any("TITAN")) {
        if (is(row.capability, 2, 0)) return 4;
        if (is(row.capability, 3, 5)) return 8;
      }
      return row.f64;
    case dtype::f16: return row.f16;
    case dtype::bf16: return row.bf16;
    default: return none;
  }
  return unknown;
}

int tensor_entry(const multiprocessor& row, dtype type) {
  if (type == dtype::f64) return row.tensor_f64;
  if (type == dtype::f16) return row.tensor_f16;
  if (type == dtype::f8_e4m3) {
    if (!has_f8(row.capability)) return none;
    return row.tensor_f16 > 0 ? 2 * row.tensor_f16 : row.tensor_f16;
  }
  if (row.capability.major < 8) return none;
  return type == dtype::f32 && row.tensor_f16 > 0 ? row.tensor_f16 / 2 : row.tensor_f16;
}

}  // namespace

std::optional<compute_capability> parse_capability(const std::string& text) {
  compute_capability result;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, result.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, result.minor);
  if (minor.ec != std::errc() || minor.ptr != end) return std::nullopt;
  return result;
}

rate vector_rate(compute_capability capability, dtype type, const std::string& product) {
  const std::string subject = "compute capability " + text_of(capability);
  const multiprocessor* const row = find(capability);
  if (row == nullptr) return {std::nullopt, subject + " is not in the table"};
  const product_words words(product);
  if (is_cut(words, false, type)) return {std::nullopt, product + " has fewer units than others of " + subject};
  const int entry = vector_entry(*row, type, words);
  if (entry == unknown) {
    return {std::nullopt, "the rate of " + std::string(dtype_name(type)) + " of " + subject + " is not in the table"};
  }
  return {entry, subject};
}

std::optional<rate> tensor_rate(compute_capability capability, dtype type, const std::string& product) {
  const std::string subject = "compute capability " + text_of(capability);
  const multiprocessor* const row = find(capability);
  // Architectures newer than the table are assumed to have tensor units, with an unknown rate.
  if (row == nullptr) {
    if (capability.major < 7 || type == dtype::f64) return std::nullopt;
    if (type == dtype::f8_e4m3 && !has_f8(capability)) return std::nullopt;
    return rate{std::nullopt, subject + " is not in the table"};
  }
  const int entry = tensor_entry(*row, type);
  if (entry == none) return std::nullopt;
  const product_words words(product);
  if (is_cut(words, true, type)) return rate{std::nullopt, product + " has fewer units than others of " + subject};
  if (entry == unknown) return rate{std::nullopt, "the tensor rate of " + subject + " is not in the table"};
  if (type == dtype::f64) return rate{entry, subject};
  switch (sums_of(capability, words)) {
    case f32_sums::full: return rate{entry, subject};
    case f32_sums::half: return rate{entry / 2, subject + " and product: sums in f32 have half the rate"};
    case f32_sums::absent: return std::nullopt;
    case f32_sums::by_product_unknown: break;
  }
  return rate{std::nullopt, "some products of " + subject + " sum in f32 at half the rate; whether that is true of " +
                                (product.empty() ? std::string("this one") : product) + " is not known"};
}

std::optional<int> f32_lanes(compute_capability capability) {
  const multiprocessor* const row = find(capability);
  return row == nullptr ? std::nullopt : std::optional(row->f32);
}

}  // namespace prumo::machine::cuda
