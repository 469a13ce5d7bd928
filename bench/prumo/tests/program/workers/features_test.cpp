// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workers of other releases: what both ends have is used, and what is lacking is said.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include "workers/worker_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* enough = "resolve,prepare,sample,release";

/// A short bench of `add` by the scripted worker with these options, and of what `more` asks for.
program_result bench(const std::string& options, const std::string& output, const std::vector<std::string>& more = {}) {
  return run_prumo(
      joined(joined({"bench", "--quick", "--op", "add", "--size", "2MB", "--data", "resident", "-o", output},
                    fake_worker_words(options)),
             more));
}

TEST(features, a_worker_of_before_there_were_features_has_those_of_version_1) {
  worker_client client(fake_worker(), {});
  client.greet();
  for (const std::string_view feature : protocol::protocol_features) EXPECT_TRUE(client.has(feature)) << feature;
  EXPECT_FALSE(client.has("telepathy"));
  EXPECT_THAT(client.why_unmeasurable(), IsEmpty());
}

TEST(features, an_older_worker_that_cannot_verify_or_count_is_measured) {
  const temporary_folder folder;
  const program_result ran = bench(std::string("--features ") + enough, folder.file("r.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("fake: the worker has no request 'verify': its results are not compared"),
                             HasSubstr("fake:0 does not tell its facts: worker 'fake' lacks 'device'")));
  const json results = load_results(folder.file("r.json")).at("results");
  ASSERT_FALSE(results.empty());
  for (const json& result : results) {
    EXPECT_EQ(result.at("status"), "ok");
    EXPECT_TRUE(result.at("verified").is_null());
    EXPECT_TRUE(result.at("flops").at("counted").is_null());
  }
}

TEST(features, a_newer_worker_is_measured_by_what_is_known_of_it) {
  const temporary_folder folder;
  const program_result ran = bench(
      std::string("--newer --protocol 3 --features telepathy,device,verify,count,") + enough, folder.file("r.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("fake: train is left out: this prumo does not know cases of the kind 'pipeline'"));
  EXPECT_THAT(ran.err, Not(HasSubstr("lacks")));
  const json document = load_results(folder.file("r.json"));
  for (const json& result : document.at("results")) EXPECT_EQ(result.at("verified"), true);
}

TEST(features, a_worker_that_shares_nothing_has_unsupported_cases_beside_one_that_is_measured) {
  const temporary_folder folder;
  std::string other = "other=";
  for (const std::string& word : fake_worker({"--backend", "other", "--features", "telepathy"}).command) {
    other += "'" + word + "' ";
  }
  const program_result ran = bench("", folder.file("r.json"), {"--worker", other});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json document = load_results(folder.file("r.json"));
  for (const json& result : document.at("results")) {
    if (result.at("device") == "fake:0") {
      EXPECT_EQ(result.at("status"), "ok");
      continue;
    }
    EXPECT_EQ(result.at("status"), "unsupported");
    EXPECT_EQ(result.at("reason"),
              "worker 'other' lacks resolve, prepare, sample, release of the worker protocol: use a worker and a prumo "
              "of the same release");
  }
}

TEST(features, a_worker_that_shares_nothing_is_told_where_it_is_alone) {
  for (const char* options : {"--features telepathy", "--protocol 2"}) {
    const temporary_folder folder;
    const program_result ran = bench(options, folder.file("r.json"));
    EXPECT_EQ(ran.code, 3) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("nothing to measure"), HasSubstr("worker 'fake' lacks"),
                               HasSubstr("of the worker protocol: use a worker and a prumo of the same release")));
  }
}

TEST(features, a_greeting_of_another_version_that_cannot_be_read_is_told) {
  worker_client client(fake_worker({"--protocol", "2", "--fault", "hello=missing_cases"}), {});
  try {
    client.greet();
    FAIL() << "no failure was reported";
  } catch (const worker_failure& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("speaks version 2 of the worker protocol"),
                                      HasSubstr("'cases' is missing"), HasSubstr("of the same release")));
  }
}

}  // namespace
}  // namespace prumo::bench::test
