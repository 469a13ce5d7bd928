// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net as a table that a team of threads follows, layer by layer, through one training step. All arrays between the
/// layers lie in the team's scratch memory. The gradient of an array takes the array's own place where it can.

#include "item_grid.hpp"
#include <prumo/nets/description.hpp>
#include <prumo/nets/shapes.hpp>
#include <prumo/nets/training_types.hpp>

#include <Kokkos_Macros.hpp>
#include <climits>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Before the functions of a step. A source that runs them on threads of the host alone defines it as `inline`: they
/// then call functions with vectors, and nvcc would compile those for the device, too.
#if !defined(PRUMO_STEP_FUNCTION)
#define PRUMO_STEP_FUNCTION KOKKOS_FORCEINLINE_FUNCTION
#endif

namespace prumo::nets {

enum class step_kind : int { convolution, shared_convolution, maximum, average, dense };

/// Planes in the scratch memory of an image. Around each plane there may be an edge of zeros: whoever reads with
/// padding reads these, and no index is checked.
struct step_planes {
  int begin = 0;  ///< the place of channel 0, row 0, column 0
  int pitch = 0;  ///< elements from a row to the next
  int plane = 0;  ///< elements from a channel to the next
};

/// The rows of a tile of convolution_tiles.hpp.
inline constexpr int tile_rows = 5;

/// The maps of a tile of lane_tiles.hpp, and the most lanes that share it: 2^shift.
inline constexpr int lane_tile_maps = 2, most_tile_lanes_shift = 4;

/// The rows of dy for which column_tiles.hpp makes dx.
inline constexpr int least_column_rows = 8, most_column_rows = 10;
/// The most lanes that share a column: 2^shift.
inline constexpr int most_column_shift = 3;

/// How threads share the sums of a convolution (convolution_tiles.hpp).
struct step_tiles {
  /// [groups of maps][groups of rows][columns]; of nets with many weights [groups of rows][groups of maps][columns]
  item_grid grid;
  int maps = 2;        ///< of a tile: 6, 4 or 2
  int part_shift = 0;  ///< 2^part_shift lanes share the channels of a tile, or of a column of column_tiles.hpp
  int run = 1;         ///< neighbouring channels of such a lane
};

/// A layer in a step.
struct step_layer {
  step_kind kind = step_kind::dense;
  activation activate = activation::none;  ///< none where the loss takes the scores before the activation
  activation below = activation::none;     ///< of the layer that makes x
  bool is_first = false;                   ///< x is an image and needs no gradient
  bool takes_tiles = false;                ///< a convolution by convolution_tiles.hpp, forward and backward
  bool takes_columns = false;              ///< of these, one whose dx is made by column_tiles.hpp
  bool owns_windows = false;               ///< no pixel lies in two windows, so each window writes its own pixels
  bool has_halves = false;                 ///< pooling whose windows of 2 x 2 pixels cover the plane, and lie in pairs
  /// Of a layer with halves: forward it notes which pixel of each window dx goes to, so backward it needs no x. Then x
  /// and the y of the layer behind share their place.
  bool notes_choices = false;
  int choices = 0;         ///< the place of these notes among an image's elements: a byte for each window
  int cleared_rows = -1;   ///< the rows of the edge of y above and below, if another array has been in its place
  bool has_packs = false;  ///< a dense layer whose rows of weights begin at multiples of 16 bytes
  int in_channels = 1, in_height = 1, in_width = 1;
  int out_channels = 1, out_height = 1, out_width = 1;
  int filter_height = 1, filter_width = 1;
  int row_stride = 1, column_stride = 1;
  int row_padding = 0, column_padding = 0;
  item_grid x_items, y_items;  ///< the elements of x and y
  item_grid y_places;          ///< the places of one channel of y
  /// Of a layer whose windows share no pixel: the areas of x that each cover a window and the gap behind it, and the
  /// rows of pixels of these areas.
  item_grid window_areas, window_rows;
  prumo::detail::index_divider window_strides;     ///< of rows
  prumo::detail::index_divider taps, tap_columns;  ///< of a filter, and of a row of it
  step_tiles forward, backward;                    ///< of a convolution that takes tiles: those of y, and those of dx
  /// The tiles of one channel of y, for sums over its places: some rows of a column, or squares where tiles are large.
  item_grid gradient_places;
  step_planes x, y, dy, dx;  ///< dy and dx lie at y and x, except where dx depends on all of x
  /// Of a first convolution, where step_request::takes_vectors: x once more for each column of a filter, the rows that
  /// column meets without gaps between them. Then the places of y and the pixels that a tap meets are both neighbours.
  step_planes unfolded;
  int unfolded_apart = 0;  ///< elements from a column's copy to that of the next one; 0: none

