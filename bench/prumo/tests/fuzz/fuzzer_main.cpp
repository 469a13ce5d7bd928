// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's entry; PRUMO_FUZZ_TARGET is the function that gets the inputs.
#include "fuzz_targets.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // libFuzzer has bytes, and text is bytes.
  prumo::bench::fuzz::PRUMO_FUZZ_TARGET(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
