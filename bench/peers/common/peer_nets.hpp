// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"
#include "peer_training.hpp"
#include <prumo/serving/server.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prumo::peers {

class peer_net_session;

/// Answers the requests about nets with what a framework computes on the host.
class peer_nets final : public protocol::workload_handler {
 public:
  /// The framework has to outlive it, and runs nets.
  peer_nets(framework& computes, std::size_t cache_bytes);
  ~peer_nets() override;

  std::vector<protocol::workload_description> descriptions() const;

  protocol::open_answer open(const protocol::open_request& request) override;
  protocol::check_answer check(const protocol::check_request& request) override;
  protocol::sample_answer time(const protocol::time_request& request) override;
  protocol::evaluate_answer evaluate(const protocol::evaluate_request& request) override;
  protocol::advance_answer advance(const protocol::advance_request& request) override;
  protocol::save_answer save(const protocol::save_request& request) override;
  protocol::load_answer load(const protocol::load_request& request) override;
  void close(std::int64_t session) override;

 private:
  peer_net_session& find(std::int64_t id);
  peer_training& find_training(std::int64_t id);
  protocol::open_answer open_training(const protocol::open_request& request, dtype type, const std::string& how);

  framework& computes_;
  std::size_t cache_bytes_;
  std::map<std::int64_t, std::unique_ptr<peer_net_session>> open_;
  std::map<std::int64_t, std::unique_ptr<peer_training>> trainings_;
  std::int64_t last_id_ = 0;
};

}  // namespace prumo::peers
