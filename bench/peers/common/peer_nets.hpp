// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"
#include <prumo/serving/server.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace prumo::peers {

/// Answers the requests about nets with what a framework computes on the host.
class peer_nets final : public protocol::workload_handler {
 public:
  /// The framework has to outlive it, and runs nets.
  peer_nets(framework& computes, std::size_t cache_bytes);
  ~peer_nets() override;

  protocol::workload_description description() const;

  protocol::open_answer open(const protocol::open_request& request) override;
  protocol::check_answer check(const protocol::check_request& request) override;
  protocol::sample_answer time(const protocol::time_request& request) override;
  protocol::evaluate_answer evaluate(const protocol::evaluate_request& request) override;
  void close(std::int64_t session) override;

 private:
  class session;

  session& find(std::int64_t id);

  framework& computes_;
  std::size_t cache_bytes_;
  std::map<std::int64_t, std::unique_ptr<session>> open_;
  std::int64_t last_id_ = 0;
};

}  // namespace prumo::peers
