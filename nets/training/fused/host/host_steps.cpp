// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compilers of device code do not see this, because nvcc refuses vectors in functions that are for the device, too.
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#define PRUMO_STEP_FUNCTION inline
#include "fused/step_launches.hpp"
#include "host_dense.hpp"
#include "host_shared.hpp"
#include "host_windows.hpp"
#include <prumo/detail/host/meeting_threads.hpp>

namespace prumo::nets {

/// The threads of a launch of whole steps wait for each other.
struct thread_meeting {
  bool has_others;

  void operator()() const {
    if (has_others) prumo::detail::meet_threads();
  }
};

template <class C>
void run_host_steps(const step_data<C>& data, step_part part, step_league league, unsigned char* scratch) {
  const host_step_team team;
  const step_body<host_step_team, C> body(team, data, step_scratch<C>(scratch));
  if (part == step_part::all && data.table->batch == 1) {
    run_steps<true>(body, part, league, no_meeting{});
  } else {
    run_steps<false>(body, part, league, thread_meeting{league.size > 1});
  }
}

template void run_host_steps<float>(const step_data<float>&, step_part, step_league, unsigned char*);
template void run_host_steps<double>(const step_data<double>&, step_part, step_league, unsigned char*);

}  // namespace prumo::nets

#endif
