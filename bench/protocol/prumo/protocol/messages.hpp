// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The requests and answers of docs/protocol.md in plain types. Names are the protocol's own.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prumo::protocol {

/// JSON that keeps the order in which fields were put in: answers stay readable.
using json = nlohmann::ordered_json;

/// The version of docs/protocol.md that workers of this library speak.
inline constexpr int protocol_version = 1;

/// Why a request was refused.
enum class error_kind : std::uint8_t { usage, unsupported, skipped, memory, device, failed };

/// A refusal; its message is for the person who asked.
class request_error : public std::runtime_error {
 public:
  request_error(error_kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  error_kind kind() const { return kind_; }

 private:
  error_kind kind_;
};

/// What a worker says of itself.
struct worker_description {
  std::string name;  ///< of the program
  std::string version;
  std::string backend;
  json versions = json::object();     ///< of libraries and compiler
  json build = json::object();        ///< type and flags
  json environment = json::object();  ///< variables that matter and are set
  std::vector<std::string> warnings;
};

struct device_summary {
  std::string id;
  std::string backend;
  std::string name;
  std::optional<int> threads;                    ///< of a host device
  std::optional<bool> transfers = std::nullopt;  ///< whether data have to be copied to it and back
};

/// An axis of a shape or a numeric parameter.
struct named_number {
  std::string name;
  std::string description;
  std::optional<double> fallback;
};

struct case_description {
  std::string op;
  std::string kind = "op";  ///< `op` or `probe`
  std::string description;
  bool in_default_sweep = false;
  std::vector<std::string> dtypes;
  std::vector<std::pair<std::string, std::string>> missing_dtypes;  ///< types that are not there, and why
  std::vector<std::string> layouts;
  std::vector<named_number> axes;
  std::vector<named_number> parameters;
  std::vector<std::string> implementations;
  std::vector<std::string> compute_modes;
  int arrays = 0;
};

struct hello_answer {
  worker_description worker;
  std::vector<device_summary> devices;
  std::vector<case_description> cases;
};

struct device_answer {
  device_summary device;
  json facts = json::object();
  json peaks = json::array();
};

/// What `resolve`, `count` and `prepare` have in common. Absent fields take the protocol's defaults.
struct case_request {
  std::string op;
  std::string dtype;
  std::vector<std::pair<std::string, std::int64_t>> shape;
  std::vector<std::pair<std::string, double>> parameters;
  std::string layout = "right";
};

struct resolve_request : case_request {
  std::optional<std::int64_t> bytes_per_array;
};

struct cost_model {
  double bytes = 0;
  double flops = 0;
  double elements = 0;
  std::string unit = "vector";
};

struct resolve_answer {
  std::vector<std::pair<std::string, std::int64_t>> shape;
  std::int64_t bytes_per_array = 0;
  std::int64_t footprint_bytes = 0;
  std::vector<std::pair<std::string, double>> parameters;
  cost_model model;
};

struct prepare_request : case_request {
  std::string device;
  std::string compute_mode = "strict";
  std::uint64_t seed = 1;
  bool transferred = false;
  std::optional<std::string> host_memory;
  bool cold = true;
  bool single_calls = false;  ///< each call is launched by itself, none is recorded and replayed
  std::optional<std::string> implementation;
};

struct prepare_answer {
  std::int64_t case_id = 0;
  std::string implementation;
  std::int64_t copies = 1;
  std::int64_t footprint_bytes = 0;  ///< of all copies
  std::string clock = "wall";
  std::string dispatch = "single";       ///< or `recorded`, which short calls are
  std::optional<std::string> unit = {};  ///< of the implementation, where the model's is not its own
};

struct verify_request {
  std::int64_t case_id = 0;
  std::optional<double> budget;  ///< operations that the reference may cost
};

struct verify_answer {
  bool verified = false;
  double error = 0;  ///< NaN: unknown
  double error_bound = 0;
  std::uint64_t checked = 0;
  std::string method = "all";
  std::string message;
};

struct count_request : case_request {
  double limit = 1e9;
};

/// Counted operations by kind and `total`; empty where a worker cannot count.
struct count_answer {
  std::vector<std::pair<std::string, std::uint64_t>> kinds;
  std::string source;
};

struct sample_request {
  std::int64_t case_id = 0;
  double seconds = 0;
};

/// Copies between host and device within the calls that were sampled.
struct transfer_times {
  std::vector<double> h2d;  ///< seconds of each sample
  std::vector<double> d2h;
  std::uint64_t h2d_bytes = 0;  ///< of one call
  std::uint64_t d2h_bytes = 0;
};

struct sample_answer {
  std::vector<double> samples;
  std::vector<double> wall;
  std::uint64_t batch = 1;
  std::optional<transfer_times> transfer;
  std::optional<double> clock_mhz;
  std::optional<double> energy_j;  ///< of the device while all samples were taken
  std::optional<double> temperature_c;
  std::vector<std::string> throttle;
};

/// Each reads the request of its name. Throws request_error (usage) that names the field which is missing, of the
/// wrong type or out of range.
resolve_request parse_resolve(const json& request);
prepare_request parse_prepare(const json& request);
verify_request parse_verify(const json& request);
count_request parse_count(const json& request);
sample_request parse_sample(const json& request);
/// The protocol's version that the front-end speaks.
int parse_hello(const json& request);
/// The device's id of a `device` request.
std::string parse_device(const json& request);
/// The case's id of a `release` request.
std::int64_t parse_release(const json& request);

/// The fields of an answer.
json to_json(const hello_answer& answer);
json to_json(const device_answer& answer);
json to_json(const resolve_answer& answer);
json to_json(const prepare_answer& answer);
json to_json(const verify_answer& answer);
json to_json(const count_answer& answer);
json to_json(const sample_answer& answer);

/// `usage`, `memory`, ...
const char* error_kind_name(error_kind kind);

}  // namespace prumo::protocol
