// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops_framework.hpp"

#include "kernels.hpp"
#include "net_loops.hpp"
#include "peer_handler.hpp"
#include "training_loops.hpp"
#include <prumo/serving/surroundings.hpp>

namespace prumo::peers {
namespace {

std::vector<loop> loops_of(const std::string& op) {
  std::vector<loop> found;
  for (const auto& group : {plain_loops(), streaming_loops(), vector_library_loops(), blas_calls()}) {
    for (const loop& it : group) {
      if (it.op == op) found.push_back(it);
    }
  }
  return found;
}

}  // namespace

protocol::worker_description loops_framework::worker() const {
  protocol::worker_description told;
  told.name = "prumo-worker-loops";
  told.version = protocol::prumo_version();
  told.backend = "loops";
  told.versions = {{"compiler", protocol::compiler_version()}};
  told.build = protocol::build_description();
  told.warnings = protocol::surrounding_warnings(true);
  return told;
}

protocol::device_summary loops_framework::device() const {
  return {"loops:0", "loops", processor_name(), thread_count(), false};
}

std::vector<implementation> loops_framework::implementations_of(const operation& what) const {
  std::vector<implementation> all;
  for (const loop& it : loops_of(what.op)) all.push_back({it.name, it.ulps, 0});
  return all;
}

std::string loops_framework::why_unsupported(const operation&, dtype type) const {
  return compute_type(type) == type ? "" : std::string("plain loops have no type ") + name_of(type);
}

std::vector<std::function<void()>> loops_framework::bind(const operation& what, const implementation& how, dtype type,
                                                         std::span<const call> calls) {
  std::vector<std::function<void()>> functions;
  for (const loop& it : loops_of(what.op)) {
    if (it.name != how.name) continue;
    const kernel run = type == dtype::f64 ? it.f64 : it.f32;
    for (const call& made : calls) functions.emplace_back([run, made] { run(made); });
  }
  return functions;
}

std::unique_ptr<net_program> loops_framework::open_net(const net_choice& choice, const std::string&) {
  return make_net_loops(choice);
}

std::unique_ptr<training_program> loops_framework::open_training(const inference::training_setup& setup, dtype type,
                                                                 const std::string&) {
  return make_training_loops(setup, type);
}

}  // namespace prumo::peers
