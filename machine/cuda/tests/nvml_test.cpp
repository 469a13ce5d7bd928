// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The management library answers, refuses, lacks functions or is absent. A library of the tests plays it.
#include "../portable/nvml.hpp"

#include "../portable/nvml_functions.hpp"
#include "fake_nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<nvml.h>)
#include <nvml.h>
#endif

extern const char* const prumo_fake_nvml;
extern const char* const prumo_fake_nvml_old;

namespace prumo::machine::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto pci = "0000:19:00.0";
constexpr auto uuid = "GPU-8d3b1c2a-0000-1111-2222-333344445555";

/// Sets the answers of a library, and resets them at the end.
class fake_library {
 public:
  explicit fake_library(const char* path) : file_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (file_ == nullptr) throw std::runtime_error(dlerror());
    using answers_function = fake_nvml_answers* (*)();
    answers = reinterpret_cast<answers_function>(dlsym(file_, "prumo_fake_nvml_answers"))();
    running_ = reinterpret_cast<int (*)()>(dlsym(file_, "prumo_fake_nvml_running"));
    *answers = {};
  }
  ~fake_library() { dlclose(file_); }
  fake_library(const fake_library&) = delete;
  fake_library& operator=(const fake_library&) = delete;

  int running() const { return running_(); }
  fake_nvml_answers* answers = nullptr;

 private:
  void* file_;
  int (*running_)() = nullptr;
};

TEST(nvml, facts_of_a_gpu) {
  const fake_library fake(prumo_fake_nvml);
  const nvml_library library(prumo_fake_nvml);
  ASSERT_EQ(library.problem(), "");
  const nvml_device device = library.find(pci, "");
  ASSERT_EQ(device.problem(), "");
  const nvml_facts facts = device.facts();
  EXPECT_EQ(facts.driver_version, "580.65.06");
  EXPECT_EQ(facts.uuid, uuid);
  EXPECT_EQ(facts.cores, 16896);
  EXPECT_EQ(facts.clock_mhz, 345);
  EXPECT_EQ(facts.clock_max_mhz, 1980);
  EXPECT_EQ(facts.memory_clock_mhz, 2619);
  EXPECT_EQ(facts.memory_clock_max_mhz, 3201);
  EXPECT_EQ(facts.memory_bus_bits, 6016);
  EXPECT_EQ(facts.ecc, true);
  EXPECT_EQ(facts.persistence_mode, true);
  EXPECT_EQ(facts.power_limit_w, 500);
  EXPECT_EQ(facts.power_limit_default_w, 700);
  EXPECT_EQ(facts.temperature_c, 41);
  EXPECT_EQ(facts.utilization_percent, 97);
  EXPECT_EQ(facts.mig, std::nullopt);  // this GPU refuses the question
  EXPECT_EQ(facts.nvlinks, 17);
  EXPECT_EQ(facts.processes, std::vector<unsigned>{1000});
  ASSERT_TRUE(facts.throttle.has_value());
  EXPECT_THAT(*facts.throttle, IsEmpty());
}

TEST(nvml, reads_sensors) {
  const fake_library fake(prumo_fake_nvml);
  fake.answers->reasons = 0x4 | 0x2;
  const nvml_library library(prumo_fake_nvml);
  const device_reading reading = library.find("", uuid).read();
  EXPECT_EQ(reading.clock_mhz, 345);
  EXPECT_EQ(reading.memory_clock_mhz, 2619);
  EXPECT_DOUBLE_EQ(reading.power_w.value(), 345.678);
  EXPECT_EQ(reading.temperature_c, 41);
  EXPECT_DOUBLE_EQ(reading.energy_j.value(), 123456789.012);
  EXPECT_THAT(reading.throttle, ElementsAre("power cap"));
}

