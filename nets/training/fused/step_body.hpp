// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images through all layers and back, as a team takes them in a training step.

#include "layers/column_gradients.hpp"
#include "layers/column_tiles.hpp"
#include "layers/dense_layers.hpp"
#include "layers/filter_layers.hpp"
#include "layers/immediate_changes.hpp"
#include "layers/packed_dense_layers.hpp"
#include "layers/pooling_layers.hpp"
#include "layers/shared_filter_layers.hpp"
#include "layers/single_dense.hpp"
#include "layers/square_gradients.hpp"
#include "step_memory.hpp"

namespace prumo::nets {

/// A step as one team sees it.
template <class Team, class C>
class step_body : public step_memory<Team, C> {
  using memory_of_step = step_memory<Team, C>;
  using memory_of_step::data_;
  using memory_of_step::scratch_;
  using memory_of_step::team_;

 public:
  using memory_of_step::table;

  PRUMO_STEP_FUNCTION step_body(const Team& team, const step_data<C>& data, const step_scratch<C>& scratch)
      : memory_of_step(team, data, scratch) {}

  /// Images in scratch memory forward and backward. The weights change at once, all but those of filters, or their
  /// factors go to memory. Begins behind a barrier and ends with one.
  /// \param ahead loads the next images meanwhile
  template <bool AtOnce, class Ahead>
  PRUMO_STEP_FUNCTION void run_images(int count, std::int64_t images_of_step, C* factors, const step_rule<C>& rule,
                                      Ahead& ahead) const {
    run_forward(count);
    if constexpr (has_many_weights(Team::shape)) {
      // `ahead` lies in memory, where a value can be written only when it has arrived.
      typename Ahead::loaded_type loaded;
      run_loss_and_load(count, images_of_step, ahead, loaded);
    } else {
      run_loss_and_load(count, images_of_step, ahead, ahead.held());
    }
    run_backward<AtOnce>(count, factors, rule);
    ahead.put(*this);
  }

  template <class Ahead, class Loaded>
  PRUMO_STEP_FUNCTION void run_loss_and_load(int count, std::int64_t images_of_step, Ahead& ahead,
                                             Loaded& loaded) const {
    differentiate_all(count, images_of_step);
    ahead.load(*this, loaded);
    team_.barrier();
    add_losses(count);
    ahead.stage(*this, loaded);
  }

  /// Through all layers, or to the first dense one where a team takes images in stages. Each layer ends with a barrier.
  PRUMO_STEP_FUNCTION void run_forward(int count) const {
    constexpr bool in_stages = Team::shape == step_shape::staged;
    const step_images<C> images{scratch_.memory(), table().image_elements, count};
    const int layers = in_stages ? table().first_dense : table().layers;
    PRUMO_KEEP_LOOP
    for (int which = 0; which < layers; ++which) {
      const step_layer& it = table().layer[which];
      if (it.kind == step_kind::convolution) {
        // In stages, zeros that only the way back needs are set there.
        if (it.cleared_rows >= 0 && (!in_stages || table().layer[which + 1].has_filter())) {
          clear_edges(team_, it, images);
        }
        run_convolution(it, images);
      } else if (it.kind == step_kind::shared_convolution) {
        convolve_shared(team_, it, images, scratch_.copies());
      } else if (it.kind != step_kind::dense) {
        pool(team_, it, images);
      } else if constexpr (!in_stages) {
        run_dense_forward(it, images);
      }
      team_.barrier();
    }
  }

  PRUMO_STEP_FUNCTION void run_convolution(const step_layer& it, const step_images<C>& images) const {
    if (!it.takes_tiles) {
      convolve_any(team_, it, images, scratch_.copies());
    } else if (it.filter_width == 5) {
      convolve_tiles<5>(team_, it, images, scratch_.copies());
    } else {
      convolve_tiles<3>(team_, it, images, scratch_.copies());
    }
  }

  PRUMO_STEP_FUNCTION void run_dense_forward(const step_layer& it, const step_images<C>& images) const {
    // One call for both, where code is long: the memory of instructions is short.
    if constexpr (has_many_images<Team>) {
      run_dense(it, images, weights_of(it), bias_of(it));
    } else if (it.forward_copy >= 0) {
      run_dense(it, images, scratch_.copies() + it.forward_copy,
                it.bias_copy >= 0 ? scratch_.copies() + it.bias_copy : nullptr);
    } else {
      run_dense(it, images, data_.weights + it.weights, it.bias >= 0 ? data_.weights + it.bias : nullptr);
    }
  }

