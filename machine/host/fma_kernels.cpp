// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fma_kernels.hpp"

#include "processor.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace prumo::machine::host {

#if defined(__x86_64__) && defined(__GNUC__)

void integer_chain(std::int64_t rounds) {
  std::uint64_t value = 1;
  const std::uint64_t step = static_cast<std::uint64_t>(rounds) | 1;
  for (std::int64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(".rept 128\n\tadd %1, %0\n\t.endr" : "+r"(value) : "r"(step) : "cc");
  }
}

namespace {

// Twelve accumulators hide a latency of up to six cycles on two pipes. Two alternating multipliers keep the values
// bounded and changing. Constant operands would draw less power, and so run at a higher clock than real work.
#define PRUMO_TWELVE_ACCUMULATORS(constraint)                                                                     \
  constraint(a0), constraint(a1), constraint(a2), constraint(a3), constraint(a4), constraint(a5), constraint(a6), \
      constraint(a7), constraint(a8), constraint(a9), constraint(a10), constraint(a11)
#define PRUMO_AVX512_OPERAND(name) "+v"(name)
#define PRUMO_AVX2_OPERAND(name) "+x"(name)
#define PRUMO_FMA(accumulator) "vfmadd213ps %13, %12, %" accumulator "\n\t"
// clang-format off
#define PRUMO_TWELVE_FMA                                              \
  PRUMO_FMA("0") PRUMO_FMA("1") PRUMO_FMA("2") PRUMO_FMA("3")         \
  PRUMO_FMA("4") PRUMO_FMA("5") PRUMO_FMA("6") PRUMO_FMA("7")         \
  PRUMO_FMA("8") PRUMO_FMA("9") PRUMO_FMA("10") PRUMO_FMA("11")
// clang-format on

__attribute__((target("avx512f"), noinline)) void run_avx512(std::int64_t rounds) {
  const __m512 first = _mm512_set1_ps(0.7312345f);
  const __m512 second = _mm512_set1_ps(-1.1234567f);
  const __m512 added = _mm512_set1_ps(0.3141592f);
  __m512 a0 = _mm512_set1_ps(0.11f), a1 = _mm512_set1_ps(0.12f), a2 = _mm512_set1_ps(0.13f);
  __m512 a3 = _mm512_set1_ps(0.14f), a4 = _mm512_set1_ps(0.15f), a5 = _mm512_set1_ps(0.16f);
  __m512 a6 = _mm512_set1_ps(0.17f), a7 = _mm512_set1_ps(0.18f), a8 = _mm512_set1_ps(0.19f);
  __m512 a9 = _mm512_set1_ps(0.21f), a10 = _mm512_set1_ps(0.22f), a11 = _mm512_set1_ps(0.23f);
  for (std::int64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(PRUMO_TWELVE_FMA : PRUMO_TWELVE_ACCUMULATORS(PRUMO_AVX512_OPERAND) : "v"(first), "v"(added));
    __asm__ volatile(PRUMO_TWELVE_FMA : PRUMO_TWELVE_ACCUMULATORS(PRUMO_AVX512_OPERAND) : "v"(second), "v"(added));
  }
}

__attribute__((target("avx2,fma"), noinline)) void run_avx2(std::int64_t rounds) {
  const __m256 first = _mm256_set1_ps(0.7312345f);
  const __m256 second = _mm256_set1_ps(-1.1234567f);
  const __m256 added = _mm256_set1_ps(0.3141592f);
  __m256 a0 = _mm256_set1_ps(0.11f), a1 = _mm256_set1_ps(0.12f), a2 = _mm256_set1_ps(0.13f);
  __m256 a3 = _mm256_set1_ps(0.14f), a4 = _mm256_set1_ps(0.15f), a5 = _mm256_set1_ps(0.16f);
  __m256 a6 = _mm256_set1_ps(0.17f), a7 = _mm256_set1_ps(0.18f), a8 = _mm256_set1_ps(0.19f);
  __m256 a9 = _mm256_set1_ps(0.21f), a10 = _mm256_set1_ps(0.22f), a11 = _mm256_set1_ps(0.23f);
  for (std::int64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(PRUMO_TWELVE_FMA : PRUMO_TWELVE_ACCUMULATORS(PRUMO_AVX2_OPERAND) : "x"(first), "x"(added));
    __asm__ volatile(PRUMO_TWELVE_FMA : PRUMO_TWELVE_ACCUMULATORS(PRUMO_AVX2_OPERAND) : "x"(second), "x"(added));
  }
}

}  // namespace

