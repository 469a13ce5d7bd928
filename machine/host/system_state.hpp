// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the operating system and its administrator decide about a measurement: power, governor, control
/// groups, memory.

#include "system_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::machine::host {

/// `cpu.max` of control groups version 2, `QUOTA PERIOD`: cores' worth of time, none for `max`.
std::optional<double> parse_cpu_max(std::string_view text);

/// The folder of this process in a hierarchy, from /proc/self/cgroup: the line of `controller` in version 1,
/// the line `0::` where `controller` is empty.
std::optional<std::string> control_group_path(std::string_view proc_self_cgroup, std::string_view controller);

/// The strictest limit of processor time over this process' control group and those above it, in cores.
std::optional<double> cpu_quota(const system_files& files);

/// Bytes that this process' control groups still let it allocate.
std::optional<std::int64_t> control_group_memory_available(const system_files& files);

/// The hardware threads of this process' control group, as a list.
std::optional<std::string> control_group_cpu_set(const system_files& files);

/// `battery` while the machine draws on one, `mains` where it tells so; none for machines that do not tell.
std::optional<std::string> power_source(const system_files& files);

/// Governors in use, joined by a comma where they differ.
std::optional<std::string> governor(const system_files& files);

/// Whether clocks above the base clock are allowed.
std::optional<bool> turbo(const system_files& files);

/// Sum of the long-term power limits of all processor packages, in watts.
std::optional<double> power_limit_w(const system_files& files);

/// The choice in brackets: `always [madvise] never`.
std::optional<std::string> transparent_huge_pages(const system_files& files);

std::optional<bool> numa_balancing(const system_files& files);

/// A size of /proc/meminfo (`MemTotal`), in bytes.
std::optional<std::int64_t> memory_field(std::string_view proc_meminfo, std::string_view name);

/// Memory of the machine, and what a process could still get; falls back to the system's own calls.
std::optional<std::int64_t> memory_total(const system_files& files);
std::optional<std::int64_t> memory_available(const system_files& files);

}  // namespace prumo::machine::host
