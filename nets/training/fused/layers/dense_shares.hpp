// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers of one image whose weights and moments lie in the scratch memory of the teams that share the net
/// (net_share.hpp). Neighbouring lanes share the inputs of an output forward, and the outputs of an input backward.

#include "dense_layers.hpp"
#include "fused/plan/net_share.hpp"
#include "fused/plan/step_scratch.hpp"

namespace prumo::nets {

/// What teams send to each other in one place of a step.
struct team_exchange {
  int which;  ///< below most_exchanges
  int turn;   ///< how often it has been used before in this launch

  /// Two take turns, because a team may begin the next step before another one has got all that belongs to this one.
  PRUMO_STEP_FUNCTION team_exchange(int which_layer, bool is_backward, int step)
      : which(4 * which_layer + (is_backward ? 2 : 0) + step % 2), turn(step / 2) {}
};
inline constexpr int most_exchanges = 4 * most_step_layers;

/// A team of a cluster. Beside what step_team.hpp says, it has
/// - `to(exchange, team)`, an object whose `send(place, value)` stores a value where that team has the place;
/// - `receive<C>(exchange, count)`, which waits until so many values of this exchange have come to this team. All its
///   threads must call. What the team has sent to itself counts, too.
template <class Team>
concept sharing_step_team = Team::shape == step_shape::share;

/// emit(output, lane, lanes, sum) for each output that the team has: the sum of weights * x over its inputs.
template <sharing_step_team Team, class C, class Emit>
PRUMO_STEP_FUNCTION void multiply_share(const Team& team, const step_layer& it, const layer_share& share, const C* x,
                                        const C* weights, const Emit& emit) {
  const int inputs = it.in_size(), outputs = it.out_channels, apart = share.copies_apart;
  const sum_lanes share_lanes{share.output_lanes_shift};
  const int lanes = share_lanes.count(), total = outputs * lanes, part = team.lane() & (lanes - 1);
  // All lanes of a stretch exchange sums, so those without an output repeat the last one.
  PRUMO_KEEP_LOOP
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const int item = begin + team.lane(), output = (item < total ? item : total - 1) >> share_lanes.shift;
    const C* const row = weights + output * apart;
    C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int input = part; input < inputs; input += lanes) sum = prumo::fma(row[input], x[input], sum);
    sum = share_lanes.sum(team, sum);
    if (item < total) emit(output, part, lanes, sum);
  }
}

/// emit(input, lane, lanes, sum) for each input that the team has: the sum of weights * dy over its outputs. The
/// weights change at once.
/// \param first,second the moments of the weights
template <sharing_step_team Team, class C, class Rule, class Emit>
PRUMO_STEP_FUNCTION void change_share(const Team& team, const step_layer& it, const layer_share& share, const C* x,
                                      const C* dy, C* weights, const Rule& rule, const Emit& emit) {
  constexpr int at_once = 4;
  const int inputs = it.in_size(), outputs = it.out_channels, apart = share.copies_apart;
  const sum_lanes share_lanes{share.input_lanes_shift};
  const int lanes = share_lanes.count(), total = inputs * lanes, part = team.lane() & (lanes - 1);
  const C scale = static_cast<C>(it.weight_scale);
  PRUMO_KEEP_LOOP
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const int item = begin + team.lane(), input = (item < total ? item : total - 1) >> share_lanes.shift;
    const C scaled = x[input] * scale;
    C sum = 0;
    PRUMO_KEEP_LOOP
    for (int output = part; item < total && output < outputs; output += at_once * lanes) {
      C values[at_once], slopes[at_once];
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int which = output + k * lanes < outputs ? output + k * lanes : output;
        values[k] = weights[which * apart + input];
        slopes[k] = dy[which];
      }
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        if (output + k * lanes >= outputs) continue;
        const int place = (output + k * lanes) * apart + input;
        sum = prumo::fma(values[k], slopes[k], sum);
        weights[place] = rule(values[k], slopes[k] * scaled, place);
      }
    }
    sum = share_lanes.sum(team, sum);
    if (item < total) emit(input, part, lanes, sum);
  }
}

/// A dense layer of a team that shares a net.
template <sharing_step_team Team, class C>
class dense_share {
 public:
  PRUMO_STEP_FUNCTION dense_share(const Team& team, const step_scratch<C>& scratch, C* image, C* copies, int which,
                                  int step)
      : team_(team),
        scratch_(scratch),
        image_(image),
        copies_(copies),
        it_(scratch.table().layer[which]),
        share_of_team_(scratch.share()),
        share_(share_of_team_.layer[which]),
        which_(which),
        step_(step) {}