  /// The weights of a dense layer, or their copies.
  PRUMO_STEP_FUNCTION const C* weights_of(const step_layer& it) const {
    return it.forward_copy >= 0 ? scratch_.copies() + it.forward_copy : data_.weights + it.weights;
  }
  PRUMO_STEP_FUNCTION const C* bias_of(const step_layer& it) const {
    if (it.bias < 0) return nullptr;
    return it.bias_copy >= 0 ? scratch_.copies() + it.bias_copy : data_.weights + it.bias;
  }

  PRUMO_STEP_FUNCTION void run_dense(const step_layer& it, const step_images<C>& images, const C* weights,
                                     const C* bias) const {
    if (has_many_images<Team> && it.has_packs) {
      if constexpr (has_many_images<Team>) multiply_packs(team_, it, images, weights, bias);
    } else if (takes_single(it, images)) {
      if constexpr (has_single_dense) {
        if (images.count == 1) {
          multiply_single<1>(team_, it, images, weights, bias);
        } else {
          multiply_single<2>(team_, it, images, weights, bias);
        }
      }
    } else {
      multiply_dense(team_, it, images, weights, bias);
    }
  }

  /// Whether teams have the functions of columns and squares.
  static constexpr bool has_device_tiles = has_many_weights(Team::shape);

  /// Whether a dense layer whose weights are in memory is for the functions of single_dense.hpp.
  static constexpr bool has_single_dense = Team::shape == step_shape::many_weights;
  PRUMO_STEP_FUNCTION static bool takes_single(const step_layer& it, const step_images<C>& images) {
    return has_single_dense && it.has_packs && it.forward_copy < 0 && images.count <= most_single_images;
  }

  /// The losses of images, and gradients in the place of their scores. The first stretches have them.
  PRUMO_STEP_FUNCTION void differentiate_all(int count, std::int64_t images_of_step) const {
    const step_layer& last = table().layer[table().layers - 1];
    for (int image = team_.stretch(); image < count; image += team_.stretches()) {
      differentiate(scratch_.memory() + image * table().image_elements + last.y.begin, image, scratch_.labels()[image],
                    images_of_step);
    }
  }

  /// The loss of an image, and gradients in the place of its scores. The lanes of one stretch call it.
  PRUMO_STEP_FUNCTION void differentiate(C* scores, int image, int label, std::int64_t images_of_step) const {
    const step_layer& last = table().layer[table().layers - 1];
    const C scale = table().mean_of_batch ? C(1) / static_cast<C>(images_of_step) : C(1);
    double loss_of_image;
    int correct;
    differentiate_loss(team_, table().which_loss, last.activate, scores, scores, table().classes, label, scale,
                       loss_of_image, correct);
    if (team_.lane() == 0) {
      scratch_.losses()[image] = loss_of_image;
      scratch_.correct()[image] = correct;
    }
  }

  /// Adds the losses of images to those of the group.
  PRUMO_STEP_FUNCTION void add_losses(int count) const {
    if (team_.rank() == 0) {
      for (int image = 0; image < count; ++image) add_loss(image);
    }
  }
  PRUMO_STEP_FUNCTION void add_loss(int image) const {
    double* const sums = scratch_.sums();
    sums[0] += scratch_.losses()[image];
    sums[1] += scratch_.correct()[image];
  }

  template <bool AtOnce>
  PRUMO_STEP_FUNCTION void run_backward(int count, C* factors, const step_rule<C>& rule) const {
    const step_images<C> images{scratch_.memory(), table().image_elements, count};
    PRUMO_KEEP_LOOP
    for (int which = table().layers - 1; which >= 0; --which) {
      const step_layer& it = table().layer[which];
      if (it.kind != step_kind::dense) {
        run_filter_backward(it, images);
      } else if constexpr (has_many_images<Team>) {
        run_dense_backward<AtOnce>(it, images, weights_of(it), factors, rule);
      } else if (it.forward_copy >= 0) {
        run_dense_backward<AtOnce>(it, images, scratch_.copies() + it.forward_copy, factors, rule);
      } else {
        run_dense_backward<AtOnce>(it, images, data_.weights + it.weights, factors, rule);
      }
      team_.barrier();
    }
  }

