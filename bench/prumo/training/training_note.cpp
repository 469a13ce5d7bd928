// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/training_note.hpp"

#include "results/result_fields.hpp"
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace prumo::bench {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  refuse_file(name,
              fmt::format("does not tell what its epochs took, though it has the digest of its content: {}; begin "
                          "anew without --resume",
                          what));
}

double amount(const json& entry, const char* field_name, std::string_view name) {
  const json& value = entry.at(field_name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    refuse(name, fmt::format("'{}' is {}", field_name, value.dump().substr(0, 40)));
  }
  return value.get<double>();
}

std::optional<double> optional_amount(const json& entry, const char* field_name, std::string_view name) {
  return entry.at(field_name).is_null() ? std::nullopt : std::optional(amount(entry, field_name, name));
}

epoch_record epoch_of(const json& entry, std::string_view name) {
  epoch_record epoch;
  const double number = amount(entry, "epoch", name);
  if (number != std::floor(number) || number < 1 || number > std::numeric_limits<std::int32_t>::max()) {
    refuse(name, "an epoch has no number");
  }
  epoch.epoch = static_cast<std::int64_t>(number);
  epoch.train_s = amount(entry, "train_s", name);
  epoch.wall_s = amount(entry, "wall_s", name);
  epoch.total_s = amount(entry, "total_s", name);
  epoch.train_loss = amount(entry, "train_loss", name);
  epoch.train_accuracy = amount(entry, "train_accuracy", name);
  epoch.test_loss = optional_amount(entry, "test_loss", name);
  epoch.test_accuracy = amount(entry, "test_accuracy", name);
  epoch.energy_j = optional_amount(entry, "energy_j", name);
  return epoch;
}

}  // namespace

json epoch_entry(const epoch_record& epoch) {
  return {{"epoch", epoch.epoch},
          {"train_s", epoch.train_s},
          {"wall_s", epoch.wall_s},
          {"total_s", epoch.total_s},
          {"train_loss", epoch.train_loss},
          {"train_accuracy", epoch.train_accuracy},
          {"test_loss", or_null(epoch.test_loss)},
          {"test_accuracy", epoch.test_accuracy},
          {"energy_j", or_null(epoch.energy_j)}};
}

std::string training_note_text(const training_note& note) {
  json epochs = json::array();
  for (const epoch_record& it : note.epochs) epochs.push_back(epoch_entry(it));
  const json text = {{"epochs", std::move(epochs)},       {"current", epoch_entry(note.current)},
                     {"knows_energy", note.knows_energy}, {"test_seconds", note.test_seconds},
                     {"accuracy", note.accuracy},         {"weights_sha256", note.weights_sha256}};
  return text.dump();
}

training_note parse_training_note(std::string_view text, std::string_view name) {
  try {
    const json found = json::parse(text);
    training_note note;
    for (const json& entry : found.at("epochs")) {
      note.epochs.push_back(epoch_of(entry, name));
      if (std::cmp_not_equal(note.epochs.back().epoch, note.epochs.size())) refuse(name, "its epochs are not in order");
    }
    note.current = epoch_of(found.at("current"), name);
    note.knows_energy = found.at("knows_energy").get<bool>();
    note.test_seconds = amount(found, "test_seconds", name);
    note.accuracy = found.at("accuracy");
    note.weights_sha256 = found.at("weights_sha256").get<std::string>();
    return note;
  } catch (const json::exception& error) {
    refuse(name, error.what());
  }
}

}  // namespace prumo::bench
