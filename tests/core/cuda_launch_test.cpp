// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that CUDA may bring to the processors before those before them have ended: they must still see all that came
// before on the stream, whoever launched it, and what comes after must see them, called one by one and as a graph.

#include "own_instance.hpp"
#include <prumo/detail/device/owned_handle.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/ordered_teams.hpp>
#include <prumo/detail/teams/published_values.hpp>
#include <prumo/error.hpp>
#include <prumo/transform.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

namespace prumo {
namespace {

using vector = Kokkos::View<float*, Kokkos::CudaSpace>;

/// Long enough that a kernel which does not wait reads what was there before.
KOKKOS_FUNCTION void spin() {
  KOKKOS_IF_ON_DEVICE((const long long begin = clock64(); while (clock64() - begin < 60'000){}))
}

/// A kernel of Kokkos' own that increases all elements when it has let time pass.
struct slow_increment {
  vector values;
  KOKKOS_FUNCTION void operator()(int index) const {
    spin();
    values(index) += 1;
  }
};

/// The same by a kernel that lets the next one in before it has done its work, as those of vendors' libraries do.
__global__ void increment_after_letting_in(float* values, int count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  spin();
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) values[index] += 1;
}

/// The same as a formula of prumo's.
struct slow_successor {
  KOKKOS_FUNCTION float operator()(float value) const {
    spin();
    return value + 1;
  }
};

struct constant {
  float value;
  KOKKOS_FUNCTION float operator()() const { return value; }
};

struct doubled {
  KOKKOS_FUNCTION float operator()(float value) const { return 2 * value; }
};

struct added {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};

struct slow_copy {
  vector from, to;
  KOKKOS_FUNCTION void operator()(int index) const {
    spin();
    to(index) = from(index);
  }
};

/// One team turns an array around in its scratch memory.
struct reversing_kernel {
  static constexpr int most_threads = 1024;
  static constexpr int resident_teams = 1;
  int threads;
  int elements;
  const float* source;
  float* results;

  int team_threads() const { return threads; }
  std::int64_t blocks() const { return 1; }
  int blocks_per_team() const { return 1; }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(elements) * sizeof(float); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    float* const scratch = detail::team_scratch_array<float>(member, elements);
    for (int i = member.team_rank(); i < elements; i += threads) scratch[i] = source[i];
    member.team_barrier();
    for (int i = member.team_rank(); i < elements; i += threads) results[i] = scratch[elements - 1 - i];
  }
};

/// Each team adds one to what the team before it found, for which it waits. Ranks that do not follow the order in which
/// teams start would make it wait for ever, because there are many times more teams than run at the same time.
struct chained_kernel {
  static constexpr int most_threads = 64;
  static constexpr int resident_teams = 1;
  std::int64_t teams;
  unsigned long long* found;
  unsigned long long* result;

  int team_threads() const { return most_threads; }
  std::int64_t blocks() const { return teams; }
  std::int64_t blocks_per_team() const { return 1; }
  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (member.team_rank() != 0) return;
    const int rank = member.league_rank();
    unsigned long long before = 1;
    if (rank > 0) {
      do {
        before = detail::load_shared(found + rank - 1);
      } while (before == 0);
      found[rank - 1] = 0;
    }
    if (rank + 1 < member.league_size()) {
      detail::store_shared(found + rank, before + 1);
    } else {
      *result = before;
    }
  }
};

/// A team's scratch memory for two types, of which the second one must not begin where the first one ends.
struct alignas(32) aligned_values {
  double values[4];
};
struct aligned_scratch_kernel {
  static constexpr int most_threads = 32;
  static constexpr int resident_teams = 1;
  unsigned long long* places;

  int team_threads() const { return most_threads; }
  std::int64_t blocks() const { return 1; }
  std::int64_t blocks_per_team() const { return 1; }
  std::size_t scratch_bytes() const { return 2 * sizeof(aligned_values); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const auto* const flag = detail::team_scratch_array<int>(member, 1);
    const auto* const values = detail::team_scratch_array<aligned_values>(member, 1);
    if (member.team_rank() != 0) return;
    places[0] = reinterpret_cast<unsigned long long>(flag);
    places[1] = reinterpret_cast<unsigned long long>(values);
  }
};

/// What only kernels have that CUDA's runtime launches.
constexpr bool by_cuda_runtime = detail::launches_by_cuda_runtime<Kokkos::Cuda>;

class cuda_launch : public testing::Test {
 protected:
  static constexpr int count = 1000;
  static constexpr int rounds = 20;

  void increment_slowly() {
    Kokkos::parallel_for("increment", Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, count), slow_increment{x});
  }

