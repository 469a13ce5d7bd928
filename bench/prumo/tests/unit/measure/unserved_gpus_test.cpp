// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/unserved_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace prumo::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class unserved_gpus : public ::testing::Test {
 public:
  unserved_gpus() : folder(::testing::TempDir() + "prumo-device-files-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder);
  }
  ~unserved_gpus() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

 protected:
  void add(const char* name) const { std::ofstream(folder / name) << ' '; }

  std::filesystem::path folder;
  std::vector<std::string> host_only{"openmp"};
};

TEST_F(unserved_gpus, none_where_there_is_no_gpu) {
  EXPECT_THAT(notes_on_unserved_gpus(host_only, folder), IsEmpty());
  EXPECT_THAT(notes_on_unserved_gpus(host_only, folder / "missing"), IsEmpty());
}

TEST_F(unserved_gpus, are_named_with_the_remedy) {
  add("nvidia0");
  add("kfd");
  EXPECT_THAT(notes_on_unserved_gpus(host_only, folder),
              ElementsAre(AllOf(HasSubstr("an NVIDIA GPU"), HasSubstr("preset 'cuda' builds prumo-worker-cuda")),
                          AllOf(HasSubstr("an AMD GPU"), HasSubstr("./dev --kokkos PREFIX"))));
}

TEST_F(unserved_gpus, one_that_a_worker_serves_is_none) {
  add("nvidia0");
  EXPECT_THAT(notes_on_unserved_gpus(std::vector<std::string>{"cuda", "openmp"}, folder), IsEmpty());
}

}  // namespace
}  // namespace prumo::bench
