// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_refusal.hpp"

#include <oneapi/dnnl/dnnl_debug.h>
#include <string_view>

namespace prumo::peers {

std::string onednn_version() {
  const dnnl_version_t* const told = dnnl_version();
  return std::to_string(told->major) + "." + std::to_string(told->minor) + "." + std::to_string(told->patch);
}

std::string onednn_instruction_set() {
  constexpr std::string_view prefix = "cpu_isa_";
  const std::string_view told = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  return std::string(told.starts_with(prefix) ? told.substr(prefix.size()) : told);
}

std::string reason_of(const dnnl::error& refused) {
  const std::string said = refused.what();
  return "oneDNN " + onednn_version() + " with " + onednn_instruction_set() +
         " says: " + said.substr(0, said.find(". "));
}

protocol::request_error refusal_of(const std::string& what, const dnnl::error& refused) {
  using protocol::error_kind;
  const error_kind kind = refused.status == dnnl_unimplemented || refused.status == dnnl_invalid_arguments
                              ? error_kind::unsupported
                          : refused.status == dnnl_out_of_memory ? error_kind::memory
                                                                 : error_kind::failed;
  return {kind, what + ": " + reason_of(refused)};
}

}  // namespace prumo::peers
