// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The management library answers, refuses, lacks functions or is absent. A library of the tests plays it.
#include "../portable/rocm_smi.hpp"

#include "../portable/hip_facts.hpp"
#include "../portable/rocm_smi_functions.hpp"
#include "fake_rocm_smi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <type_traits>

#if __has_include(<rocm_smi/rocm_smi.h>)
#include <rocm_smi/rocm_smi.h>
#endif

extern const char* const prumo_fake_rocm_smi;
extern const char* const prumo_fake_rocm_smi_old;

namespace prumo::machine::hip {
namespace {

constexpr auto pci = "0001:c1:00.0";
constexpr auto uuid = "GPU-0aaa93110835edcd";

/// Sets the answers of a library, and resets them at the end.
class fake_library {
 public:
  explicit fake_library(const char* path) : file_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (file_ == nullptr) throw std::runtime_error(dlerror());
    answers = reinterpret_cast<fake_smi_answers* (*)()>(dlsym(file_, "prumo_fake_smi_answers"))();
    running_ = reinterpret_cast<int (*)()>(dlsym(file_, "prumo_fake_smi_running"));
    *answers = {};
  }
  ~fake_library() { dlclose(file_); }
  fake_library(const fake_library&) = delete;
  fake_library& operator=(const fake_library&) = delete;

  int running() const { return running_(); }
  fake_smi_answers* answers = nullptr;

