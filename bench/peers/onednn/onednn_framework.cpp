// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_framework.hpp"

#include "layer_primitives.hpp"
#include "net_primitives.hpp"
#include "onednn_refusal.hpp"
#include "peer_handler.hpp"
#include "primitives.hpp"
#include <prumo/serving/surroundings.hpp>

#include <array>
#include <memory>
#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <span>
#include <utility>
#include <vector>

namespace prumo::peers {
namespace {

/// A primitive, and the arrays that it was executed with last. The C interface, because that of C++ makes a list of
/// arguments anew each time. All calls of a case share it: an object of oneDNN for each array takes a kilobyte, and
/// small arrays have millions of copies where the last-level cache is large.
class bound_primitive {
 public:
  bound_primitive(const described_primitive& described, const dnnl::engine& engine, dnnl::stream stream)
      : made_(described.description.get()), stream_(std::move(stream)) {
    for (const primitive_argument& each : described.arguments) {
      arrays_.emplace_back(each.layout, engine, nullptr);
      arguments_.push_back({each.role, arrays_.back().get()});
    }
  }

  /// Sets an address only if it has changed. Calls with the same arrays then do nothing but execute the primitive.
  void run(std::span<void* const> arrays) {
    for (std::size_t which = 0; which < arrays_.size(); ++which) {
      if (arrays_[which].get_data_handle() != arrays[which]) arrays_[which].set_data_handle(arrays[which]);
    }
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(made_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()),
        "could not execute a primitive");
  }

 private:
  dnnl::primitive made_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> arrays_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace

onednn_framework::onednn_framework() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

protocol::worker_description onednn_framework::worker() const {
  protocol::worker_description told;
  told.name = "prumo-worker-onednn";
  told.version = protocol::prumo_version();
  told.backend = "onednn";
  told.versions = {{"onednn", onednn_version()}, {"compiler", protocol::compiler_version()}};
  told.build = protocol::build_description();
  told.warnings = protocol::surrounding_warnings(dnnl_version()->cpu_runtime == DNNL_RUNTIME_OMP);
  return told;
}

protocol::device_summary onednn_framework::device() const {
  protocol::device_summary told{"onednn:0", "onednn", processor_name(), std::nullopt, false};
  const unsigned runtime = dnnl_version()->cpu_runtime;
  if (runtime == DNNL_RUNTIME_OMP) told.threads = omp_get_max_threads();
  if (runtime == DNNL_RUNTIME_SEQ) told.threads = 1;
  return told;
}

protocol::json onednn_framework::facts() const {
  return {{"instruction_set", onednn_instruction_set()},
          {"thread_runtime", dnnl_runtime2str(dnnl_version()->cpu_runtime)}};
}

std::vector<implementation> onednn_framework::implementations_of(const operation& what) const {
  if (!has_primitive(what)) return {};
  if (is_layer(what)) {
    std::vector<implementation> ways;
    for (std::string& way : layer_ways(what)) ways.push_back({std::move(way), 4e-5 * 0x1p23, 0});
    return ways;
  }
  implementation found{"onednn", 0, 0};
  // oneDNN promises no accuracy. Its own tests (tests/benchdnn/eltwise) ask for a relative error of 4e-6 of most
  // functions in f32, and of 4e-5 of these three.
  const bool is_loose = what.op == "log" || what.op == "tanh" || what.op == "gelu";
  if (what.op != "copy" && what.op != "relu") found.ulps = is_loose ? 4e-5 * 0x1p23 : 4e-6 * 0x1p23;
  if (what.op == "add" || what.op == "mul" || what.op == "scale" || what.op == "sqrt") found.ulps = 0.5;
  if (what.op == "axpby") found.ulps = 2;  // two products and their sum, each rounded
  // Near 1 the logarithm is a difference of larger numbers; of results near 0 the tests ask for 4e-5, not relative.
  if (what.op == "log") found.absolute = 4e-5;
  return {found};
}

std::string onednn_framework::why_unsupported(const operation& what, dtype type) const {
  const auto [entry, is_new] = known_.try_emplace({what.op, type});
  if (is_new) {
    constexpr std::int64_t few = 8;
    call small;
    small.m = small.n = small.k = few;
    for (const auto& parameter : what.parameters) {
      if (parameter.name == "beta") small.beta = parameter.fallback.value_or(0);
    }
    small.layer = {few, few, few, few, few, 1, 1};
    try {
      if (is_layer(what)) {
        require_layer_primitive(engine_, what, type, small);
      } else {
        describe_primitive(engine_, what, type, small);
      }
      // Its reductions accept f64 and write NaN (seen in 3.12.1).
      if (type == dtype::f64) entry->second = "oneDNN has f64 on GPUs only, by its documentation";
    } catch (const dnnl::error& refused) {
      entry->second = reason_of(refused);
    }
  }
  return entry->second;
}

std::vector<std::function<void()>> onednn_framework::bind(const operation& what, const implementation& how, dtype type,
                                                          std::span<const call> calls) {
  std::vector<std::function<void()>> functions;
  if (calls.empty()) return functions;
  try {
    if (is_layer(what)) return bind_layer(engine_, stream_, what, how.name, type, calls);
    const auto shared =
        std::make_shared<bound_primitive>(describe_primitive(engine_, what, type, calls.front()), engine_, stream_);
    for (const call& it : calls)
      functions.emplace_back([shared, arrays = std::to_array(it.arrays)] { shared->run(arrays); });
  } catch (const dnnl::error& refused) {
    throw refusal_of(what.op, refused);
  }
  return functions;
}

std::vector<std::string> onednn_framework::net_implementations() const { return net_ways(); }

std::unique_ptr<net_program> onednn_framework::open_net(const net_choice& choice, const std::string& way) {
  return make_net_primitives(engine_, stream_, choice, way);
}

}  // namespace prumo::peers
