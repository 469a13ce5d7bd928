// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "privacy/anonymous.hpp"
#include "privacy/recorded_words.hpp"
#include "results/results_schema.hpp"
#include "sample_results.hpp"
#include "surroundings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <sys/utsname.h>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using words = std::vector<std::string>;

TEST(privacy, only_variables_that_matter_are_recorded) {
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PLACES", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "GLIBC_TUNABLES", "LD_PRELOAD",
        "MALLOC_CHECK_", "XLA_FLAGS", "PRUMO_VERBOSE", "PYTHONMALLOC"}) {
    EXPECT_TRUE(is_recorded_variable(name)) << name;
  }
  for (const char* name : {"PRUMO_TOKEN", "PRUMO_MIRROR", "CUDA_API_KEY", "CUDA_", "OMP_NUM",
                           "OMP_NUM_THREADS PROC_BIND", "HIP_PASSWORD", "TORCH_HUB_TOKEN", "HOME", "", "_"}) {
    EXPECT_FALSE(is_recorded_variable(name)) << name;
  }
  EXPECT_EQ(
      recorded_variables({{"OMP_PLACES", "cores"}, {"MKL_TOKEN", "x"}, {"LD_PRELOAD", "http://me:secret@h/x.so"}}),
      json({{"OMP_PLACES", "cores"}, {"LD_PRELOAD", "http://...@h/x.so"}}));
  EXPECT_EQ(recorded_variables(nullptr), json::object());
  const words names = recorded_variable_names();
  EXPECT_GT(names.size(), 100U);
  for (const std::string& name : names) EXPECT_TRUE(is_recorded_variable(name)) << name;
}

TEST(privacy, commands_are_recorded_without_secrets) {
  const auto recorded = [](const std::string& launcher) {
    return recorded_command(words{"prumo", "bench", "--launcher", launcher}).back();
  };
  EXPECT_EQ(recorded("ssh node7"), "ssh node7");
  EXPECT_EQ(recorded("ssh anna@node7 -i /home/anna/.ssh/key -p 22"), "ssh ...@node7 -i ... -p 22");
  EXPECT_EQ(recorded("env API_TOKEN=abc OMP_PLACES=cores run"), "env API_TOKEN=... OMP_PLACES=cores run");
  EXPECT_EQ(recorded("env 'API_TOKEN=a b' run"), "env API_TOKEN=... run");
  EXPECT_EQ(recorded("env API_TOKEN='a b' run"), "env API_TOKEN=... run");
  EXPECT_EQ(recorded("sh -c 'exec env API_TOKEN=a \"$@\"'"), "sh -c 'exec env API_TOKEN=... \"$@\"'");
  EXPECT_EQ(recorded("sshpass -p abc ssh n"), "sshpass -p ... ssh n");
  EXPECT_EQ(recorded("sshpass -pabc ssh n"), "sshpass -p... ssh n");
  EXPECT_EQ(recorded("run --auth-token abc --password=x"), "run --auth-token ... --password=...");
  EXPECT_EQ(recorded("run https://me:abc@host/x"), "run https://...@host/x");
  EXPECT_EQ(recorded_command(words{"prumo", "--launcher=env A_KEY=b c", "--worker", "OLD=env A_KEY=b c"}),
            (words{"prumo", "--launcher=env A_KEY=... c", "--worker", "OLD=env A_KEY=... c"}));
  const words plain{"prumo", "bench", "--set", "alpha=2,trans_a=1", "--shape", "rows=3", "-o", "r.json", "--seed", "1"};
  EXPECT_EQ(recorded_command(plain), plain);
}

TEST(privacy, published_files_tell_neither_host_nor_user) {
  const test::scoped_variable home("HOME", "/home/anna");
  const test::scoped_variable user("USER", "anna");
  struct utsname names{};
  ASSERT_EQ(uname(&names), 0);
  const std::string host = names.nodename;
  json document = testing::sample_document();
  json& run = document["run"];
  run["host"] = {{"name", host}, {"system", "Linux"}};
  run["conditions"] = {{"host", host}, {"devices", {{"cuda:0", {{"uuid", "GPU-1"}, {"ecc", true}}}}}};
  run["command"] =
      words{"/home/anna/bin/prumo", "-o", "/scratch/anna/r.json", "--launcher", "ssh node7 -v", "--op", "anna"};
  run["warnings"] = words{host + ": anna@far said no", "/home/annabel stays"};
  json resumed = run;
  resumed["conditions"]["host"] = "another";
  run["resumed"] = json::array({resumed});
  document["devices"][0]["facts"]["uuid"] = "GPU-1";
  document["devices"][0]["worker"] = {{"build", {{"flags", "-I/home/anna/include -O3"}}}};
  document["results"][0]["warnings"] = words{"see ~/x and /home/anna/x"};
  const json published = anonymized(document);
  EXPECT_TRUE(validate_results(published).empty());
  EXPECT_EQ(published["run"]["host"], json({{"name", nullptr}, {"system", "Linux"}}));
  EXPECT_EQ(published["run"]["conditions"], json({{"devices", {{"cuda:0", {{"ecc", true}}}}}}));
  EXPECT_EQ(published["run"]["command"],
            json(words{"~/bin/prumo", "-o", "/scratch/user/r.json", "--launcher", "ssh ...", "--op", "anna"}));
  EXPECT_EQ(published["run"]["warnings"], json(words{"host: user@far said no", "/home/annabel stays"}));
  EXPECT_FALSE(published["run"]["resumed"][0]["conditions"].contains("host"));
  EXPECT_FALSE(published["devices"][0]["facts"].contains("uuid"));
  EXPECT_EQ(published["devices"][0]["worker"]["build"]["flags"], "-I~/include -O3");
  EXPECT_EQ(published["results"][0]["warnings"][0], "see ~/x and ~/x");
  EXPECT_EQ(published["results"][1], document["results"][1]);
  EXPECT_EQ(anonymized(published), published);
  run["host"]["name"] = "node7.example.org";
  run["warnings"] = words{"node7 was busy, node71 was not"};
  EXPECT_EQ(anonymized(document)["run"]["warnings"], json(words{"host was busy, node71 was not"}))
      << "it measured there";
  EXPECT_EQ(anonymized_text("/home/anna/node7.json", run), "~/host.json");
}

}  // namespace
}  // namespace prumo::bench