 private:
  void* file_;
  int (*running_)() = nullptr;
};

TEST(rocm_smi, facts_of_a_gpu) {
  const fake_library fake(prumo_fake_rocm_smi);
  const smi_library library(prumo_fake_rocm_smi);
  ASSERT_EQ(library.problem(), "");
  const smi_device device = library.find(pci, "");
  ASSERT_EQ(device.problem(), "");
  hip_observation seen;
  seen.smi = device.facts();
  EXPECT_EQ(seen.smi.driver_version, "6.10.5");
  EXPECT_DOUBLE_EQ(seen.smi.clock_mhz.value(), 1700);
  EXPECT_DOUBLE_EQ(seen.smi.memory_clock_mhz.value(), 1600);
  EXPECT_DOUBLE_EQ(seen.smi.power_limit_w.value(), 500);
  EXPECT_DOUBLE_EQ(seen.smi.power_limit_default_w.value(), 560);
  EXPECT_EQ(seen.smi.temperature_c, 48);
  EXPECT_EQ(seen.smi.memory_used_bytes, 10'000'000);
  EXPECT_EQ(seen.smi.utilization_percent, 97);
  EXPECT_THAT(assemble_facts(seen).warnings,
              testing::ElementsAre("the GPU was computing for 97 % of the last moment: another program uses it",
                                   "the power limit is 500 W, below the default of 560 W"));
}

TEST(rocm_smi, reads_sensors) {
  const fake_library fake(prumo_fake_rocm_smi);
  const smi_library library(prumo_fake_rocm_smi);
  const device_reading reading = library.find("", uuid).read();
  EXPECT_DOUBLE_EQ(reading.clock_mhz.value(), 1700);
  EXPECT_DOUBLE_EQ(reading.memory_clock_mhz.value(), 1600);
  EXPECT_DOUBLE_EQ(reading.power_w.value(), 123.456);
  EXPECT_EQ(reading.temperature_c, 48);
  EXPECT_DOUBLE_EQ(reading.energy_j.value(), 61);
}

TEST(rocm_smi, sensors_that_a_device_lacks) {
  const fake_library fake(prumo_fake_rocm_smi);
  fake.answers->has_junction = false;
  fake.answers->has_power = false;
  fake.answers->hertz = 0;
  const smi_library library(prumo_fake_rocm_smi);
  const device_reading reading = library.find(pci, uuid).read();
  EXPECT_EQ(reading.temperature_c, 41.5);
  EXPECT_DOUBLE_EQ(reading.power_w.value(), 90);
  EXPECT_EQ(reading.clock_mhz, std::nullopt);
}

TEST(rocm_smi, an_old_library_has_other_functions_and_structures) {
  const fake_library fake(prumo_fake_rocm_smi_old);
  const smi_library library(prumo_fake_rocm_smi_old);
  ASSERT_EQ(library.problem(), "");
  const device_reading reading = library.find(pci, uuid).read();
  EXPECT_DOUBLE_EQ(reading.clock_mhz.value(), 1700);
  EXPECT_DOUBLE_EQ(reading.power_w.value(), 90);
  EXPECT_EQ(reading.energy_j, std::nullopt);
  EXPECT_EQ(library.find(pci, uuid).facts().driver_version, std::nullopt);
  fake.answers->init_status = 8;
  EXPECT_EQ(smi_library(prumo_fake_rocm_smi_old).problem(), "ROCm SMI does not start: error 8");
}

TEST(rocm_smi, a_device_that_refuses_every_question_is_unknown) {
  const fake_library fake(prumo_fake_rocm_smi);
  fake.answers->device_status = 2;
  const smi_library library(prumo_fake_rocm_smi);
  const smi_device device = library.find(pci, uuid);
  EXPECT_EQ(device.problem(), "");
  EXPECT_EQ(device.facts().clock_mhz, std::nullopt);
  EXPECT_EQ(device.facts().memory_used_bytes, std::nullopt);
  EXPECT_EQ(device.facts().utilization_percent, std::nullopt);
  EXPECT_EQ(device.read().power_w, std::nullopt);
  EXPECT_EQ(device.read().energy_j, std::nullopt);
}

TEST(rocm_smi, devices_are_found_by_address_or_uuid) {
  const fake_library fake(prumo_fake_rocm_smi);
  const smi_library library(prumo_fake_rocm_smi);
  EXPECT_EQ(library.find("0000:99:00.0", uuid).problem(), "");
  EXPECT_EQ(library.find("0000:99:00.0", "GPU-1").problem(), "ROCm SMI does not know the GPU 0000:99:00.0");
  EXPECT_NE(library.find("", "").problem(), "");
}

TEST(rocm_smi, a_library_that_is_absent_or_does_not_start) {
  const smi_library absent("libprumo-has-no-such-library.so.1");
  EXPECT_THAT(absent.problem(), testing::HasSubstr("cannot be loaded"));
  EXPECT_EQ(absent.find(pci, uuid).problem(), absent.problem());
  EXPECT_EQ(absent.find(pci, uuid).read().clock_mhz, std::nullopt);

  const fake_library fake(prumo_fake_rocm_smi);
  fake.answers->init_status = 8;
  {
    const smi_library refused(prumo_fake_rocm_smi);
    EXPECT_EQ(refused.problem(), "ROCm SMI does not start: RSMI_STATUS_INIT_ERROR");
  }
  EXPECT_EQ(fake.running(), 0);
  fake.answers->init_status = 0;
  {
    const smi_library library(prumo_fake_rocm_smi);
    EXPECT_EQ(fake.running(), 1);
  }
  EXPECT_EQ(fake.running(), 0);
}

#if __has_include(<rocm_smi/rocm_smi.h>)
// Compares prumo's declarations with those of the library.
static_assert(smi_success == RSMI_STATUS_SUCCESS && smi_memory_vram == RSMI_MEM_TYPE_VRAM);
static_assert(smi_clock_system == RSMI_CLK_TYPE_SYS && smi_clock_memory == RSMI_CLK_TYPE_MEM);
static_assert(smi_temperature_edge == RSMI_TEMP_TYPE_EDGE && smi_temperature_junction == RSMI_TEMP_TYPE_JUNCTION);
static_assert(smi_temperature_current == RSMI_TEMP_CURRENT && smi_driver == RSMI_SW_COMP_DRIVER);
static_assert(sizeof(smi_frequencies) == sizeof(rsmi_frequencies_t));
static_assert(offsetof(smi_frequencies, hertz) == offsetof(rsmi_frequencies_t, frequency));
static_assert(offsetof(smi_frequencies, current) == offsetof(rsmi_frequencies_t, current));

template <class T>
struct plain {
  using type = T;
};
template <class T>
  requires std::is_enum_v<T>
struct plain<T> {
  static_assert(sizeof(T) == sizeof(int));
  using type = int;
};
template <class T>
  requires std::is_enum_v<T>
struct plain<T*> {
  using type = int*;
};
template <>
struct plain<rsmi_frequencies_t*> {
  using type = smi_frequencies*;
};

template <class Ours, class... Parameters>
constexpr bool agrees(Ours smi_functions::*, rsmi_status_t (*)(Parameters...)) {
  return std::is_same_v<Ours, smi_function<typename plain<Parameters>::type...>>;
}
static_assert(agrees(&smi_functions::init, rsmi_init) && agrees(&smi_functions::shut_down, rsmi_shut_down));
static_assert(agrees(&smi_functions::status_string, rsmi_status_string));
static_assert(agrees(&smi_functions::count, rsmi_num_monitor_devices));
static_assert(agrees(&smi_functions::pci_id, rsmi_dev_pci_id_get));
static_assert(agrees(&smi_functions::unique_id, rsmi_dev_unique_id_get));
static_assert(agrees(&smi_functions::version, rsmi_version_str_get));
static_assert(agrees(&smi_functions::temperature, rsmi_dev_temp_metric_get));
static_assert(agrees(&smi_functions::power, rsmi_dev_power_get));
static_assert(agrees(&smi_functions::power_average, rsmi_dev_power_ave_get));
static_assert(agrees(&smi_functions::power_cap, rsmi_dev_power_cap_get));
static_assert(agrees(&smi_functions::power_cap_default, rsmi_dev_power_cap_default_get));
static_assert(agrees(&smi_functions::energy, rsmi_dev_energy_count_get));
static_assert(agrees(&smi_functions::clock, rsmi_dev_gpu_clk_freq_get));
static_assert(agrees(&smi_functions::memory_used, rsmi_dev_memory_usage_get));
static_assert(agrees(&smi_functions::busy_percent, rsmi_dev_busy_percent_get));
#endif

}  // namespace
}  // namespace prumo::machine::hip