  /// y, which the team then has: all of it, or its share of the outputs. Ends with a barrier.
  PRUMO_STEP_FUNCTION void multiply() const {
    C* const y = image_ + it_.y.begin;
    const C* const bias = it_.bias >= 0 ? copies_ + it_.bias_copy : nullptr;
    const auto finish = [&](int output, C sum) {
      y[output] = activated(it_.activate, bias == nullptr ? sum : sum + bias[output]);
    };
    const bool sends = share_.kind == share_kind::inputs;
    const team_exchange exchange(which_, false, step_);
    multiply_share(team_, it_, share_, image_ + it_.x.begin, weights(), [&](int output, int lane, int lanes, C sum) {
      if (sends) {
        send_to_all(exchange, output, it_.out_channels, lane, lanes, sum);
      } else if (lane == 0) {
        finish(output, sum);
      }
    });
    if (sends) receive_from_all(exchange, it_.out_channels, finish);
    team_.barrier();
  }

  /// dx, times the slope below, of which the team has as much as of x; and new weights. Ends with a barrier.
  PRUMO_STEP_FUNCTION void change(const step_rule<C>& rule) const {
    C *const first = scratch_.moments(), *const second = first + scratch_.table().copies;
    if (rule.which == optimizer::sgd) {
      change_by([rate = rule.rate](C weight, C gradient, int) { return prumo::fma(-rate, gradient, weight); });
    } else {
      change_by([&](C weight, C gradient, int place) { return rule(weight, gradient, first, second, place); });
    }
  }

 private:
  template <class Rule>
  PRUMO_STEP_FUNCTION void change_by(const Rule& rule) const {
    C *const x = image_ + it_.x.begin, *const dx = image_ + it_.dx.begin;
    const C* const dy = image_ + it_.dy.begin;
    const auto finish = [&](int input, C sum) {
      if (!it_.is_first) dx[input] = sum * slope_of(it_.below, x[input]);
    };
    const bool sends = share_.kind == share_kind::outputs && !it_.is_first;
    const team_exchange exchange(which_, true, step_);
    const auto of_weight = [&](C weight, C gradient, int place) {
      return rule(weight, gradient, it_.forward_copy + place);
    };
    change_share(team_, it_, share_, x, dy, copies_ + it_.forward_copy, of_weight,
                 [&](int input, int lane, int lanes, C sum) {
                   if (sends) {
                     send_to_all(exchange, input, it_.in_size(), lane, lanes, sum);
                   } else if (lane == 0) {
                     finish(input, sum);
                   }
                 });
    // The last threads have the fewest inputs.
    for (int output = team_.size() - 1 - team_.rank(); output < it_.bias_count(); output += team_.size()) {
      const int place = it_.bias_copy + output;
      copies_[place] = rule(copies_[place], dy[output] * static_cast<C>(it_.bias_scale), place);
    }
    if (sends) receive_from_all(exchange, it_.in_size(), finish);
    team_.barrier();
  }

  /// Sends a part of a sum to all teams, to whose places for this exchange: [two steps][teams][sums].
  PRUMO_STEP_FUNCTION void send_to_all(const team_exchange& exchange, int which, int sums, int lane, int lanes,
                                       C value) const {
    C* const place = received(sums) + share_of_team_.team * sums + which;
    for (int to = lane; to < teams(); to += lanes) team_.to(exchange, to).send(place, value);
  }

  /// finish(which, sum) for each sum of the parts of all teams, in their order.
  template <class Finish>
  PRUMO_STEP_FUNCTION void receive_from_all(const team_exchange& exchange, int sums, const Finish& finish) const {
    team_.template receive<C>(exchange, teams() * sums);
    const C* const parts = received(sums);
    for (int which = team_.rank(); which < sums; which += team_.size()) {
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (int from = 0; from < teams(); ++from) sum += parts[from * sums + which];
      finish(which, sum);
    }
  }

  PRUMO_STEP_FUNCTION int teams() const { return share_of_team_.teams; }
  PRUMO_STEP_FUNCTION const C* weights() const { return copies_ + it_.forward_copy; }
  PRUMO_STEP_FUNCTION C* received(int sums) const { return image_ + share_.received + step_ % 2 * teams() * sums; }

  const Team& team_;
  const step_scratch<C>& scratch_;
  C* const image_;
  C* const copies_;
  const step_layer& it_;
  const net_share& share_of_team_;
  const layer_share& share_;
  int which_, step_;
};

}  // namespace prumo::nets
