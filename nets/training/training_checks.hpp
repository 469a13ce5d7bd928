// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a trainer refuses.

#include "step_way.hpp"
#include <prumo/context_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prumo::nets {

inline constexpr std::string_view trainer_name = "prumo::nets::trainer";

/// Throws argument_error with the trainer's name.
[[noreturn]] void throw_trainer_argument(const std::string& message);

void check_type(dtype type);
void check_rate(double rate);

/// Checks the options, and that the set fits the net. Returns the images of the set.
std::int64_t checked_images(const forward_plan& plan, const training_options& options,
                            std::span<const std::uint8_t> pixels, std::span<const std::uint8_t> labels);

/// The same for arrays of numbers and targets. Returns the images of the set.
std::int64_t checked_numbers(const instance_ref& space, const forward_plan& plan, const training_options& options,
                             const array_ref& x, const array_ref& targets);

void check_weights(const char* what, std::size_t count, std::int64_t expected);
void check_progress(const training_task& task, const training_progress& progress);

}  // namespace prumo::nets