TEST(nvml, an_old_library_lacks_functions) {
  const fake_library fake(prumo_fake_nvml_old);
  fake.answers->reasons = 0x20;
  fake.answers->processes = 40;  // more than fit into the first answer
  const nvml_library library(prumo_fake_nvml_old);
  ASSERT_EQ(library.problem(), "");
  const nvml_facts facts = library.find(pci, uuid).facts();
  EXPECT_EQ(facts.clock_max_mhz, 1980);
  EXPECT_EQ(facts.driver_version, std::nullopt);
  EXPECT_EQ(facts.memory_bus_bits, std::nullopt);
  EXPECT_EQ(facts.nvlinks, std::nullopt);
  ASSERT_TRUE(facts.processes.has_value());
  EXPECT_EQ(facts.processes->size(), 40u);
  EXPECT_EQ(facts.processes->back(), 1039u);
  EXPECT_EQ(facts.temperature_c, 42);
  EXPECT_EQ(facts.utilization_percent, std::nullopt);
  EXPECT_EQ(facts.throttle, std::vector<std::string>{"thermal slowdown"});
  const device_reading reading = library.find(pci, uuid).read();
  EXPECT_EQ(reading.energy_j, std::nullopt);
  EXPECT_EQ(reading.power_w, std::nullopt);
}

TEST(nvml, a_multi_instance_gpu) {
  const fake_library fake(prumo_fake_nvml);
  fake.answers->mig_status = 0;
  fake.answers->mig = 1;
  fake.answers->links = 0;
  const nvml_library library(prumo_fake_nvml);
  // If the address finds the whole GPU, the UUID of the instance is not used.
  const nvml_facts facts = library.find(pci, "MIG-11111111-0000-1111-2222-333344445555").facts();
  EXPECT_EQ(facts.mig, true);
  EXPECT_EQ(facts.nvlinks, std::nullopt);
  EXPECT_EQ(facts.uuid, uuid);
}

TEST(nvml, a_device_that_refuses_every_question_is_unknown) {
  const fake_library fake(prumo_fake_nvml);
  fake.answers->device_status = 15;  // the GPU is lost
  const nvml_library library(prumo_fake_nvml);
  const nvml_device device = library.find(pci, uuid);
  EXPECT_EQ(device.problem(), "");
  const nvml_facts facts = device.facts();
  EXPECT_EQ(facts.clock_mhz, std::nullopt);
  EXPECT_EQ(facts.processes, std::nullopt);
  EXPECT_EQ(facts.throttle, std::nullopt);
  EXPECT_EQ(device.read().energy_j, std::nullopt);
}

TEST(nvml, devices_are_found_by_address_or_uuid) {
  const fake_library fake(prumo_fake_nvml);
  const nvml_library library(prumo_fake_nvml);
  EXPECT_EQ(library.find("0000:99:00.0", uuid).problem(), "");
  const nvml_device missing = library.find("0000:99:00.0", "GPU-another");
  EXPECT_EQ(missing.problem(), "the NVIDIA management library does not know 0000:99:00.0: Not Found");
  EXPECT_EQ(missing.facts().clock_mhz, std::nullopt);
  EXPECT_EQ(missing.read().clock_mhz, std::nullopt);
  EXPECT_NE(library.find("", "").problem(), "");
}

TEST(nvml, a_library_that_is_absent_or_does_not_start) {
  const nvml_library absent("libprumo-has-no-such-library.so.1");
  EXPECT_THAT(absent.problem(), HasSubstr("cannot be loaded"));
  EXPECT_EQ(absent.find(pci, uuid).problem(), absent.problem());
  EXPECT_EQ(absent.find(pci, uuid).facts().clock_mhz, std::nullopt);

  const fake_library fake(prumo_fake_nvml);
  fake.answers->init_status = 9;
  {
    const nvml_library refused(prumo_fake_nvml);
    EXPECT_EQ(refused.problem(), "the NVIDIA management library does not start: Driver Not Loaded");
  }
  EXPECT_EQ(fake.running(), 0);
  fake.answers->init_status = 0;
  {
    const nvml_library library(prumo_fake_nvml);
    EXPECT_EQ(fake.running(), 1);
  }
  EXPECT_EQ(fake.running(), 0);
}

TEST(nvml, names_of_throttle_reasons) {
  EXPECT_THAT(throttle_names(0x1 | 0x2), IsEmpty());
  EXPECT_THAT(throttle_names(0x4 | 0x20), ElementsAre("power cap", "thermal slowdown"));
  EXPECT_THAT(throttle_names(0x8), ElementsAre("hardware slowdown"));
  EXPECT_THAT(throttle_names(0x8 | 0x40), ElementsAre("hardware thermal slowdown"));
  EXPECT_THAT(throttle_names(0x8 | 0x80), ElementsAre("power brake"));
  EXPECT_THAT(throttle_names(0x10 | 0x100), ElementsAre("sync boost", "display clock setting"));
  EXPECT_THAT(throttle_names(0x200), ElementsAre("unnamed reason 9"));
}

