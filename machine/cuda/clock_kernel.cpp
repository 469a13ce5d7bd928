// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clock_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

namespace prumo::machine::cuda {

namespace {

struct clock_reading {
  long long cycles;
  long long nanoseconds;
};

__device__ long long nanoseconds_now() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// The moment at which the timer advances. On some devices it does so in steps of a microsecond and more.
__device__ long long next_tick() {
  const long long before = nanoseconds_now();
  long long now = before;
  while (now == before) now = nanoseconds_now();
  return now;
}

/// A thousand operations in independent chains. Their values neither repeat nor leave their range, because constant
/// data would draw less power.
__device__ void work(float (&chains)[8], float parameter) {
  for (int i = 0; i < 128; ++i) {
    for (float& x : chains) x = fmaf(x, x, parameter);
  }
}

__device__ void work(unsigned (&chains)[8], unsigned parameter) {
  for (int i = 0; i < 128; ++i) {
    for (unsigned& x : chains) x = (x ^ (x >> 7)) + parameter;
  }
}

template <class T>
__global__ void keep_busy(clock_reading* readings, long long settling, long long measuring, T parameter) {
  T chains[8];
  for (int i = 0; i < 8; ++i) {
    chains[i] =
        static_cast<T>(0.25f + 0.0003f * static_cast<float>(threadIdx.x)) + static_cast<T>(i) / static_cast<T>(16);
  }
  const long long start = nanoseconds_now();
  while (nanoseconds_now() - start < settling) work(chains, parameter);

  const long long first_tick = next_tick();
  const long long first_cycle = clock64();
  while (nanoseconds_now() - first_tick < measuring) work(chains, parameter);
  const long long last_tick = next_tick();
  const long long last_cycle = clock64();

  T sum = T(0);
  for (int i = 0; i < 8; ++i) sum += chains[i];
  if (threadIdx.x == 0) {
    // The compiler keeps the work because the sum is used. In a measurement the comparison is never true.
    const bool never = last_tick == first_tick && sum == parameter;
    readings[blockIdx.x] = {never ? 0 : last_cycle - first_cycle, last_tick - first_tick};
  }
}

template <class T>
bool launch(const Kokkos::Cuda& instance, clock_reading* readings, int blocks, std::chrono::nanoseconds settling,
            std::chrono::nanoseconds measuring, T parameter) {
  constexpr int threads = 512;
  keep_busy<T><<<static_cast<unsigned>(blocks), threads, 0, instance.cuda_stream()>>>(
      readings, static_cast<long long>(settling.count()), static_cast<long long>(measuring.count()), parameter);
  return cudaGetLastError() == cudaSuccess;
}

}  // namespace

std::optional<double> measure_clock(const Kokkos::Cuda& instance, clock_load load, std::chrono::milliseconds settling,
                                    std::chrono::milliseconds measuring, const std::function<void()>& meanwhile) {
  const int blocks = std::max(instance.cuda_device_prop().multiProcessorCount, 1) * 2;
  const Kokkos::View<clock_reading*, Kokkos::CudaSpace> readings(
      Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::machine::clock_readings"),
      static_cast<std::size_t>(blocks));
  instance.fence("prumo::machine::measure_clock");
  // x^2 - 1.9 wanders through [-1.9, 1.9] without a period.
  const bool launched = load == clock_load::vector
                            ? launch(instance, readings.data(), blocks, settling, measuring, -1.9f)
                            : launch(instance, readings.data(), blocks, settling, measuring, 0x9e3779b9u);
  if (!launched) return std::nullopt;
  std::this_thread::sleep_for(settling + measuring / 2);
  meanwhile();
  const auto copies = Kokkos::create_mirror_view(readings);
  Kokkos::deep_copy(instance, copies, readings);
  instance.fence("prumo::machine::measure_clock");

  std::vector<double> clocks;
  for (std::size_t i = 0; i < copies.extent(0); ++i) {
    const clock_reading& reading = copies(i);
    if (reading.nanoseconds <= 0 || reading.cycles <= 0) continue;
    clocks.push_back(1e3 * static_cast<double>(reading.cycles) / static_cast<double>(reading.nanoseconds));
  }
  if (clocks.empty()) return std::nullopt;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

std::optional<int> binary_version() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, keep_busy<float>) != cudaSuccess) {
    cudaGetLastError();  // clears the error, which a later call would report otherwise
    return std::nullopt;
  }
  return attributes.binaryVersion;
}

}  // namespace prumo::machine::cuda
