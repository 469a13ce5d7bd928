// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Work of references that the threads of the host share.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace prumo::cases {

/// How many threads share `pieces` of work: at least one, and one within work that is shared already.
std::size_t threads_for(std::int64_t pieces);

/// Calls `function` on `threads` threads, with the number of each, and waits for them. They are the threads of the
/// host's own execution space, because these are bound to cores already: threads started here would all inherit the
/// calling thread's single core. A single thread is the calling one.
void run_on_threads(std::size_t threads, const std::function<void(std::size_t)>& function);

/// Calls `function` with each number below `pieces`, shared out among the threads.
void share_pieces(std::int64_t pieces, const std::function<void(std::int64_t)>& function);

}  // namespace prumo::cases