  template <bool AtOnce>
  PRUMO_STEP_FUNCTION void run_dense_backward(const step_layer& it, const step_images<C>& images, const C* weights,
                                              C* factors, const step_rule<C>& rule) const {
    if constexpr (AtOnce) {
      change_dense(team_, it, scratch_.memory(), weights, data_, rule, scratch_.copies());
    } else if (has_many_images<Team> && it.has_packs) {
      if constexpr (has_many_images<Team>) packs_backward(team_, it, images, weights, factors, table().factors);
    } else if (takes_single(it, images)) {
      if constexpr (has_single_dense) {
        if (images.count == 1) {
          single_backward<1>(team_, it, images, weights, factors, table().factors, scratch_.partials());
        } else {
          single_backward<2>(team_, it, images, weights, factors, table().factors, scratch_.partials());
        }
      }
    } else {
      dense_backward(team_, it, images, weights, factors, table().factors);
    }
  }

  /// Backward through any layer but a dense one; without the barrier at the end.
  PRUMO_STEP_FUNCTION void run_filter_backward(const step_layer& it, const step_images<C>& images) const {
    if (it.kind == step_kind::convolution) {
      add_convolution_gradients(it, images);
      if (it.is_first) return;
      team_.barrier();
      run_convolution_backward(it, images);
    } else if (it.kind == step_kind::shared_convolution) {
      run_shared_backward(it, images);
    } else if (!it.is_first) {
      run_pooling_backward(it, images);
    }
  }

  PRUMO_STEP_FUNCTION void run_shared_backward(const step_layer& it, const step_images<C>& images) const {
    C* const gradients = scratch_.gradients() + it.gradient;
    if constexpr (Team::takes_vectors) {
      shared_backward(team_, it, images, scratch_.copies(), gradients);
    } else {
      add_shared_gradients(team_, it, images, gradients);
      if (it.is_first) return;
      team_.barrier();
      if (it.owns_windows) {
        convolve_shared_backward_by_windows(team_, it, images, scratch_.copies());
      } else {
        convolve_shared_backward(team_, it, images, scratch_.copies());
      }
    }
  }

  PRUMO_STEP_FUNCTION void add_convolution_gradients(const step_layer& it, const step_images<C>& images) const {
    C* const gradients = scratch_.gradients() + it.gradient;
    if (!it.takes_tiles) {
      add_any_gradients(team_, it, images, gradients);
      if (it.bias >= 0) add_bias_gradients(team_, it, images, gradients + it.weight_count());
    } else if (it.filter_width == 5) {
      add_tile_gradients<5>(it, images, gradients);
    } else {
      add_tile_gradients<3>(it, images, gradients);
    }
  }

  PRUMO_STEP_FUNCTION void run_convolution_backward(const step_layer& it, const step_images<C>& images) const {
    if (!it.takes_tiles) {
      convolve_any_backward(team_, it, images, scratch_.copies());
    } else if (it.filter_width == 5) {
      run_tiles_backward<5>(it, images);
    } else {
      run_tiles_backward<3>(it, images);
    }
  }

  PRUMO_STEP_FUNCTION void run_pooling_backward(const step_layer& it, const step_images<C>& images) const {
    if (it.owns_windows) {
      pool_backward_by_windows(team_, it, images);
    } else {
      pool_backward_by_pixels(team_, it, images);
    }
  }

  template <int Side>
  PRUMO_STEP_FUNCTION void run_tiles_backward(const step_layer& it, const step_images<C>& images) const {
    if (has_device_tiles && it.takes_columns) {
      if constexpr (has_device_tiles) convolve_columns_backward<Side>(team_, it, images, scratch_.copies());
    } else {
      convolve_tiles_backward<Side>(team_, it, images, scratch_.copies());
    }
  }

  template <int Side>
  PRUMO_STEP_FUNCTION void add_tile_gradients(const step_layer& it, const step_images<C>& images, C* gradients) const {
    if constexpr (has_device_tiles) {
      add_square_gradients<Side>(team_, it, images, gradients, scratch_.partials());
    } else {
      add_tiled_gradients<Side>(team_, it, images, gradients, scratch_.partials());
    }
  }
};

}  // namespace prumo::nets