  void increment_after_letting_in() {
    prumo::increment_after_letting_in<<<8, 128, 0, instance.cuda_stream()>>>(x.data(), count);
  }

  void reverse(const vector& from, const vector& to) {
    detail::launch_teams(instance, "reverse", reversing_kernel{128, count, from.data(), to.data()});
  }

  /// All elements, which must be equal.
  static float common_value(const vector& values) {
    const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, values);
    for (int index = 1; index < count; ++index) EXPECT_EQ(copy(index), copy(0)) << "at " << index;
    return copy(0);
  }

  /// A kernel of threads and one of teams after an increment of x each.
  template <class Increment>
  void expect_seen(const Increment& increment) {
    for (int round = 1; round <= rounds; ++round) {
      increment();
      transform(ctx, doubled{}, x, y);
      increment();
      reverse(x, z);
      ctx.fence();
      ASSERT_EQ(common_value(y), 2 * (2 * round - 1));
      ASSERT_EQ(common_value(z), 2 * round);
    }
  }

  Kokkos::Cuda instance = tests::make_own_instance<Kokkos::Cuda>();
  context<Kokkos::Cuda> ctx{instance};
  vector x{"x", count}, y{"y", count}, z{"z", count};
};

TEST_F(cuda_launch, sees_a_kernel_of_another_library) {
  expect_seen([this] { increment_slowly(); });
}

TEST_F(cuda_launch, sees_a_kernel_that_lets_it_in_early) {
  expect_seen([this] { increment_after_letting_in(); });
}

TEST_F(cuda_launch, sees_kernels_before_the_one_before) {
  for (int round = 1; round <= rounds; ++round) {
    increment_after_letting_in();
    transform(ctx, constant{static_cast<float>(round)}, z);  // has nothing to do with x
    transform(ctx, added{}, x, z, y);
    ctx.fence();
    ASSERT_EQ(common_value(y), 2 * round);
  }
}

TEST_F(cuda_launch, is_seen_by_what_comes_after) {
  for (int round = 1; round <= rounds; ++round) {
    transform(ctx, slow_successor{}, x, x);
    Kokkos::parallel_for("copy", Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, count), slow_copy{x, y});
    transform(ctx, slow_successor{}, x, x);
    ASSERT_EQ(cudaMemcpyAsync(z.data(), x.data(), count * sizeof(float), cudaMemcpyDefault, instance.cuda_stream()),
              cudaSuccess);
    ctx.fence();
    ASSERT_EQ(common_value(y), 2 * round - 1);
    ASSERT_EQ(common_value(z), 2 * round);
  }
}

TEST_F(cuda_launch, does_not_overwrite_what_is_still_read) {
  for (int round = 1; round <= rounds; ++round) {
    transform(ctx, constant{static_cast<float>(round)}, x);
    transform(ctx, slow_successor{}, x, y);
    transform(ctx, constant{-1}, x);
    ctx.fence();
    ASSERT_EQ(common_value(y), round + 1);
    ASSERT_EQ(common_value(x), -1);
  }
}

/// Two streams that part and meet, kernels of prumo and of Kokkos, a copy.
TEST_F(cuda_launch, keeps_its_order_in_a_graph) {
  const Kokkos::Cuda second = tests::make_own_instance<Kokkos::Cuda>();
  context<Kokkos::Cuda> second_ctx(second);
  const vector side("side", count), copied("copied", count), after("after", count);
  cudaEvent_t parted{}, met{};
  ASSERT_EQ(cudaEventCreateWithFlags(&parted, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&met, cudaEventDisableTiming), cudaSuccess);
  const auto enqueue = [&] {
    transform(ctx, slow_successor{}, x, x);
    cudaEventRecord(parted, instance.cuda_stream());
    cudaStreamWaitEvent(second.cuda_stream(), parted);
    transform(second_ctx, slow_successor{}, x, side);
    cudaEventRecord(met, second.cuda_stream());
    transform(ctx, doubled{}, x, y);
    cudaStreamWaitEvent(instance.cuda_stream(), met);
    transform(ctx, added{}, y, side, z);
    cudaMemcpyAsync(copied.data(), z.data(), count * sizeof(float), cudaMemcpyDeviceToDevice, instance.cuda_stream());
    reverse(copied, z);
    Kokkos::parallel_for("copy", Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, count), slow_copy{z, y});
  };
  enqueue();
  instance.fence();
  ASSERT_EQ(cudaStreamBeginCapture(instance.cuda_stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  enqueue();
  cudaGraph_t graph{};
  ASSERT_EQ(cudaStreamEndCapture(instance.cuda_stream(), &graph), cudaSuccess);
  cudaGraphExec_t executable{};
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int round = 2; round <= rounds; ++round) {
    ASSERT_EQ(cudaGraphLaunch(executable, instance.cuda_stream()), cudaSuccess);
    transform(ctx, doubled{}, y, after);
    ctx.fence();
    ASSERT_EQ(common_value(y), 2 * round + (round + 1));
    ASSERT_EQ(common_value(after), 2 * (2 * round + (round + 1)));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(parted);
  cudaEventDestroy(met);
}

TEST_F(cuda_launch, leaves_the_current_device_as_it_was) {
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "there is one device only";
  const int other = (instance.cuda_device() + 1) % devices;
  int before = -1;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(other), cudaSuccess);
  transform(ctx, constant{5}, x);
  reverse(x, z);
  int after = -1;
  EXPECT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(after, other);
  ASSERT_EQ(cudaSetDevice(before), cudaSuccess);
  ctx.fence();
  EXPECT_EQ(common_value(z), 5);
}

