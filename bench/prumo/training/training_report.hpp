// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// The trainings in a document as text for people: a row for each, and the time to each accuracy.
/// \param with_plots whether curves of loss and accuracy follow
[[nodiscard]] std::string training_report(const nlohmann::json& document, bool with_plots, const text_style& style);

/// Trainings that others published, from documents of published figures: who, on what, how long, how accurate.
[[nodiscard]] std::string published_trainings(const nlohmann::json& document, const text_style& style);

}  // namespace prumo::bench
