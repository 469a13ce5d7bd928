// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the teams of a cluster share a net, so that all of its weights lie in their scratch memory. Each team has a
/// table of its own, of its share of the layers, and goes through it as if that were the whole net. Numbers that other
/// teams need are sent to them; all arrays lie at the same place in each team.
///
/// - The channels of a convolution, and of the pooling behind it, are shared. The convolution behind these gathers x
///   from all teams. On the way back, each team sends its part of the sum dx to those that have the channels.
/// - A dense layer behind a shared layer has a share of the inputs: those that the team has made. All teams send their
///   parts of the sums y to all others.
/// - The next dense layer has a share of the outputs, and all teams send their parts of the sums dx to all others.
/// - Small layers, which would not repay sending, are whole in each team. All teams then change the same weights.

#include "step_table.hpp"

namespace prumo::nets {

enum class share_kind : int { whole, channels, inputs, outputs };

/// Items in parts that differ by one at most, the longer ones first.
struct even_parts {
  int each, longer;

  KOKKOS_FUNCTION even_parts(int items, int parts) : each(items / parts), longer(items % parts) {}
  KOKKOS_FUNCTION int count(int part) const { return part < longer ? each + 1 : each; }
  KOKKOS_FUNCTION int begin(int part) const { return part * each + (part < longer ? part : longer); }
  /// The part of an item that there is.
  KOKKOS_FUNCTION int part_of(int item) const {
    const int in_longer = longer * (each + 1);
    return item < in_longer ? item / (each + 1) : longer + (item - in_longer) / each;
  }
};

/// How threads share the gradients of a convolution with tiles (column_gradients.hpp). Divisions take a device long, so
/// it is found before the first step.
struct planned_tasks {
  int tasks = 1, slices = 1;
  prumo::detail::index_divider by_tasks;
};

/// What a team has of a layer, beside what its table says.
struct layer_share {
  share_kind kind = share_kind::whole;
  bool gathers = false;  ///< a convolution whose x comes from all teams
  int first = 0;         ///< the first channel, input or output of the share
  /// The activation that made x, if the layer gathers. The table says none, because the slopes belong to the sums.
  activation below = activation::none;
  int received = -1;      ///< the place of what teams send to be summed, among the image's elements; -1: nothing
  int weights_apart = 0;  ///< dense: elements from the weights of an output to those of the next, in the flat array
  int copies_apart = 0;   ///< the same among the copies
  /// 2^shift neighbouring lanes share the sum of an output, or of an input. The team sets it when it begins.
  int output_lanes_shift = 0, input_lanes_shift = 0;
  planned_tasks gradient_tasks;
};

/// A team's share of a net.
struct net_share {
  int team = 0, teams = 1;
  int moments = 0;  ///< arrays of moments in scratch memory, each as long as the copies
  layer_share layer[most_step_layers];
};

/// Chooses how a net is shared, whose layers the table has.
/// \return why it is not, in words that follow the name of a way; empty if it is
std::string choose_shares(const step_table& table, net_share& share);

/// Gives the table the extents and parameters of the team's share of a net. Places stay as they are.
void take_share(const step_table& whole, step_table& table, net_share& share);

/// Of a convolution with tiles.
planned_tasks plan_gradient_tasks(const step_layer& it, std::int64_t element_bytes);

/// The same as make_step_table() for a team's share of the net. Steps have one image.
/// \param share its team and the number of teams are given
std::string make_shared_table(const step_request& request, step_table& table, net_share& share);

}  // namespace prumo::nets
