// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/detail/host/host_work.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace prumo::detail {

/// The blocks of a kernel on a host. Only `run` knows the kernel's type, so that the launch is compiled once for each
/// space and not for each kernel.
struct host_blocks {
  /// Runs the blocks begin ... end - 1.
  void (*run)(const void* kernel, std::int64_t begin, std::int64_t end);
  const void* kernel;  ///< lives until the launch returns
  std::int64_t count;
};

/// A thread's share of a kernel's blocks. The shares follow each other and differ by one block at most, so that each
/// thread finds what it wrote in the call before in its own cache.
struct share_of_blocks {
  host_blocks blocks;
  std::int64_t threads;

  void operator()(std::int64_t thread) const { blocks.run(blocks.kernel, first_of(thread), first_of(thread + 1)); }
  std::int64_t first_of(std::int64_t thread) const {
    return blocks.count / threads * thread + std::min(thread, blocks.count % threads);
  }
};

/// Runs the blocks on the threads of the instance, or on the calling thread if more do not pay. Instances of the host's
/// spaces return from a launch when the work is done, so both keep their order. Defined for the spaces of
/// PRUMO_FOR_EACH_SPACE that are a host's.
/// \param work what all blocks take one thread
template <class Exec>
void launch_on_host(const Exec& instance, const std::string& label, const host_blocks& blocks, const host_work& work);

}  // namespace prumo::detail
