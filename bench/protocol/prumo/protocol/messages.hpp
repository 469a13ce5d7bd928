// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The requests and answers of docs/protocol.md in plain types, for both ends: the front-end writes requests and reads
/// answers, workers read requests and write answers. Names are the protocol's own. message_fields.hpp lists the fields
/// of each message once; reading, writing and docs/protocol.schema.json all come from that list.

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::protocol {

/// JSON that keeps the order of its fields, so that answers are easy to read.
using json = nlohmann::ordered_json;

/// The version of docs/protocol.md in this library. Later additions are features with names, so this number stays.
inline constexpr int protocol_version = 1;

/// The features that every worker of this library has: the requests about cases.
inline constexpr std::array<std::string_view, 7> protocol_features{"device", "resolve", "prepare", "verify",
                                                                   "count",  "sample",  "release"};

/// The feature of a worker that runs nets, and the requests about them.
inline constexpr std::string_view workloads_feature = "workloads";
inline constexpr std::array<std::string_view, 8> workload_requests{"open",    "check", "time", "evaluate",
                                                                   "advance", "save",  "load", "close"};

/// Why a request was refused.
enum class error_kind : std::uint8_t { usage, unsupported, skipped, memory, device, failed };

/// A refusal. Its message is for the user.
class request_error : public std::runtime_error {
 public:
  request_error(error_kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  error_kind kind() const { return kind_; }

 private:
  error_kind kind_;
};

/// A message that breaks the protocol. The text names the field, and says what it should be and what it was.
class message_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a worker says about itself.
struct worker_description {
  std::string name;  ///< of the program
  std::string version;
  std::string backend;
  json versions;     ///< of libraries and compiler, by name
  json build;        ///< type and flags
  json environment;  ///< the variables that the front-end asks for and that are set
  std::vector<std::string> warnings;
  std::optional<std::int64_t> pid = std::nullopt;
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
  std::string kind = "op";  ///< `op`, `probe`, or one that a newer worker has
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

/// A kind of work with nets, and how the worker can do it.
struct workload_description {
  std::string workload;  ///< `inference` or `training`
  std::vector<std::string> dtypes;
  std::vector<std::string> implementations;  ///< the first is used if none is named
  std::vector<std::string> compute_modes;    ///< the same
};

struct hello_request {
  int protocol = protocol_version;  ///< the version that the front-end speaks
  /// The variables of the environment that it wants to know. All others stay with the worker: they may hold secrets.
  std::vector<std::string> variables = {};
};

struct hello_answer {
  int protocol = protocol_version;
  /// The names of what the worker can do. If they are absent, the worker was built before there were features. It then
  /// has all of version 1, which are protocol_features.
  std::optional<std::vector<std::string>> features = std::nullopt;
  worker_description worker;
  std::vector<device_summary> devices;
  std::vector<case_description> cases;
  std::optional<std::vector<workload_description>> workloads = std::nullopt;
};

struct device_request {
  std::string device;
  bool clocks = true;  ///< whether the worker may take up to a second to measure clocks
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

/// What one call moves and computes; absent if unknown.
struct cost_model {
  std::optional<double> bytes;
  std::optional<double> flops;
  std::optional<double> elements;
  std::string unit = "vector";
};

struct resolve_answer {
  std::vector<std::pair<std::string, std::int64_t>> shape;
  std::optional<std::int64_t> bytes_per_array;
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
  std::string dispatch;                  ///< `single` or `recorded`; empty: the worker is older than this field
  std::optional<std::string> unit = {};  ///< of the implementation, if it is not the model's
};

struct verify_request {
  std::int64_t case_id = 0;
  std::optional<double> budget;  ///< operations that the reference may cost
};

struct verify_answer {
  bool verified = false;
  std::optional<double> error;
  std::optional<double> error_bound;
  std::optional<std::uint64_t> checked;
  std::string method;  ///< `all`, `sampled` or `moments`
  std::string message;
  std::string dispatch;  ///< how the calls were made that were compared: `single` or `recorded`; empty: not told
};

struct count_request : case_request {
  double limit = 1e9;
};

/// Counted operations by kind and `total`; empty if a worker cannot count.
struct count_answer {
  std::vector<std::pair<std::string, std::uint64_t>> kinds;
  std::string source;
  std::optional<std::string> implementation = std::nullopt;  ///< the one whose kernel was counted
};

struct sample_request {
  std::int64_t case_id = 0;
  double seconds = 0;
};

/// Copies between host and device within the calls that were sampled.
struct transfer_times {
  std::vector<double> h2d;  ///< seconds of each sample
  std::vector<double> d2h;
  std::optional<std::uint64_t> h2d_bytes;  ///< of one call
  std::optional<std::uint64_t> d2h_bytes;
};

struct release_request {
  std::int64_t case_id = 0;
};

struct sample_answer {
  std::vector<double> samples;
  std::vector<double> wall;
  std::uint64_t batch = 1;
  std::optional<transfer_times> transfer;
  std::optional<double> clock_mhz;
  std::optional<double> energy_j;  ///< of the device while all samples were taken
  std::optional<double> power_w;   ///< mean power of the device in that time
  std::optional<double> temperature_c;
  std::vector<std::string> throttle;
};

/// Reads a message from the fields of a line. Unknown fields are passed over, so that either end may be the newer one.
/// `Message` is any request or answer above.
/// \throws message_error that names the field which is missing, of the wrong type or out of range
template <class Message>
[[nodiscard]] Message read_message(const json& fields);

/// The fields of a message. What is unknown, and a number that is not finite, is null.
template <class Message>
[[nodiscard]] json write_message(const Message& message);

/// The JSON Schema of all messages, as it stands in docs/protocol.schema.json: `NAME.request` and `NAME.answer`.
[[nodiscard]] json message_schema();

/// `usage`, `memory`, ...
const char* error_kind_name(error_kind kind);

}  // namespace prumo::protocol
