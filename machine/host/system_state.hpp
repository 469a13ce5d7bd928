// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Settings of the operating system that affect a measurement: power, governor, control groups, memory.

#include "system_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::machine::host {

/// The processor time in cores that `cpu.max` (`QUOTA PERIOD`) of control groups version 2 allows; none for `max`.
std::optional<double> parse_cpu_max(std::string_view text);

/// The folder of this process in a hierarchy of control groups, from /proc/self/cgroup. In version 1 it is on the line
/// of `controller`. If `controller` is empty, it is on the line `0::` of version 2.
std::optional<std::string> control_group_path(std::string_view proc_self_cgroup, std::string_view controller);

/// The strictest limit of processor time, in cores, of this process' control group and the groups above it.
std::optional<double> cpu_quota(const system_files& files);

/// The bytes that this process may still allocate, by its control groups.
std::optional<std::int64_t> control_group_memory_available(const system_files& files);

/// The hardware threads of this process' control group, as a list.
std::optional<std::string> control_group_cpu_set(const system_files& files);

/// `battery` or `mains`; none if the machine does not say.
std::optional<std::string> power_source(const system_files& files);

/// The governors in use, joined by commas if they differ.
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

/// The bytes of the machine's memory, and the bytes that a process can still allocate. If /proc/meminfo cannot be read,
/// the operating system is asked.
std::optional<std::int64_t> memory_total(const system_files& files);
std::optional<std::int64_t> memory_available(const system_files& files);

}  // namespace prumo::machine::host
