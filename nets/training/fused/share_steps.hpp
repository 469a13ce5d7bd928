// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a team that shares a net with the other teams of a cluster (net_share.hpp): one image after the other,
/// the same one in all teams. Weights and moments stay in scratch memory from the first step of a launch to its last.

#include "layers/dense_shares.hpp"
#include "layers/lane_tiles.hpp"
#include "step_body.hpp"
#include <prumo/detail/device/copy_ahead.hpp>

#include <cstdint>

namespace prumo::nets {

/// A plane of dx in another team.
template <class Receiver, class C>
struct sent_plane {
  Receiver receiver;
  C* begin;
  int width;

  PRUMO_STEP_FUNCTION void put(int row, int column, C sum) const { receiver.send(begin + row * width + column, sum); }
};

template <sharing_step_team Team, class C>
class share_steps {
 public:
  PRUMO_STEP_FUNCTION explicit share_steps(const step_body<Team, C>& body)
      : body_(body),
        team_(body.team()),
        table_(body.table()),
        data_(body.data()),
        scratch_(body.scratch()),
        share_(body.scratch().share()),
        memory_(body.scratch().memory()),
        copies_(body.scratch().copies()) {
    copy_share();
    copy_moments();
    body.gather(0, 1);
    label_ = data_.labels[data_.order[0]];
    if (data_.steps > 1) next_image_ = data_.order[1];
  }

  /// A step, of this number in the launch. Begins behind a barrier and ends with one.
  PRUMO_STEP_FUNCTION void run(int step, const step_rule<C>& rule) {
    load_next(step);
    PRUMO_KEEP_LOOP
    for (int which = 0; which < table_.layers; ++which) run_forward(which, step);
    find_slopes();
    PRUMO_KEEP_LOOP
    for (int which = table_.layers - 1; which >= 0; --which) run_backward(which, step, rule);
    if (share_.team == share_.teams - 1 && team_.stretch() == team_.stretches() - 1) add_loss();
    change_filters(rule);
    put_next(step);
    team_.barrier();
  }

  /// The parameters and moments of which this team has the share to the memory of the device, and the sums of losses
  /// and correct answers of the epoch. Begins behind a barrier.
  PRUMO_STEP_FUNCTION void store_parameters() const {
    if (share_.team == share_.teams - 1) {
      for (int i = team_.rank(); i < 2; i += team_.size()) data_.counters->sums[i] = scratch_.sums()[i];
    }
    for (int i = team_.rank(); i < table_.gradients; i += team_.size()) {
      const filter_parameter to = data_.filter_parameters[i];
      store(to.copy, to.parameter);
    }
    PRUMO_KEEP_LOOP
    for (int which = table_.first_dense; which < table_.layers; ++which) {
      const step_layer& it = table_.layer[which];
      const layer_share& share = share_.layer[which];
      const int inputs = it.in_size(), count = it.weight_count();
      if (share.kind != share_kind::whole || share_.team == 0) {
        for (int i = team_.rank(); i < count; i += team_.size()) {
          const int output = i / inputs, input = i - output * inputs;
          store(it.forward_copy + output * share.copies_apart + input,
                it.weights + output * share.weights_apart + input);
        }
      }
      if (share.kind != share_kind::outputs && share_.team != 0) continue;
      for (int i = team_.rank(); i < it.bias_count(); i += team_.size()) store(it.bias_copy + i, it.bias + i);
    }
  }

 private:
  /// Ends with a barrier.
  PRUMO_STEP_FUNCTION void copy_share() const {
    const auto* const from = reinterpret_cast<const int*>(data_.share);
    auto* const to = reinterpret_cast<int*>(&scratch_.share());
    for (int i = team_.rank(); i < static_cast<int>(sizeof(net_share) / sizeof(int)); i += team_.size())
      to[i] = from[i];
    team_.barrier();
    for (int i = team_.rank(); i < table_.layers; i += team_.size()) {
      scratch_.share().layer[i].output_lanes_shift = sum_lanes::of(team_, table_.layer[i].out_channels).shift;
      scratch_.share().layer[i].input_lanes_shift = sum_lanes::of(team_, table_.layer[i].in_size()).shift;
    }
    team_.barrier();
  }

