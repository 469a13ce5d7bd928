// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/host_threads.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace prumo::cases {
namespace {

using host_space = Kokkos::DefaultHostExecutionSpace;
using call = std::function<void(std::size_t)>;

/// Whether this thread works for run_on_threads(), whose work must not be shared once more.
thread_local bool is_sharing = false;

struct each {
  const call* function;
  void operator()(std::size_t thread) const {
    const bool before = std::exchange(is_sharing, true);
    (*function)(thread);
    is_sharing = before;
  }
};

}  // namespace

std::size_t threads_for(std::int64_t pieces) {
  if (is_sharing) return 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(pieces, 1, concurrency_of(host_space())));
}

void run_on_threads(std::size_t threads, const call& function) {
  if (threads <= 1) return function(0);
  Kokkos::parallel_for("prumo::case::share", Kokkos::RangePolicy<host_space>(0, threads), each{&function});
  host_space().fence("prumo::case::share");
}

void share_pieces(std::int64_t pieces, const std::function<void(std::int64_t)>& function) {
  std::atomic<std::int64_t> next{0};
  run_on_threads(threads_for(pieces), [&](std::size_t) {
    for (std::int64_t piece = next++; piece < pieces; piece = next++) function(piece);
  });
}

}  // namespace prumo::cases
