// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo train` and its files where something is in the way: files of others, full disks, what killed runs have left.
#include "results/results_file.hpp"
#include "train_program.hpp"
#include <prumo/data/checkpoint.hpp>
#include <prumo/data/safetensors.hpp>
#include <prumo/files/file_descriptor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/file.h>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t epochs_in(const std::string& results) {
  return load_results(results).at("results").at(0).at("epochs").size();
}

class train_files_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string in(const std::string& name) const { return folder_.file(name); }

  temporary_folder folder_;
};

/// The file may be someone's only copy of images, or weights that took a week.
TEST_F(train_files_test, only_what_a_training_wrote_is_replaced) {
  const std::string images = "no training wrote this";
  for (const char* option : {"--checkpoint", "--weights"}) {
    std::ofstream(in("images")) << images;
    expect_refusal(train({option, in("images"), "--force"}), 2,
                   "so it is not overwritten; move it away or name another");
    EXPECT_EQ(read_file(in("images")), images) << option;
  }
  expect_refusal(train({"--checkpoint", in("c"), "--weights", in("images"), "--resume"}), 2,
                 "holds no weights that `prumo train` wrote");
  EXPECT_EQ(read_file(in("images")), images);
  data::write_tensors(in("foreign"), {{{"net", "lenet5"}}, {data::tensor_of("w", {1}, std::vector<float>{1})}});
  expect_refusal(train({"--weights", in("foreign"), "--force"}), 2, "holds no weights that `prumo train` wrote");
  expect_refusal(train({"--checkpoint", in("foreign"), "--force"}), 2, "holds no checkpoint of a training");

  data::write_checkpoint(in("c"), {});
  const std::string earlier = read_file(in("c"));
  ASSERT_EQ(train({"--epochs", "1", "--checkpoint", in("c"), "--weights", in("w"), "--force"}).code, 0);
  EXPECT_NE(read_file(in("c")), earlier);
  const std::string weights = read_file(in("w"));
  ASSERT_EQ(train({"--epochs", "2", "--weights", in("w"), "--force"}).code, 0);
  EXPECT_NE(read_file(in("w")), weights);
}

TEST_F(train_files_test, what_cannot_be_written_does_not_end_the_training) {
  const program_result late = train({"--checkpoint", in("c"), "-o", in("r.json")}, "--fault save#2=error:failed");
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_THAT(late.err, AllOf(HasSubstr("The training goes on, and writing is tried again"),
                              HasSubstr("c is written again"), Not(HasSubstr("at last"))));
  EXPECT_EQ(epochs_in(in("r.json")), 5U);
  EXPECT_EQ(json::parse(read_file(in("c"))).at("steps"), 50);
  const program_result never = train({"--checkpoint", in("d"), "-o", in("s.json")}, "--fault save=error:failed");
  EXPECT_EQ(never.code, 3);
  EXPECT_THAT(never.err, AllOf(HasSubstr("d could not be written at last, and is as it was before"),
                               Not(HasSubstr("is written again"))));
  EXPECT_EQ(epochs_in(in("s.json")), 5U);
  const program_result weights = train({"--weights", in("w"), "-o", in("t.json")}, "--fault save=error:failed");
  EXPECT_EQ(weights.code, 3);
  EXPECT_THAT(weights.err, HasSubstr("w could not be written at last, and is as it was before"));
  EXPECT_EQ(epochs_in(in("t.json")), 5U);
}

TEST_F(train_files_test, names_the_place_of_temporary_files_that_it_cannot_have) {
  const program_result result = run_shell("TMPDIR='" + in("absent") + "' " + prumo_command(train_words({})));
  expect_refusal(result, 3,
                 "absent: temporary files cannot be written there: No such file or directory; name another "
                 "folder in the environment variable TMPDIR");
  const program_result usual = run_shell("TMPDIR= " + prumo_command(train_words({"--epochs", "1"})));
  EXPECT_EQ(usual.code, 0) << usual.err;
}

TEST_F(train_files_test, removes_what_killed_runs_have_left) {
  namespace fs = std::filesystem;
  const std::string place = in("temporary");
  for (const char* name : {"prumo-net-left", "prumo-net-held", "prumo-net-new", "prumo-other"}) {
    fs::create_directories(place + "/" + name);
    std::ofstream(place + "/" + name + "/train-images-idx3-ubyte") << "images";
    if (name == std::string("prumo-net-new")) continue;
    fs::last_write_time(place + "/" + name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  const file_descriptor held(::open((place + "/prumo-net-held").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const program_result result = run_shell("TMPDIR='" + place + "' " + prumo_command(train_words({"--epochs", "1"})));
  ASSERT_EQ(result.code, 0) << result.err;
  std::set<std::string> names;
  for (const auto& it : fs::directory_iterator(place)) names.insert(it.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"prumo-net-held", "prumo-net-new", "prumo-other"}));
}

}  // namespace
}  // namespace prumo::bench::test
