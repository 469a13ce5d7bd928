// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// sum and sum_rows by the name that they had before they were joined by the other reductions.

#include <prumo/reduction.hpp>