  /// Copies the moments of all parameters of which the team has copies. A barrier must follow.
  PRUMO_STEP_FUNCTION void copy_moments() const {
    const int copies = table_.copies;
    const C* const from[] = {data_.first_moments, data_.second_moments};
    for (int moment = 0; moment < share_.moments; ++moment) {
      C* const to = scratch_.moments() + moment * copies;
      for (int i = team_.rank(); i < copies; i += team_.size()) {
        const parameter_copy copy = data_.copies[i];
        to[copy.place] = copy.parameter >= 0 ? from[moment][copy.parameter] : C(0);
      }
    }
  }

  PRUMO_STEP_FUNCTION void store(int copy, int parameter) const {
    data_.weights[parameter] = copies_[copy];
    if (share_.moments > 0) data_.first_moments[parameter] = scratch_.moments()[copy];
    if (share_.moments > 1) data_.second_moments[parameter] = scratch_.moments()[table_.copies + copy];
  }

  PRUMO_STEP_FUNCTION void run_forward(int which, int step) const {
    const step_layer& it = table_.layer[which];
    if (it.kind == step_kind::dense) {
      dense_share<Team, C>(team_, scratch_, memory_, copies_, which, step).multiply();
      return;
    }
    if (it.out_channels > 0) {
      if (it.kind == step_kind::convolution) {
        convolve(it);
      } else {
        pool(team_, it, images());
      }
      team_.barrier();
    }
    if (share_.layer[which + 1].gathers) {
      const team_exchange exchange(which + 1, false, step);
      send_channels(exchange, it, table_.layer[which + 1], share_.layer[which].first);
      team_.template receive<C>(exchange, table_.layer[which + 1].in_size());
    }
  }

  PRUMO_STEP_FUNCTION void convolve(const step_layer& it) const {
    if (!it.takes_tiles) {
      convolve_any(team_, it, images(), copies_);
    } else if (it.filter_width == 5) {
      convolve_by_lanes<5>(team_, it, memory_, copies_);
    } else {
      convolve_by_lanes<3>(team_, it, memory_, copies_);
    }
  }

  /// Sends this team's channels of y to all teams, where they are x of the next layer. Stretches have a team to send
  /// to.
  PRUMO_STEP_FUNCTION void send_channels(const team_exchange& exchange, const step_layer& from, const step_layer& to,
                                         int first) const {
    const item_grid grid = from.y_items;
    const step_planes y = from.y, x = to.x;
    const int teams = share_.teams, stretches = team_.stretches();
    const int groups = stretches < teams ? 1 : stretches / teams, group = team_.stretch() / teams;
    if (group >= groups) return;
    for (int team = team_.stretch() - group * teams; team < teams; team += stretches) {
      const auto to_team = team_.to(exchange, team);
      for (int item = group * Team::lanes + team_.lane(); item < grid.of_an_image; item += groups * Team::lanes) {
        const item_place at(item, grid);
        const C value = memory_[y.begin + at.channel * y.plane + at.row * y.pitch + at.column];
        to_team.send(memory_ + x.begin + (first + at.channel) * x.plane + at.row * x.pitch + at.column, value);
      }
    }
  }

  /// The gradients of the scores, for which all teams wait. Ends with a barrier.
  PRUMO_STEP_FUNCTION void find_slopes() const {
    const step_layer& last = table_.layer[table_.layers - 1];
    if (team_.stretch() == 0) {
      find_loss_slopes(team_, table_.which_loss, last.activate, memory_ + last.y.begin, memory_ + last.dy.begin,
                       table_.classes, label_, C(1));
    }
    team_.barrier();
  }

  /// The loss of the image. The last team adds it, because it has the least of the first convolution. The scores are
  /// lost.
  PRUMO_STEP_FUNCTION void add_loss() const {
    body_.differentiate(memory_ + table_.layer[table_.layers - 1].y.begin, 0, label_, 1);
    if (team_.lane() == 0) body_.add_loss(0);
  }