std::vector<fma_kernel> fma_kernels(const std::vector<std::string>& instruction_sets) {
  std::vector<fma_kernel> kernels;
  if (has_instruction_set(instruction_sets, "avx512f")) kernels.push_back({"AVX-512", 512, 24, run_avx512});
  if (has_instruction_set(instruction_sets, "avx2") && has_instruction_set(instruction_sets, "fma")) {
    kernels.push_back({"AVX2", 256, 24, run_avx2});
  }
  return kernels;
}

#elif defined(__aarch64__) && defined(__GNUC__)

void integer_chain(std::int64_t rounds) {
  std::uint64_t value = 1;
  const std::uint64_t step = static_cast<std::uint64_t>(rounds) | 1;
  for (std::int64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(".rept 128\n\tadd %0, %0, %1\n\t.endr" : "+r"(value) : "r"(step));
  }
}

namespace {

// Twenty-four accumulators hide a latency of up to six cycles on four pipes. The product is added and subtracted in
// turn, so that values change and stay bounded.
#define PRUMO_FOR_24(step)                                                                                            \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11) step(12) step(13) \
      step(14) step(15) step(16) step(17) step(18) step(19) step(20) step(21) step(22) step(23)
#define PRUMO_VECTOR_CLOBBERS                                                                                         \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", \
      "v18", "v19", "v20", "v21", "v22", "v23", "v30", "v31"

void run_neon(std::int64_t rounds) {
#define PRUMO_NEON_ZERO(register) "movi v" #register ".4s, #0\n\t"
#define PRUMO_NEON_FMA(register) "fmla v" #register ".4s, v30.4s, v31.4s\n\t"
#define PRUMO_NEON_FMS(register) "fmls v" #register ".4s, v30.4s, v31.4s\n\t"
  // clang-format off
  __asm__ volatile(
      PRUMO_FOR_24(PRUMO_NEON_ZERO)
      "fmov v30.4s, #0.71875\n\t"
      "fmov v31.4s, #1.3125\n\t"
      "1:\n\t"
      PRUMO_FOR_24(PRUMO_NEON_FMA)
      PRUMO_FOR_24(PRUMO_NEON_FMS)
      "subs %0, %0, #1\n\t"
      "b.gt 1b\n\t"
      : "+r"(rounds) : : "cc", PRUMO_VECTOR_CLOBBERS);
  // clang-format on
}

#if defined(__ARM_FEATURE_SVE)
void run_sve(std::int64_t rounds) {
#define PRUMO_SVE_ZERO(register) "dup z" #register ".s, #0\n\t"
#define PRUMO_SVE_FMA(register) "fmla z" #register ".s, p0/m, z30.s, z31.s\n\t"
#define PRUMO_SVE_FMS(register) "fmls z" #register ".s, p0/m, z30.s, z31.s\n\t"
  // clang-format off
  __asm__ volatile(
      "ptrue p0.s\n\t"
      PRUMO_FOR_24(PRUMO_SVE_ZERO)
      "fmov z30.s, #0.71875\n\t"
      "fmov z31.s, #1.3125\n\t"
      "1:\n\t"
      PRUMO_FOR_24(PRUMO_SVE_FMA)
      PRUMO_FOR_24(PRUMO_SVE_FMS)
      "subs %0, %0, #1\n\t"
      "b.gt 1b\n\t"
      : "+r"(rounds) : : "cc", "p0", PRUMO_VECTOR_CLOBBERS);
  // clang-format on
}

int sve_vector_bits() {
  std::uint64_t bytes = 0;
  __asm__("cntb %0" : "=r"(bytes));
  return static_cast<int>(bytes * 8);
}
#endif

}  // namespace

std::vector<fma_kernel> fma_kernels(const std::vector<std::string>&) {
  std::vector<fma_kernel> kernels;
#if defined(__ARM_FEATURE_SVE)
  kernels.push_back({"SVE", sve_vector_bits(), 48, run_sve});
#endif
  kernels.push_back({"NEON", 128, 48, run_neon});
  return kernels;
}

#else

void integer_chain(std::int64_t) {}
std::vector<fma_kernel> fma_kernels(const std::vector<std::string>&) { return {}; }

#endif

}  // namespace prumo::machine::host