TEST_F(cuda_launch, gives_each_team_the_place_of_its_start_as_rank) {
  constexpr std::int64_t teams = 20000;
  const Kokkos::View<unsigned long long*, Kokkos::CudaSpace> found("found", teams), result("result", 1);
  const Kokkos::View<unsigned, Kokkos::CudaSpace> counter("counter");
  Kokkos::fence();
  const detail::ticketed_kernel<chained_kernel> kernel({teams, found.data(), result.data()}, counter.data());
  const auto counted = [&] {
    instance.fence();
    const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, result);
    Kokkos::deep_copy(result, 0);
    return copy(0);
  };
  // The counter is 0 again for the next kernel, and for each replay of a graph.
  for (int round = 0; round < 3; ++round) {
    detail::launch_teams(instance, "chained", kernel);
    ASSERT_EQ(counted(), teams);
  }
  ASSERT_EQ(cudaStreamBeginCapture(instance.cuda_stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  detail::launch_teams(instance, "chained", kernel);
  detail::launch_teams(instance, "chained", kernel);
  detail::owned_handle<cudaGraph_t, cudaGraphDestroy> graph;
  ASSERT_EQ(cudaStreamEndCapture(instance.cuda_stream(), graph.receive()), cudaSuccess);
  detail::owned_handle<cudaGraphExec_t, cudaGraphExecDestroy> executable;
  ASSERT_EQ(cudaGraphInstantiate(executable.receive(), graph, 0), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(cudaGraphLaunch(executable, instance.cuda_stream()), cudaSuccess);
    ASSERT_EQ(counted(), teams);
  }
  unsigned left = 1;
  ASSERT_EQ(cudaMemcpy(&left, counter.data(), sizeof(left), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(left, 0u);
}

TEST_F(cuda_launch, aligns_the_scratch_of_teams) {
  const Kokkos::View<unsigned long long*, Kokkos::CudaSpace> places("places", 2);
  detail::launch_teams(instance, "aligned", aligned_scratch_kernel{places.data()});
  instance.fence();
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, places);
  EXPECT_EQ(copy(0) % alignof(int), 0);
  EXPECT_EQ(copy(1) % alignof(aligned_values), 0);
  EXPECT_GE(copy(1), copy(0) + sizeof(int));
}

TEST_F(cuda_launch, gives_teams_more_than_48_kilobytes) {
  if (!by_cuda_runtime) GTEST_SKIP() << "Kokkos gives less";
  constexpr int elements = 16 * 1024;
  const vector numbers("numbers", elements), results("results", elements);
  const auto host_numbers = Kokkos::create_mirror_view(numbers);
  for (int i = 0; i < elements; ++i) host_numbers(i) = static_cast<float>(i);
  Kokkos::deep_copy(numbers, host_numbers);
  detail::launch_teams(instance, "reverse", reversing_kernel{128, elements, numbers.data(), results.data()});
  instance.fence();
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, results);
  for (int i = 0; i < elements; ++i) ASSERT_EQ(copy(i), static_cast<float>(elements - 1 - i));
}

TEST_F(cuda_launch, tells_what_cuda_refuses) {
  if (!by_cuda_runtime) GTEST_SKIP() << "Kokkos looks at the size of teams before CUDA does";
  EXPECT_THAT(
      [&] { detail::launch_teams(instance, "prumo::too_large", reversing_kernel{2048, 1, x.data(), y.data()}); },
      testing::ThrowsMessage<backend_error>(
          testing::AllOf(testing::HasSubstr("prumo::too_large: cudaLaunchKernelExC for 1 blocks of 2048 threads"),
                         testing::HasSubstr("cudaErrorInvalid"))));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  transform(ctx, constant{3}, x);
  ctx.fence();
  EXPECT_EQ(common_value(x), 3);
}

}  // namespace
}  // namespace prumo
