// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace prumo::bench {

/// The version of docs/protocol.md that this program speaks.
inline constexpr int protocol_version = 1;

/// An answer that breaks the protocol. The message says which field and what it held.
class protocol_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An axis of an operation's shape, or a parameter of it.
struct named_number {
  std::string name;
  std::string description;
  std::optional<double> default_value;
};

/// What a worker says of one operation or probe in its answer to `hello`.
struct case_description {
  std::string op;
  std::string kind;  ///< `op` or `probe`
  std::string description;
  bool in_default_sweep = false;
  std::vector<std::string> dtypes;
  std::map<std::string, std::string> missing_dtypes;  ///< why a type is not there, where the worker tells
  std::vector<std::string> layouts;
  std::vector<named_number> axes;
  std::vector<named_number> parameters;
  std::vector<std::string> implementations;
  std::vector<std::string> compute_modes;
  int arrays = 0;  ///< 0: not known
};

/// A device in the answer to `hello`.
struct device_summary {
  std::string id;
  std::string backend;
  std::string name;
  nlohmann::json threads;         ///< a number or null
  std::optional<bool> transfers;  ///< whether data have to be copied to it and back; absent: it does not tell
};

struct hello_answer {
  std::string name;
  std::string version;
  std::string backend;
  nlohmann::json worker;  ///< the whole `worker` object
  std::vector<device_summary> devices;
  std::vector<case_description> cases;
};

struct resolve_answer {
  nlohmann::json shape;
  nlohmann::json parameters;
  nlohmann::json model;  ///< object or null
  std::optional<double> bytes_per_array;
  double footprint_bytes = 0;
};

struct prepare_answer {
  std::int64_t case_id = 0;
  std::string implementation;
  double copies = 1;
  double footprint_bytes = 0;
  std::string clock;                ///< `wall` or `device`
  std::optional<std::string> unit;  ///< of the implementation; absent: the model's
  std::string dispatch;             ///< `recorded` or `single`; empty where the worker does not tell
};

struct verify_answer {
  bool verified = false;
  std::optional<double> error;
  std::optional<double> error_bound;
  std::optional<double> checked;
  std::string method;
  std::string message;
};

/// Copy times of the calls of a sample, seconds.
struct transfer_answer {
  std::vector<double> h2d;
  std::vector<double> d2h;
  std::optional<double> h2d_bytes;
  std::optional<double> d2h_bytes;
};

struct sample_answer {
  std::vector<double> samples;  ///< seconds of a call, by the clock of `prepare`
  std::vector<double> wall;     ///< seconds of a call from end to end
  double batch = 1;             ///< calls that a sample is the mean of
  std::optional<transfer_answer> transfer;
  std::optional<double> clock_mhz;
  std::optional<double> energy_j;
  std::optional<double> temperature_c;
  std::vector<std::string> throttle;
};

/// Each reads the answer to the request of its name.
/// \throws protocol_error where a field is missing, of the wrong type or out of its range (a time that is not
///         positive, a NaN, an empty list of samples).
[[nodiscard]] hello_answer parse_hello(const nlohmann::json& answer);
[[nodiscard]] nlohmann::json parse_device(const nlohmann::json& answer);
[[nodiscard]] resolve_answer parse_resolve(const nlohmann::json& answer);
[[nodiscard]] prepare_answer parse_prepare(const nlohmann::json& answer);
[[nodiscard]] verify_answer parse_verify(const nlohmann::json& answer);
[[nodiscard]] nlohmann::json parse_count(const nlohmann::json& answer);
[[nodiscard]] sample_answer parse_sample(const nlohmann::json& answer);

}  // namespace prumo::bench
