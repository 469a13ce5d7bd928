// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace prumo::bench {

/// Ceilings that apply to a case: bytes/s (algorithmic), flop/s, functions/s; seconds for `launch`.
struct measured_ceilings {
  std::optional<double> copy;
  std::optional<double> triad;
  std::optional<double> read;
  std::optional<double> write;
  std::optional<double> fma;
  std::optional<double> launch;        ///< the time of a kernel that does next to nothing
  std::optional<double> product = {};  ///< flop/s of large products of the type and compute mode
  std::optional<double> h2d = {};      ///< bytes/s of copies from the host to the device
  std::optional<double> d2h = {};      ///< and back
  /// Functions/s by the kind of flops: `exp`.
  std::map<std::string, std::optional<double>, std::less<>> kinds = {};

  /// The ceiling by its name in results files: `triad`, `exp_rate`.
  [[nodiscard]] std::optional<double>& by_name(std::string_view name);
};

/// A ceiling as results files have it.
struct ceiling_kind {
  std::string_view name;
  std::string_view unit;   ///< `B/s`, `flop/s`, `op/s`, or `s` for the time of a launch
  bool is_sized = false;   ///< depends on the size of the arrays
  bool is_cached = false;  ///< depends on the cache state
};

/// All of them, in the order of tables.
[[nodiscard]] std::span<const ceiling_kind> every_ceiling();
/// \pre there is one of that name
[[nodiscard]] const ceiling_kind& ceiling_named(std::string_view name);

/// The kinds of counted flops that have a rate of their own, beside additions, products and multiply-adds.
[[nodiscard]] std::span<const std::string_view> kinds_with_rates();
/// The ceiling of a kind: `exp_rate`.
[[nodiscard]] std::string rate_of_kind(std::string_view kind);

/// Which of a device's ceilings apply.
struct ceiling_conditions {
  std::string_view dtype;
  std::string_view cache;
  std::string_view dispatch = "recorded";
  std::uint64_t bytes_per_array = 0;
  std::string_view compute_mode = "strict";  ///< of products
  std::string_view host_memory = {};         ///< of copies between host and device
};

/// Picks them from the `ceilings` list of a device: entries `{probe, dtype, bytes_per_array, cache, unit,
/// value}` of this type and cache state. The entry has the same size, or else the nearest one by ratio. `launch` and
/// the copies are the same for all types; `launch` has an entry for each dispatch, products for each compute mode, and
/// copies for each kind of host memory.
[[nodiscard]] measured_ceilings find_ceilings(const nlohmann::json& ceilings, const ceiling_conditions& wanted);

/// Which measured bandwidth is the memory roof of a case.
enum class memory_roof {
  read,   ///< reductions: one array read
  write,  ///< one array written and none read
  copy,   ///< one array in, one out
  triad,  ///< two arrays or more in, one out
  best    ///< the highest known
};

/// The roof of a case. `streams` are the bytes that it moves over the bytes of its largest array, and `arrays` is the
/// number of its arrays; both may be unknown. About one stream is `write` if no other array is read, and otherwise
/// `read`. About two streams are `copy`, and more are `triad`.
[[nodiscard]] memory_roof roof_of(std::optional<double> streams, int arrays);

/// A measured bandwidth and the probe that it comes from.
struct memory_ceiling {
  double value = 0;
  std::string_view probe;
  bool same_traffic = true;  ///< false: replaces a probe that was not measured, and may be exceeded
};

/// The ceiling for a roof. If `write` has no probe of its own, the better of `copy` and `triad` is used, because hardly
/// any memory writes faster than it reads; but the traffic is not the same. Any other roof without its probe uses the
/// best known one.
[[nodiscard]] std::optional<memory_ceiling> find_memory_ceiling(const measured_ceilings& ceilings, memory_roof roof);

}  // namespace prumo::bench
