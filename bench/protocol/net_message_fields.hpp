// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The fields of the messages about nets; message_fields.hpp tells what `fields` is.

#include <prumo/protocol/net_messages.hpp>

namespace prumo::protocol::detail {

void list_fields(auto& fields, is<training_setup> auto& it) {
  fields.required("test_images", it.test_images);
  fields.required("test_labels", it.test_labels);
  fields.required("loss", it.loss, filled());
  fields.required("optimizer", it.optimizer, filled());
  fields.required("learning_rate", it.learning_rate, above(0));
  fields.optional("momentum", it.momentum, between(0, 1));
  fields.optional("seed", it.seed, at_least(0));
  fields.optional("shuffle", it.shuffle);
}

void list_fields(auto& fields, is<open_request> auto& it) {
  fields.required("device", it.device);
  fields.required("workload", it.workload);
  fields.required("net", it.net, object());
  fields.required("dtype", it.dtype);
  fields.required("batch", it.batch, at_least(1));
  fields.required("images", it.images);
  fields.required("labels", it.labels);
  fields.required("weights", it.weights);
  fields.either("data", it.transferred, "resident", "transferred");
  fields.optional("host_memory", it.host_memory, one_of({"pinned", "pageable"}));
  fields.optional("compute_mode", it.compute_mode);
  fields.optional("implementation", it.implementation);
  fields.omitted("training", it.training);
}

void list_fields(auto& fields, is<step_description> auto& it) {
  fields.required("name", it.name, filled());
  fields.required("layers", it.layers);
  fields.optional("model", it.model);
}

void list_fields(auto& fields, is<open_answer> auto& it) {
  fields.required("session", it.session, at_least(0));
  fields.required("implementation", it.implementation, filled());
  fields.required("clock", it.clock, one_of({"wall", "device"}));
  fields.optional("dispatch", it.dispatch, one_of({"single", "recorded"}));
  fields.required("images", it.images, at_least(1));
  fields.required("classes", it.classes, at_least(1));
  fields.required("parameters", it.parameters, at_least(0));
  fields.optional("footprint_bytes", it.footprint_bytes, at_least(0));
  fields.optional("model", it.model);
  fields.required("steps", it.steps);
  fields.optional("load_s", it.load_s, at_least(0));
  fields.optional("place_s", it.place_s, at_least(0));
  fields.omitted("steps_per_epoch", it.steps_per_epoch, at_least(1));
}

void list_session_fields(auto& fields, auto& it) {
  fields.required("session", it.session, at_least(0));
  fields.either("level", it.layer, "net", "layer");
}

void list_fields(auto& fields, is<check_request> auto& it) {
  list_session_fields(fields, it);
  fields.optional("budget", it.budget, above(0));
  fields.omitted("images", it.images, at_least(0));
}

void list_fields(auto& fields, is<check_answer> auto& it) {
  fields.required("verified", it.verified);
  fields.optional("error", it.error, at_least(0));
  fields.optional("error_bound", it.error_bound, at_least(0));
  fields.optional("checked", it.checked, at_least(0));
  fields.optional("differing", it.differing, at_least(0));
  fields.optional("undecided", it.undecided, at_least(0));
  fields.optional("method", it.method);
  fields.optional("message", it.message);
  fields.optional("dispatch", it.dispatch);
}

void list_fields(auto& fields, is<time_request> auto& it) {
  constexpr double an_hour = 3600;
  list_session_fields(fields, it);
  fields.omitted("step", it.step, at_least(0));
  fields.required("seconds", it.seconds, between(0, an_hour));
}

void list_fields(auto& fields, is<evaluate_request> auto& it) { fields.required("session", it.session, at_least(0)); }

void list_fields(auto& fields, is<evaluate_answer> auto& it) {
  fields.required("images", it.images, at_least(0));
  fields.required("correct", it.correct, at_least(0));
  fields.optional("predictions", it.predictions, at_least(0));
  fields.optional("seconds", it.seconds, at_least(0));
  fields.omitted("loss", it.loss, at_least(0));
  fields.omitted("weights_sha256", it.weights_sha256, filled());
}

void list_fields(auto& fields, is<advance_request> auto& it) {
  constexpr double an_hour = 3600;
  fields.required("session", it.session, at_least(0));
  fields.optional("steps", it.steps, at_least(1));
  fields.optional("seconds", it.seconds, between(0, an_hour));
}

void list_fields(auto& fields, is<advance_answer> auto& it) {
  fields.required("steps", it.steps, at_least(1));
  fields.required("epoch", it.epoch, at_least(1));
  fields.required("step", it.step, at_least(1));
  fields.required("epoch_done", it.epoch_done);
  fields.required("images", it.images, at_least(1));
  fields.optional("loss", it.loss, at_least(0));
  fields.required("correct", it.correct, at_least(0));
  fields.required("time", it.time, above(0));
  fields.required("wall", it.wall, above(0));
  fields.optional("clock_mhz", it.clock_mhz, at_least(0));
  fields.optional("energy_j", it.energy_j, at_least(0));
  fields.optional("temperature_c", it.temperature_c);
  fields.optional("throttle", it.throttle);
}

void list_fields(auto& fields, is<save_request> auto& it) {
  fields.required("session", it.session, at_least(0));
  fields.required("path", it.path, filled());
  fields.either("content", it.weights_only, "checkpoint", "weights");
  fields.optional("note", it.note);
}

void list_fields(auto& fields, is<save_answer> auto& it) { fields.required("sha256", it.sha256, filled()); }

void list_fields(auto& fields, is<load_request> auto& it) {
  fields.required("session", it.session, at_least(0));
  fields.required("path", it.path, filled());
  fields.optional("allow_mixed", it.allow_mixed);
}

void list_fields(auto& fields, is<load_answer> auto& it) {
  fields.required("epoch", it.epoch, at_least(1));
  fields.required("step", it.step, at_least(0));
  fields.optional("note", it.note);
}

void list_fields(auto& fields, is<close_request> auto& it) { fields.required("session", it.session, at_least(0)); }

}  // namespace prumo::protocol::detail
