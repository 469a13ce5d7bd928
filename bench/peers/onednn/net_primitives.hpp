// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "net_program.hpp"

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace prumo::peers {

/// The ways in which oneDNN runs a net: `own_layouts` lets each primitive choose how its arrays lie, and reorders them
/// where two primitives disagree, as oneDNN's documentation recommends. `plain` keeps all images as [images x channels
/// x height x width].
std::vector<std::string> net_ways();

/// A net of f32 as oneDNN's primitives: one for each layer with its activation, made when the net is opened.
/// \param way one of net_ways()
/// \throws protocol::request_error for a net that oneDNN cannot run
std::unique_ptr<net_program> make_net_primitives(const dnnl::engine& engine, const dnnl::stream& stream,
                                                 const net_choice& choice, const std::string& way);

}  // namespace prumo::peers
