// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>

namespace prumo::peers {

/// oneDNN on its CPU engine, device `onednn:0`.
class onednn_framework final : public framework {
 public:
  onednn_framework();

  std::string name() const override { return "oneDNN"; }
  protocol::worker_description worker() const override;
  protocol::device_summary device() const override;
  protocol::json facts() const override;
  std::vector<implementation> implementations_of(const operation& what) const override;
  /// Found by asking the engine for a small primitive, once.
  std::string why_unsupported(const operation& what, dtype type) const override;
  std::vector<std::function<void()>> bind(const operation& what, const implementation& how, dtype type,
                                          std::span<const call> calls) override;
  void fence() override { stream_.wait(); }
  std::vector<std::string> net_implementations() const override;
  std::vector<std::string> net_types() const override { return {"f32"}; }
  std::unique_ptr<net_program> open_net(const net_choice& choice, const std::string& way) override;

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  mutable std::map<std::pair<std::string, dtype>, std::string> known_;
};

}  // namespace prumo::peers