  PRUMO_STEP_FUNCTION void run_backward(int which, int step, const step_rule<C>& rule) const {
    const step_layer& it = table_.layer[which];
    const layer_share& share = share_.layer[which];
    if (it.kind == step_kind::dense) {
      dense_share<Team, C>(team_, scratch_, memory_, copies_, which, step).change(rule);
    } else if (it.kind != step_kind::convolution) {
      // Below a layer that is whole there is nothing to train.
      if (it.out_channels == 0 || share.kind == share_kind::whole) return;
      body_.run_pooling_backward(it, images());
      team_.barrier();
    } else {
      run_convolution_backward(it, which, step);
    }
  }

  /// The teams that have the channels of x send new ones when they have got all parts of dx. So these are sent when
  /// x is done with.
  PRUMO_STEP_FUNCTION void run_convolution_backward(const step_layer& it, int which, int step) const {
    const layer_share& share = share_.layer[which];
    if (it.out_channels > 0) add_gradients(it, share);
    team_.barrier();
    if (!share.gathers) return;
    const team_exchange exchange(which, true, step);
    if (it.takes_tiles && it.out_channels > 0) {
      if (it.filter_width == 5) {
        send_tiles<5>(exchange, it, share);
      } else {
        send_tiles<3>(exchange, it, share);
      }
    } else {
      if (it.out_channels > 0) convolve_any_backward(team_, it, images(), copies_);
      team_.barrier();
      send_parts(exchange, it, share);
    }
    receive_parts(exchange, it, table_.layer[which - 1], share);
    team_.barrier();
  }

  PRUMO_STEP_FUNCTION void add_gradients(const step_layer& it, const layer_share& share) const {
    C* const gradients = scratch_.gradients() + it.gradient;
    if (!it.takes_tiles) {
      body_.add_convolution_gradients(it, images());
    } else if (it.filter_width == 5) {
      add_tiled_gradients<5>(team_, it, images(), gradients, scratch_.partials(), share.gradient_tasks);
    } else {
      add_tiled_gradients<3>(team_, it, images(), gradients, scratch_.partials(), share.gradient_tasks);
    }
  }

  /// Sends this team's parts of dx to the teams that have the channels: [teams][channels of a team][pixels].
  template <int Side>
  PRUMO_STEP_FUNCTION void send_tiles(const team_exchange& exchange, const step_layer& it,
                                      const layer_share& share) const {
    const even_parts channels(it.in_channels, share_.teams);
    C* const received = received_parts(it, share, channels);
    const int pixels = it.in_height * it.in_width;
    sum_by_lanes<Side>(team_, backward_sum(it), memory_, copies_ + it.backward_copy, [&](int channel) {
      const int owner = channels.part_of(channel);
      return sent_plane<decltype(team_.to(exchange, owner)), C>{
          team_.to(exchange, owner), received + (channel - channels.begin(owner)) * pixels, it.in_width};
    });
  }

  /// The same of dx in scratch memory: of any filter, or zeros.
  PRUMO_STEP_FUNCTION void send_parts(const team_exchange& exchange, const step_layer& it,
                                      const layer_share& share) const {
    const item_grid grid = it.x_items;
    const step_planes dx = it.dx;
    const even_parts channels(it.in_channels, share_.teams);
    const int pixels = it.in_height * it.in_width;
    C* const received = received_parts(it, share, channels);
    for (int item = team_.rank(); item < grid.of_an_image; item += team_.size()) {
      const item_place at(item, grid);
      const int owner = channels.part_of(at.channel);
      const C value =
          it.out_channels > 0 ? memory_[dx.begin + at.channel * dx.plane + at.row * dx.pitch + at.column] : C(0);
      team_.to(exchange, owner).send(received + item - channels.begin(owner) * pixels, value);
    }
  }

  /// The place for what this team sends.
  PRUMO_STEP_FUNCTION C* received_parts(const step_layer& it, const layer_share& share,
                                        const even_parts& channels) const {
    return memory_ + share.received + share_.team * channels.count(0) * it.in_height * it.in_width;
  }