  int weights = -1;  ///< the place in the flat array of parameters; -1: none
  int bias = -1;
  double weight_scale = 1, bias_scale = 1;  ///< factors of gradients, beside the mean over the batch

  /// Places of copies in the team's scratch memory; -1: none. A convolution's weights lie there as [in][tap][out], the
  /// taps of a column behind each other, for x to y; and turned around as [out][tap][in] for dy to dx. `out` and `in`
  /// are rounded up to a multiple of 4. Those of a shared filter and of a dense layer lie as in the array of
  /// parameters.
  int forward_copy = -1, backward_copy = -1, bias_copy = -1;
  int padded_out = 0, padded_in = 0;
  /// Elements from a channel's copies to those of the next one: some more than the copies take, so that lanes which
  /// share the channels of a tile read from different banks of a device's memory.
  int forward_apart = 0, backward_apart = 0;

  /// The place of the gradients of weights and bias, one behind the other, among those that a team sums.
  int gradient = 0;
  /// Dense layers: the places of x and dy among an image's factors, of which the gradients are products.
  int x_factor = 0, dy_factor = 0;

  KOKKOS_FUNCTION int in_size() const { return in_channels * in_height * in_width; }
  KOKKOS_FUNCTION int out_size() const { return out_channels * out_height * out_width; }
  KOKKOS_FUNCTION int filter_size() const { return filter_height * filter_width; }
  KOKKOS_FUNCTION bool has_filter() const {
    return kind == step_kind::convolution || kind == step_kind::shared_convolution;
  }
  KOKKOS_FUNCTION int weight_count() const {
    switch (kind) {
      case step_kind::convolution: return out_channels * in_channels * filter_size();
      case step_kind::shared_convolution: return filter_size();
      case step_kind::dense: return out_channels * in_size();
      default: return 0;
    }
  }
  KOKKOS_FUNCTION int bias_count() const {
    if (bias < 0) return 0;
    return kind == step_kind::shared_convolution ? 1 : out_channels;
  }
};

inline constexpr int most_step_layers = 16;
inline constexpr int most_kept_ranges = most_step_layers;

/// Nets and batches for which kernels are compiled, because the memory of instructions is short.
enum class step_shape : int {
  few_images,
  /// A team has one or two images at once, of a net with so many weights that tiles of dense layers are wide.
  many_weights,
  /// A team has several images at once, and there are so many weights that tiles of dense layers are wide.
  many_images,
  /// The same where a group of images takes several rounds: all of its images go through the dense layers together
  /// (step_stages.hpp).
  staged,
  /// window_image.hpp
  windows,
  /// The teams of a cluster share the net (net_share.hpp).
  share
};

/// Whether the functions of a shape are those for many images at once.
KOKKOS_FUNCTION constexpr bool has_large_tiles(step_shape shape) {
  return shape == step_shape::many_images || shape == step_shape::staged;
}

/// The most elements of a vector of a host. Where teams take them, each array begins at a multiple of so many.
inline constexpr int most_vector_elements = 16, most_vector_bytes = 64;

/// Whether teams have the functions of columns (column_tiles.hpp) and squares (square_gradients.hpp), and parts of a
/// step are functions with registers of their own.
KOKKOS_FUNCTION constexpr bool has_many_weights(step_shape shape) {
  return shape == step_shape::many_weights || has_large_tiles(shape);
}

/// A part of an image's scratch memory, in elements: multiples of 4.
struct kept_range {
  int begin = 0, elements = 0;
};

/// The arrays of a team's scratch memory behind the table and the partial sums (step_scratch.hpp).
enum class scratch_array : int {
  sums,
  losses,
  labels,
  correct,
  next_images,
  next_labels,
  next_bytes,
  copies,
  sources,
  share,
  moments,
  memory,
  gradients  ///< behind all that teams of a cluster have at the same place
};
inline constexpr int scratch_arrays = static_cast<int>(scratch_array::gradients) + 1;

/// A training step of a net. Counts are elements of the type in which the net is computed.
struct step_table {
  int layers = 0;
  loss which_loss = loss::softmax;
  optimizer which_optimizer = optimizer::sgd;
  bool mean_of_batch = true;  ///< false: gradients are sums over the batch
  int classes = 0;
  int pixels = 0;               ///< of an image, all channels
  int copies = 0;               ///< copies of parameters in a team's scratch memory
  int gradients = 0;            ///< gradients that a team sums: of filters, and where it takes windows all others, too
  int factors = 0;              ///< of an image
  int image_elements = 0;       ///< of an image's scratch memory, a multiple of 4
  int images_at_once = 1;       ///< how many images a team has in its scratch memory
  int bytes_ahead = 0;          ///< room for the pixels of the next images; without room they are loaded when needed
  int groups = 1;               ///< how many groups the images of a step make; follows from the batch alone
  int images_of_a_group = 1;    ///< of a whole batch
  int larger_groups = 0;        ///< the first ones of a whole batch, which have one image more
  int update_tiles = 0;         ///< step_places::update_tiles
  int update_slices = 1;        ///< the slices of each
  bool has_wide_tiles = false;  ///< whether tiles of dense layers are wide (update_tiles.hpp)
  step_shape shape = step_shape::few_images;
  /// Of the shape `windows`: [maps][1][halves of windows], filled up so that neighbouring lanes have the same map; and
  /// the places among an image's elements of partial sums and of the gradients of scores.
  item_grid window_halves;
  int window_sums = 0, window_slopes = 0;
  int window_image_apart = 0;      ///< elements from an image's pixels to those of the next one, which is there already
  std::int64_t partial_bytes = 0;  ///< of the partial sums behind the table
  int scratch_begin[scratch_arrays] = {};  ///< in bytes
  int scratch_bytes = 0;                   ///< that a team has to have, aligned to 32 bytes
  std::int64_t batch = 1;
  step_layer layer[most_step_layers];
  int first_dense = 0;  ///< the layers before it have filters or pool; it and those behind it are dense
  /// Of the shape `staged`: how many images go through the dense layers together, and the elements of each that are
  /// kept in memory meanwhile.
  int images_of_a_stage = 0;
  int kept = 0;
  /// What is kept of an image's scratch memory, one part behind the other. The first one is x of the first dense layer,
  /// which goes to the factors instead; dx comes from its place among what is kept. Behind it comes what the layer
  /// below needs, in all `kept_of_last` parts.
  int kept_ranges = 0, kept_of_last = 0;
  kept_range kept_range_of[most_kept_ranges];

