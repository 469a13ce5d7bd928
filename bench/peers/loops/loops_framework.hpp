// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"

namespace prumo::peers {

/// Plain loops on the host, device `loops:0`, and the BLAS called directly.
class loops_framework final : public framework {
 public:
  std::string name() const override { return "plain loops"; }
  protocol::worker_description worker() const override;
  protocol::device_summary device() const override;
  std::vector<implementation> implementations_of(const operation& what) const override;
  std::string why_unsupported(const operation& what, dtype type) const override;
  std::vector<std::function<void()>> bind(const operation& what, const implementation& how, dtype type,
                                          std::span<const call> calls) override;
  std::vector<std::string> net_implementations() const override { return {"plain"}; }
  std::vector<std::string> net_types() const override { return {"f32", "f64"}; }
  std::unique_ptr<net_program> open_net(const net_choice& choice, const std::string& how) override;
  std::vector<std::string> training_implementations() const override { return {"plain"}; }
  std::unique_ptr<training_program> open_training(const inference::training_setup& setup, dtype type,
                                                  const std::string& how) override;
};

}  // namespace prumo::peers
