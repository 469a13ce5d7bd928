// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "peer_case.hpp"
#include "peer_nets.hpp"
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace prumo::peers {

/// Answers requests with what a framework computes on the host, its only device.
class peer_handler final : public protocol::request_handler {
 public:
  /// The framework has to outlive it.
  explicit peer_handler(framework& computes);

  protocol::hello_answer hello() override;
  protocol::device_answer device(const protocol::device_request& request) override;
  protocol::resolve_answer resolve(const protocol::resolve_request& request) override;
  protocol::prepare_answer prepare(const protocol::prepare_request& request) override;
  protocol::verify_answer verify(const protocol::verify_request& request) override;
  protocol::count_answer count(const protocol::count_request& request) override;
  protocol::sample_answer sample(const protocol::sample_request& request) override;
  void release(std::int64_t case_id) override;
  protocol::workload_handler* workloads() override { return nets_ ? &*nets_ : nullptr; }

 private:
  /// An operation of the framework and a type.
  struct choice {
    const operation& what;
    dtype type;
  };

  choice choose(const protocol::case_request& request) const;
  implementation choose_implementation(const operation& what, const std::optional<std::string>& name) const;
  void require_device(const std::string& id) const;
  peer_case& find_open(std::int64_t case_id);

  framework& computes_;
  protocol::device_summary device_;
  std::map<std::int64_t, std::unique_ptr<peer_case>> open_;
  std::int64_t last_id_ = 0;
  std::optional<peer_nets> nets_;
};

/// The main() of a peer: deals with its arguments, then makes the framework and answers requests with it.
template <class Framework>
int run_peer(const std::string& name, const std::string& description, int argc, char** argv) {
  protocol::standard_channel channel;
  const protocol::program_description program{name, protocol::prumo_version(), description, ""};
  if (const auto exit_code = protocol::handle_arguments(program, argc, argv, channel)) return *exit_code;
  Framework computes;
  peer_handler handler(computes);
  return protocol::serve(handler, channel);
}

/// The processor's name; empty where the system does not tell.
std::string processor_name();

}  // namespace prumo::peers
