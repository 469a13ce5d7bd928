// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/device/announced_kernel.hpp>
#include <prumo/detail/host/host_launch.hpp>
#include <prumo/detail/launch.hpp>

namespace prumo::detail {

template <class Exec>
void launch_on_host(const Exec& instance, const std::string& label, const host_blocks& blocks, const host_work& work) {
  const int threads = threads_for_blocks(instance, work, blocks.count);
  if (threads == 1) {
    const announced_kernel announced(instance, label);
    blocks.run(blocks.kernel, 0, blocks.count);
    return;
  }
  using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
  const std::int64_t shares = std::min<std::int64_t>(threads, blocks.count);
  launch_by_policy(label, policy_type(instance, 0, shares), share_of_blocks{blocks, shares});
}

#define PRUMO_DEFINE_HOST_LAUNCH(Space) \
  template void launch_on_host(const Space&, const std::string&, const host_blocks&, const host_work&);
PRUMO_IF_SERIAL(PRUMO_DEFINE_HOST_LAUNCH(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_HOST_LAUNCH(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_HOST_LAUNCH(Kokkos::Threads))

}  // namespace prumo::detail
