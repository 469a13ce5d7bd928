// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/run_record.hpp"

#include "privacy/recorded_words.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <prumo/protocol/build_identity.hpp>
#include <prumo/protocol/without_blanks.hpp>

#include <fmt/format.h>

namespace prumo::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

#if defined(__APPLE__)
json system_text(const char* name) {
  std::array<char, 256> buffer{};
  std::size_t size = buffer.size() - 1;
  return ::sysctlbyname(name, buffer.data(), &size, nullptr, 0) == 0 ? json(std::string(buffer.data())) : json();
}
#endif

/// The value of `NAME : VALUE` or `NAME: VALUE` in a file of the Linux kernel; empty where there is none.
std::string kernel_field(const fs::path& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    return std::string(protocol::without_blanks(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

json kernel_kilobytes(std::string_view name) {
  const std::string text = kernel_field("/proc/meminfo", name);
  if (text.empty()) return {};
  return std::strtoull(text.c_str(), nullptr, 10) * 1024;
}

json host_record() {
  struct utsname names{};
  json host = {{"name", nullptr},
               {"system", nullptr},
               {"kernel", nullptr},
               {"architecture", nullptr},
               {"distribution", nullptr}};
  if (::uname(&names) == 0) {
    host["name"] = names.nodename;
    host["system"] = names.sysname;
    host["kernel"] = names.release;
    host["architecture"] = names.machine;
  }
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string value = line.substr(line.find('=') + 1);
    std::erase(value, '"');
    host["distribution"] = value;
  }
  return host;
}

json cpu_record() {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  json cpu = {{"name", nullptr}, {"logical_processors", online > 0 ? json(online) : json()}};
#if defined(__APPLE__)
  cpu["name"] = system_text("machdep.cpu.brand_string");
#else
  for (const char* field : {"model name", "Model", "cpu model", "Hardware"}) {
    if (cpu["name"].is_null()) cpu["name"] = text_or_null(kernel_field("/proc/cpuinfo", field));
  }
#endif
  return cpu;
}

json memory_record() {
  json memory = {{"bytes", kernel_kilobytes("MemTotal")},
                 {"available_bytes", kernel_kilobytes("MemAvailable")},
                 {"swap_bytes", kernel_kilobytes("SwapTotal")}};
  if (memory["bytes"].is_null()) {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) memory["bytes"] = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  }
  return memory;
}

/// Whether the machine runs on battery, and what chooses its clocks.
json power_record() {
  json power = {{"source", nullptr}, {"governor", nullptr}};
  std::error_code ignored;
  bool mains = false;  // a charger of any kind: USB, too
  bool discharging = false;
  bool charging = false;
  for (const auto& supply : fs::directory_iterator("/sys/class/power_supply", ignored)) {
    const fs::path& folder = supply.path();
    if (first_line(folder / "scope") == "Device") continue;  // the battery of a mouse
    if (first_line(folder / "type") == "Battery") {
      const std::string status = first_line(folder / "status");
      discharging = discharging || status == "Discharging";
      charging = charging || (!status.empty() && status != "Discharging" && status != "Unknown");
    } else {
      mains = mains || first_line(folder / "online") == "1";
    }
  }
  if (mains || charging || discharging) power["source"] = mains || !discharging ? "mains" : "battery";
  power["governor"] = text_or_null(first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  return power;
}

json environment_record() {
  json environment = json::object();
  for (const std::string& name : recorded_variable_names()) {
    if (const char* value = std::getenv(name.c_str())) environment[name] = value;
  }
  return recorded_variables(environment);
}

std::string new_id() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> buffer{};
  std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return buffer.data();
}

std::string program_version() {
#if defined(PRUMO_VERSION_STRING)
  return PRUMO_VERSION_STRING;
#else
  return "unknown";
#endif
}

json make_run_record(const std::vector<std::string>& command, const json& worker_versions,
                     const std::vector<std::string>& warnings) {
  json versions = {{"prumo", program_version()}, {"prumo build", text_or_null(protocol::build_identity())}};
  versions.update(worker_versions);
  json run = {{"id", new_id()},
              {"started", utc_now()},
              {"command", recorded_command(command)},
              {"versions", std::move(versions)},
              {"host", host_record()},
              {"cpu", cpu_record()},
              {"memory", memory_record()},
              {"power", power_record()},
              {"environment", environment_record()},
              {"warnings", warnings}};
  if (run["power"]["source"] == "battery") {
    run["warnings"].push_back("the machine runs on battery: its clocks may be lower than on mains power");
  }
  return run;
}

json measure_resources(double elapsed_seconds) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  struct rusage own{};
  struct rusage workers{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &workers);
  const double user = seconds(own.ru_utime) + seconds(workers.ru_utime);
  const double system = seconds(own.ru_stime) + seconds(workers.ru_stime);
#if defined(__APPLE__)
  constexpr long unit = 1;  // bytes there, kibibytes elsewhere
#else
  constexpr long unit = 1024;
#endif
  return {{"elapsed_s", elapsed_seconds},
          {"user_s", user},
          {"system_s", system},
          {"cpu_share", elapsed_seconds > 0 ? json((user + system) / elapsed_seconds) : json()},
          {"peak_memory_bytes", std::max(own.ru_maxrss, workers.ru_maxrss) * unit}};
}

}  // namespace prumo::bench
