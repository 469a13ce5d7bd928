// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "loop_case.hpp"
#include <prumo/protocol/server.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace prumo::peers {

/// Answers requests with plain loops on the host, device `loops:0`.
class loops_handler final : public protocol::request_handler {
 public:
  protocol::hello_answer hello() override;
  protocol::device_answer device(const std::string& id) override;
  protocol::resolve_answer resolve(const protocol::resolve_request& request) override;
  protocol::prepare_answer prepare(const protocol::prepare_request& request) override;
  protocol::verify_answer verify(const protocol::verify_request& request) override;
  protocol::count_answer count(const protocol::count_request& request) override;
  protocol::sample_answer sample(const protocol::sample_request& request) override;
  void release(std::int64_t case_id) override;

 private:
  loop_case& find_open(std::int64_t case_id);

  std::map<std::int64_t, std::unique_ptr<loop_case>> open_;
  std::int64_t last_id_ = 0;
};

}  // namespace prumo::peers
