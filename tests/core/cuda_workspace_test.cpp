// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A workspace grows in the order of its own stream: it waits for nobody else's work, and not while it is captured.

#include "own_instance.hpp"
#include <prumo/context.hpp>
#include <prumo/detail/device/owned_handle.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

namespace prumo {
namespace {

/// Runs until the host says so; not for ever, so that a failing test ends.
__global__ void run_until(const volatile int* said) {
  long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*said == 0 && now - begin < 5'000'000'000);
}

__global__ void write_all(unsigned char* bytes, std::size_t count, unsigned char value) {
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count;
       at += std::size_t{gridDim.x} * blockDim.x) {
    bytes[at] = value;
  }
}

class cuda_workspace : public testing::Test {
 protected:
  void SetUp() override {
    int supported = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, instance.cuda_device()), cudaSuccess);
    if (supported == 0) GTEST_SKIP() << "this device has no memory pools";
  }

  Kokkos::Cuda instance = tests::make_own_instance<Kokkos::Cuda>();
  Kokkos::Cuda other = tests::make_own_instance<Kokkos::Cuda>();
  context<Kokkos::Cuda> ctx{instance};
};

TEST_F(cuda_workspace, grows_while_other_streams_work) {
  {
    context<Kokkos::Cuda> first(instance);  // makes the pool
    first.workspace(1 << 20);
  }
  instance.fence();
  int* said = nullptr;
  ASSERT_EQ(cudaMallocHost(&said, sizeof(int)), cudaSuccess);
  *said = 0;
  run_until<<<1, 1, 0, other.cuda_stream()>>>(said);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  for (const std::size_t bytes : {std::size_t{1} << 16, std::size_t{1} << 22, std::size_t{1} << 26}) {
    void* const memory = ctx.workspace(bytes);
    EXPECT_EQ(ctx.workspace_bytes(), bytes);
    write_all<<<64, 256, 0, instance.cuda_stream()>>>(static_cast<unsigned char*>(memory), bytes, 1);
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamQuery(other.cuda_stream()), cudaErrorNotReady);
  *static_cast<volatile int*>(said) = 1;
  instance.fence();
  other.fence();
  ASSERT_EQ(cudaFreeHost(said), cudaSuccess);
}

TEST_F(cuda_workspace, does_not_grow_while_it_is_captured) {
  void* const before = ctx.workspace(1000);
  instance.fence();
  ASSERT_EQ(cudaStreamBeginCapture(instance.cuda_stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(ctx.workspace(1000), before);
  EXPECT_THAT([&] { ctx.workspace(2000); },
              testing::ThrowsMessage<memory_error>(testing::AllOf(
                  testing::HasSubstr("a workspace of 2000 bytes in Cuda cannot be had"),
                  testing::HasSubstr("captured in a graph; call the operation once before it is captured"))));
  detail::owned_handle<cudaGraph_t, cudaGraphDestroy> graph;
  EXPECT_EQ(cudaStreamEndCapture(instance.cuda_stream(), graph.receive()), cudaSuccess);
  EXPECT_EQ(ctx.workspace_bytes(), 1000u) << "what was there stays";
  ctx.workspace(2000);
  EXPECT_EQ(ctx.workspace_bytes(), 2000u);
}

}  // namespace
}  // namespace prumo