  /// The images that group `which` takes of a step with `images` of them, fewer than 2^31: from here to where the next
  /// group begins. Steps of whole batches need no division.
  KOKKOS_FUNCTION std::int64_t group_begin(int which, std::int64_t images) const {
    int each = images_of_a_group, more = larger_groups;
    if (images != batch) {
      const auto all = static_cast<std::uint32_t>(images), count = static_cast<std::uint32_t>(groups);
      each = static_cast<int>(all / count);
      more = static_cast<int>(all % count);
    }
    return static_cast<std::int64_t>(which) * each + (which < more ? which : more);
  }
};

/// What a table needs to know beside the net.
struct step_request {
  const description& net;
  const net_facts& facts;
  std::span<const std::int64_t> offsets;  ///< of each parameter in the flat array, in the order of all_parameters()
  std::int64_t parameter_elements = 0;
  training_options options;
  std::int64_t element_bytes = 4;
  std::int64_t scratch_bytes = 0;  ///< that a team may have
  /// Most images that a team has in its scratch memory at once.
  int most_images_at_once = 8;
  /// Parameters of dense layers are copied to scratch memory if there is room and a layer has at most so many.
  std::int64_t most_dense_copies = 0;
  /// Whether teams can note the choices of pooling (step_layer::notes_choices), and read edges of zeros that rows
  /// share.
  bool saves_memory = false;
  /// Whether teams have the functions of window_image.hpp.
  bool takes_windows = false;
  /// Teams with at least so many images at once have many, if the weights make more than so many tiles.
  int many_images = INT_MAX;
  std::size_t most_narrow_tiles = 0;
  /// Whether teams have the functions of the shape `many_weights`.
  bool takes_many_weights = false;
  /// Most images that go through dense layers together, if a group takes several rounds.
  int most_stage_images = 64;
  /// Groups of fewer images do not: the products of dense layers would have few rows.
  int least_stage_images = 2;
  /// Whether teams compute with vectors of a host: planes then begin where such vectors do.
  bool takes_vectors = false;
  /// Whether teams keep dy with edges of zeros, for convolution_tiles.hpp.
  bool wants_edges = true;
};

/// The least bytes of the table and the partial sums.
std::size_t least_fixed_bytes(std::int64_t element_bytes);

/// The bytes of scratch memory that changing the weights takes: the table and partial sums.
std::size_t scratch_bytes_of_update(const step_table& table);

/// Fills the table.
/// \return why the net cannot be trained in scratch memory, in words that follow the name of a way; empty if it can
std::string make_step_table(const step_request& request, step_table& table);

/// The threads of a device's team.
inline constexpr int step_threads = 512;

/// The most neighbouring lanes that share the gradients (convolution_gradients.hpp) of a filter of a convolution.
inline constexpr int most_gradient_lanes = 8;
/// The threads that have room for partial sums in column_gradients.hpp, and the sums of each: of two output channels,
/// the taps of a filter column and the bias. All types have the same room, because that of f64 is scarce.
template <class C>
inline constexpr int column_threads = static_cast<int>(step_threads * sizeof(float) / sizeof(C));
inline constexpr int column_sums = 2 * 5 + 2;
/// Room for partial sums of these gradients, where a filter has more threads: 32 sums for each group of lanes.
inline constexpr int partial_sums = step_threads / most_gradient_lanes * 32;

/// How many four-byte words of the next images a thread of a device loads ahead.
inline constexpr int held_words = 4;
inline constexpr int pixels_of_word = 4;

/// Products of rows of two arrays (row_products.hpp): how many elements of each row lie in scratch memory at once, the
/// rows of a thread's tile, and the elements from a row to the next, which begins with a pack in other banks.
inline constexpr int product_depth = 32;
inline constexpr int product_rows = 8, product_columns = 4;
template <class C>
inline constexpr int product_pitch = product_depth + static_cast<int>(16 / sizeof(C));
/// The least room for them: for the rows of a stage's images, a few rows of weights, and the same again for the
/// elements that come next.
KOKKOS_FUNCTION constexpr std::int64_t least_product_elements(std::int64_t images) {
  return 2 * ((images - 1) / product_rows + 2) * product_rows * product_pitch<float>;
}

/// The largest number of groups of images in a step. It is no property of a device, so that all devices sum in one
/// order. The GPUs at hand have 132 multiprocessors, and a group needs one.
inline constexpr int most_step_groups = 128;

}  // namespace prumo::nets