// Older headers lack some of the functions.
#if defined(NVML_API_VERSION) && NVML_API_VERSION >= 12
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
// Compares prumo's declarations with those of the library.
template <class T>
struct plain {
  using type = T;
};
template <>
struct plain<nvmlDevice_t> {
  using type = void*;
};
template <>
struct plain<nvmlDevice_t*> {
  using type = void**;
};
template <>
struct plain<nvmlProcessInfo_t*> {
  using type = nvml_process*;
};
template <class T>
  requires std::is_enum_v<T>
struct plain<T> {
  static_assert(sizeof(T) == sizeof(int));
  using type = int;
};
template <>
struct plain<nvmlUtilization_t*> {
  using type = nvml_utilization*;
};
template <>
struct plain<nvmlEnableState_t*> {
  static_assert(sizeof(nvmlEnableState_t) == sizeof(unsigned));
  using type = unsigned*;
};

template <class Ours, class... Parameters>
constexpr bool agrees(Ours nvml_functions::*, nvmlReturn_t (*)(Parameters...)) {
  return std::is_same_v<Ours, nvml_function<typename plain<Parameters>::type...>>;
}

static_assert(nvml_success == NVML_SUCCESS && nvml_insufficient_size == NVML_ERROR_INSUFFICIENT_SIZE);
static_assert(nvml_clock_sm == NVML_CLOCK_SM && nvml_clock_memory == NVML_CLOCK_MEM);
static_assert(nvml_temperature_chip == NVML_TEMPERATURE_GPU && nvml_most_links >= NVML_NVLINK_MAX_LINKS);
static_assert(agrees(&nvml_functions::driver_version, nvmlSystemGetDriverVersion));
static_assert(agrees(&nvml_functions::handle_by_pci, nvmlDeviceGetHandleByPciBusId_v2));
static_assert(agrees(&nvml_functions::handle_by_uuid, nvmlDeviceGetHandleByUUID));
static_assert(agrees(&nvml_functions::uuid, nvmlDeviceGetUUID));
static_assert(agrees(&nvml_functions::cores, nvmlDeviceGetNumGpuCores));
static_assert(agrees(&nvml_functions::clock, nvmlDeviceGetClockInfo));
static_assert(agrees(&nvml_functions::max_clock, nvmlDeviceGetMaxClockInfo));
static_assert(agrees(&nvml_functions::memory_bus_width, nvmlDeviceGetMemoryBusWidth));
static_assert(agrees(&nvml_functions::persistence_mode, nvmlDeviceGetPersistenceMode));
static_assert(agrees(&nvml_functions::enforced_power_limit, nvmlDeviceGetEnforcedPowerLimit));
static_assert(agrees(&nvml_functions::default_power_limit, nvmlDeviceGetPowerManagementDefaultLimit));
static_assert(agrees(&nvml_functions::power_usage, nvmlDeviceGetPowerUsage));
static_assert(agrees(&nvml_functions::total_energy, nvmlDeviceGetTotalEnergyConsumption));
static_assert(agrees(&nvml_functions::temperature, nvmlDeviceGetTemperature));
static_assert(agrees(&nvml_functions::utilization, nvmlDeviceGetUtilizationRates));
static_assert(sizeof(nvml_utilization) == sizeof(nvmlUtilization_t));
#if NVML_API_VERSION >= 13
static_assert(sizeof(nvml_temperature) == sizeof(nvmlTemperature_v1_t));
static_assert(nvml_temperature().version == nvmlTemperature_v1);
#endif
static_assert(agrees(&nvml_functions::mig_mode, nvmlDeviceGetMigMode));
static_assert(agrees(&nvml_functions::ecc_mode, nvmlDeviceGetEccMode));
static_assert(agrees(&nvml_functions::compute_processes, nvmlDeviceGetComputeRunningProcesses_v3));
static_assert(sizeof(nvml_process) == sizeof(nvmlProcessInfo_v2_t) &&
              sizeof(nvml_process) == sizeof(nvmlProcessInfo_t));
static_assert(sizeof(nvml_process_v1) == sizeof(nvmlProcessInfo_v1_t));
static_assert(agrees(&nvml_functions::nvlink_state, nvmlDeviceGetNvLinkState));
static_assert(agrees(&nvml_functions::clocks_throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons));
#endif

}  // namespace
}  // namespace prumo::machine::cuda
