// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/measured_ceilings.hpp"

#include "results/result_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr std::string_view rate_suffix = "_rate";

constexpr std::array<std::string_view, 6> rated_kinds{"div", "sqrt", "exp", "log", "tanh", "erf"};

constexpr std::array<ceiling_kind, 15> ceilings_in_order{{{"copy", "B/s", true, true},
                                                          {"triad", "B/s", true, true},
                                                          {"read", "B/s", true, true},
                                                          {"write", "B/s", true, true},
                                                          {"fma", "flop/s"},
                                                          {"launch", "s"},
                                                          {"div_rate", "op/s"},
                                                          {"sqrt_rate", "op/s"},
                                                          {"exp_rate", "op/s"},
                                                          {"log_rate", "op/s"},
                                                          {"tanh_rate", "op/s"},
                                                          {"erf_rate", "op/s"},
                                                          {"product", "flop/s"},
                                                          {"h2d", "B/s", true},
                                                          {"d2h", "B/s", true}}};

bool is_copy_of_host(std::string_view name) { return name == "h2d" || name == "d2h"; }

/// Whether an entry of a device's `ceilings` is of that kind and holds under the conditions, whatever its size is.
bool applies(const json& entry, const ceiling_kind& kind, const ceiling_conditions& wanted) {
  if (!entry.is_object() || text_of(field(entry, "/probe")) != kind.name) return false;
  if (is_copy_of_host(kind.name)) return text_of(field(entry, "/host_memory")) == wanted.host_memory;
  if (kind.name == "launch") {
    return (text_of(field(entry, "/dispatch")) == "single") == (wanted.dispatch == "single");
  }
  if (text_of(field(entry, "/dtype")) != wanted.dtype) return false;
  if (kind.name == "product") return text_of(field(entry, "/compute_mode")) == wanted.compute_mode;
  return !kind.is_cached || text_of(field(entry, "/cache")) == wanted.cache;
}

}  // namespace

std::optional<double>& measured_ceilings::by_name(std::string_view name) {
  if (name.ends_with(rate_suffix)) {
    name.remove_suffix(rate_suffix.size());
    return kinds[std::string(name)];
  }
  if (name == "copy") return copy;
  if (name == "triad") return triad;
  if (name == "read") return read;
  if (name == "write") return write;
  if (name == "fma") return fma;
  if (name == "product") return product;
  if (name == "h2d") return h2d;
  return name == "d2h" ? d2h : launch;
}

std::span<const ceiling_kind> every_ceiling() { return ceilings_in_order; }

const ceiling_kind& ceiling_named(std::string_view name) {
  return *std::ranges::find(ceilings_in_order, name, &ceiling_kind::name);
}

std::span<const std::string_view> kinds_with_rates() { return rated_kinds; }

std::string rate_of_kind(std::string_view kind) { return fmt::format("{}{}", kind, rate_suffix); }

measured_ceilings find_ceilings(const json& ceilings, const ceiling_conditions& wanted) {
  measured_ceilings found;
  for (const ceiling_kind& kind : ceilings_in_order) {
    double distance = std::numeric_limits<double>::infinity();
    for (const json& entry : ceilings) {
      const auto value = applies(entry, kind, wanted) ? number_of(field(entry, "/value")) : std::nullopt;
      if (!value) continue;
      const double size = number_of(field(entry, "/bytes_per_array")).value_or(0);
      const double now = size > 0 && wanted.bytes_per_array > 0
                             ? std::abs(std::log(size / static_cast<double>(wanted.bytes_per_array)))
                             : std::numeric_limits<double>::max();
      if (now >= distance) continue;
      distance = now;
      found.by_name(kind.name) = value;
    }
  }
  return found;
}

memory_roof roof_of(std::optional<double> streams, int arrays) {
  if (streams && *streams > 0) {
    if (*streams < 1.5) return arrays == 1 ? memory_roof::write : memory_roof::read;
    return *streams < 2.5 ? memory_roof::copy : memory_roof::triad;
  }
  if (arrays == 1) return memory_roof::write;
  if (arrays == 2) return memory_roof::copy;
  return arrays >= 3 ? memory_roof::triad : memory_roof::best;
}

std::optional<memory_ceiling> find_memory_ceiling(const measured_ceilings& ceilings, memory_roof roof) {
  std::optional<memory_ceiling> found;
  const auto consider = [&](const std::optional<double>& value, std::string_view probe, bool same_traffic) {
    if (value && (!found || *value > found->value)) found = memory_ceiling{*value, probe, same_traffic};
  };
  switch (roof) {
    case memory_roof::read: consider(ceilings.read, "read", true); break;
    case memory_roof::copy: consider(ceilings.copy, "copy", true); break;
    case memory_roof::triad: consider(ceilings.triad, "triad", true); break;
    case memory_roof::write: consider(ceilings.write, "write", true); break;
    case memory_roof::best: break;
  }
  if (found) return found;
  consider(ceilings.copy, "copy", false);
  consider(ceilings.triad, "triad", false);
  if (!found || roof != memory_roof::write) consider(ceilings.read, "read", false);
  return found;
}

}  // namespace prumo::bench
