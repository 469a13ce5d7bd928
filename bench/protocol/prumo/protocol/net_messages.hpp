// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The requests about nets and their answers: nets that run, and nets that are trained.

#include <prumo/protocol/messages.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::protocol {

/// How a net is trained, and what its accuracy is tested with.
struct training_setup {
  std::string test_images, test_labels;  ///< IDX files
  std::string loss;                      ///< `softmax`, `sigmoid`, `squared` or `original`
  std::string optimizer;                 ///< `sgd`, `momentum` or `adam`
  double learning_rate = 0;
  double momentum = 0;  ///< of the optimizer `momentum`
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< each epoch has an order of its own (docs/random.md); otherwise it is that of the file
};

/// A net with its data and weights, to be held by the worker.
struct open_request {
  std::string device;
  std::string workload;       ///< `inference` or `training`
  json net = json::object();  ///< the net's file, docs/net.schema.json
  std::string dtype;
  std::int64_t batch = 0;      ///< images of a call, or of a step of a training
  std::string images, labels;  ///< IDX files
  std::string weights;         ///< a safetensors file; those that a training begins with
  bool transferred = false;
  std::optional<std::string> host_memory;
  std::optional<std::string> compute_mode;
  std::optional<std::string> implementation;
  std::optional<training_setup> training = std::nullopt;  ///< of the workload `training`
};

/// A part of a net that is enqueued as a whole: a layer, or several that were fused.
struct step_description {
  std::string name;                 ///< `conv1+pool1`
  std::vector<std::string> layers;  ///< names of the net's layers, in order
  cost_model model;                 ///< of a batch
};

struct open_answer {
  std::int64_t session = 0;
  std::string implementation;
  std::string clock = "wall";
  std::optional<std::string> dispatch;  ///< `single` or `recorded`
  std::int64_t images = 0;              ///< in the files
  std::int64_t classes = 0;
  std::int64_t parameters = 0;
  std::int64_t footprint_bytes = 0;  ///< of all arrays on the device
  cost_model model;                  ///< of the whole net and a batch
  std::vector<step_description> steps;
  std::optional<double> load_s;                                ///< seconds for reading and checking the files
  std::optional<double> place_s;                               ///< seconds for allocating and filling arrays
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;  ///< of a training
};

/// What the requests about an open net have in common: the net as a whole, or one of its steps.
struct session_request {
  std::int64_t session = 0;
  bool layer = false;  ///< the level: single steps instead of the whole net
};

struct check_request : session_request {
  std::optional<double> budget;                     ///< operations that the reference may cost
  std::optional<std::vector<std::int64_t>> images;  ///< these of the files instead of some of the first batch
};

struct check_answer {
  bool verified = false;
  std::optional<double> error;  ///< the largest of |result - reference| over the bound of each result
  std::optional<double> error_bound;
  std::optional<std::int64_t> checked;    ///< images
  std::optional<std::int64_t> differing;  ///< of these, images of another class than the reference's, beyond the bounds
  std::optional<std::int64_t> undecided;  ///< of these, images whose two best classes are within the bounds
  std::string method;                     ///< `all` or `sampled`
  std::string message;
  std::string dispatch;  ///< as in verify_answer
};

struct time_request : session_request {
  std::optional<std::int64_t> step;  ///< of the level `layer`
  double seconds = 0;
};

struct evaluate_request {
  std::int64_t session = 0;
};

struct evaluate_answer {
  std::int64_t images = 0;
  std::int64_t correct = 0;
  std::vector<std::int64_t> predictions;                     ///< the class of each image; empty: not told
  std::optional<double> seconds;                             ///< from bytes in the host's memory to classes there
  std::optional<double> loss = std::nullopt;                 ///< of a training: the mean of all images
  std::optional<std::string> weights_sha256 = std::nullopt;  ///< of a training: of all weights as they are now
};

/// Some steps of a training.
struct advance_request {
  std::int64_t session = 0;
  std::optional<std::int64_t> steps;  ///< at most so many
  std::optional<double> seconds;      ///< about so long
};

/// What the steps of a request did, and where the training is now. Sums are those of the epoch that they belong to.
struct advance_answer {
  std::int64_t steps = 0;  ///< of this request
  std::int64_t epoch = 1;  ///< that they belong to, from 1 up
  std::int64_t step = 0;   ///< steps of this epoch so far
  bool epoch_done = false;
  std::int64_t images = 0;     ///< of this epoch so far
  std::optional<double> loss;  ///< the mean of these images, each at its own step; absent if it is no finite number
  std::int64_t correct = 0;    ///< of these images
  double time = 0;             ///< seconds of this request's steps, by the clock that `open` named
  double wall = 0;
  std::optional<double> clock_mhz;
  std::optional<double> energy_j;
  std::optional<double> temperature_c;
  std::vector<std::string> throttle;
};

struct save_request {
  std::int64_t session = 0;
  std::string path;
  bool weights_only = false;  ///< the weights alone, as `prumo infer` takes them
  std::string note;           ///< a text that `load` gives back; the front-end's own
};

struct save_answer {
  std::string sha256;  ///< of the file
};

struct load_request {
  std::int64_t session = 0;
  std::string path;
  bool allow_mixed = false;  ///< whether another build, device or way may have written it
};

/// Where a training is that goes on.
struct load_answer {
  std::int64_t epoch = 1;  ///< that the next step belongs to, from 1 up
  std::int64_t step = 0;   ///< steps of this epoch so far
  std::string note;
};

struct close_request {
  std::int64_t session = 0;
};

}  // namespace prumo::protocol
