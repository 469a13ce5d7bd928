// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a step of layers needs beside the operations.

#include "step_way.hpp"
#include <prumo/context_ref.hpp>

#include <cstdint>

namespace prumo::nets {

/// Enqueues the begin of a step: chooses its images, and counts it.
/// \param index i64 [images of the step]: the images of the set
/// \param labels i32 [images of the step]: their labels; not written where the task takes numbers
void begin_step_of_layers(instance_ref space, const training_task& task, const array_ref& index,
                          const array_ref& labels);

/// Enqueues that half of a number is added to the sum of the losses.
/// \param number of rank 0, f32 or f64
void add_half_to_loss(instance_ref space, const training_task& task, const array_ref& number);

/// Enqueues dx = y (dy - sum over the classes of y dy), row by row: the gradient before a softmax with the results y.
/// All are [images x classes] without gaps, of f32 or f64. dx may be dy.
void softmax_backward(instance_ref space, const array_ref& y, const array_ref& dy, const array_ref& dx);

}  // namespace prumo::nets