  /// Adds up the parts of the channels that this team has, in the order of the teams: dy of the layer below.
  PRUMO_STEP_FUNCTION void receive_parts(const team_exchange& exchange, const step_layer& it, const step_layer& below,
                                         const layer_share& share) const {
    const item_grid grid = below.y_items;
    const int items = grid.of_an_image, teams = share_.teams;
    if (items == 0) return;
    team_.template receive<C>(exchange, teams * items);
    const step_planes y = below.y;
    const int apart = even_parts(it.in_channels, teams).count(0) * it.in_height * it.in_width;
    const C* const parts = memory_ + share.received;
    for (int item = team_.rank(); item < items; item += team_.size()) {
      const item_place at(item, grid);
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (int from = 0; from < teams; ++from) sum += parts[from * apart + item];
      C* const place = memory_ + y.begin + at.channel * y.plane + at.row * y.pitch + at.column;
      *place = sum * slope_of(share.below, *place);
    }
  }

  /// Changes the parameters of the filters that this team has, and sets their gradients back to 0.
  PRUMO_STEP_FUNCTION void change_filters(const step_rule<C>& rule) const {
    const int count = table_.gradients;
    C *const gradients = scratch_.gradients(), *const copies = copies_;
    C *const first = scratch_.moments(), *const second = first + table_.copies;
    for (int i = team_.rank(); i < count; i += team_.size()) {
      const filter_parameter to = data_.filter_parameters[i];
      const step_layer& it = table_.layer[to.layer];
      const C gradient = gradients[i] * static_cast<C>(to.is_bias ? it.bias_scale : it.weight_scale);
      const C changed = rule(copies[to.copy], gradient, first, second, to.copy);
      gradients[i] = 0;
      copies[to.copy] = changed;
      if (to.turned >= 0) copies[to.turned] = changed;
    }
  }

  /// Begins to load the image that comes next, and its label.
  PRUMO_STEP_FUNCTION void load_next(int step) {
    if (step + 1 >= data_.steps) return;
    if (table_.bytes_ahead > 0) {
      const int words = table_.pixels / pixels_of_word;
      const auto* const from = reinterpret_cast<const unsigned*>(data_.pixels) + std::int64_t{next_image_} * words;
      auto* const to = reinterpret_cast<unsigned*>(scratch_.next_bytes());
      for (int word = team_.rank(); word < words; word += team_.size()) {
        prumo::detail::begin_copy(from + word, to + word);
      }
    }
    prumo::detail::end_copy_group();
    next_label_ = data_.labels[next_image_];
    if (step + 2 < data_.steps) image_after_ = data_.order[step + 2];
  }

  /// Makes numbers of it, where the image before is done with. A thread has the words that it has loaded.
  PRUMO_STEP_FUNCTION void put_next(int step) {
    if (step + 1 >= data_.steps) return;
    if (table_.bytes_ahead > 0) {
      prumo::detail::wait_for_copy_groups<0>();
      const step_layer& first = table_.layer[0];
      const int words = table_.pixels / pixels_of_word;
      const auto* const from = reinterpret_cast<const unsigned*>(scratch_.next_bytes());
      for (int word = team_.rank(); word < words; word += team_.size()) {
        const unsigned pixels = from[word];
        PRUMO_UNROLL
        for (int i = 0; i < pixels_of_word; ++i) {
          put_pixel(first, memory_, item_place(word * pixels_of_word + i, first.x_items),
                    static_cast<std::uint8_t>(pixels >> (8 * i) & 255));
        }
      }
    } else {
      body_.gather(step + 1, 1);
    }
    label_ = next_label_;
    next_image_ = image_after_;
  }

  PRUMO_STEP_FUNCTION step_images<C> images() const { return {memory_, table_.image_elements, 1}; }

  const step_body<Team, C>& body_;
  const Team& team_;
  const step_table& table_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  const net_share& share_;
  // They are found once, because the begins of arrays lie in scratch memory, too.
  C* const memory_;
  C* const copies_;
  int next_image_ = 0, image_after_ = 0, label_ = 0, next_label_ = 0;
};

}  // namespace prumo::nets
