// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host measured with several numbers of threads: who is started how, what rows and tables say, what is refused.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using words = std::vector<std::string>;

/// A short bench of a scripted worker `openmp:0` with the options `own` of its own.
words bench(const words& more, const std::string& own = {}) {
  return joined({"bench", "--op", "add", "--size", "2MB", "--no-search", "--worker",
                 "openmp=" + fake_worker_command("--backend openmp " + own)},
                more);
}

std::vector<int> threads_of(const json& list) {
  std::vector<int> numbers;
  for (const json& it : list) numbers.push_back(it.at("threads").is_null() ? 0 : it.at("threads").get<int>());
  return numbers;
}

std::map<int, json> by_threads(const json& list) {
  std::map<int, json> found;
  for (const json& it : list) found[it.at("threads").is_null() ? 0 : it.at("threads").get<int>()] = it;
  return found;
}

class threads : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "r.json") const { return folder_.file(name); }
  [[nodiscard]] json measured(const words& more, const std::string& own = {}) const {
    const program_result result = run_prumo(bench(joined(more, {"-o", path()}), own));
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return load_results(path());
  }

 private:
  temporary_folder folder_;
};

TEST_F(threads, each_number_has_a_process_of_its_own_that_is_told_what_it_honours) {
  const json document = measured({"--threads", "1,3", "--no-probe"}, "--domains 2,2");
  EXPECT_THAT(threads_of(document.at("devices")), ElementsAre(1, 3));
  EXPECT_THAT(threads_of(document.at("results")), ElementsAre(1, 3));
  for (const json& result : document.at("results")) {
    EXPECT_EQ(result.at("device"), "openmp:0");
    EXPECT_EQ(result.at("key"), result_key(result));
  }
  EXPECT_THAT(document.at("results").at(1).at("key").get<std::string>(), testing::EndsWith("/cold/threads=3"));
  const json environment = document.at("devices").at(1).at("worker").at("environment");
  for (const char* name : {"OMP_NUM_THREADS", "KOKKOS_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    EXPECT_EQ(environment.at(name), "3") << name;
  }
  EXPECT_EQ(environment.at("OMP_PROC_BIND"), "close");
  EXPECT_EQ(environment.at("OMP_PLACES"), "{0},{2},{1}") << "both cores of the first domain come first";
}

TEST_F(threads, cores_double_and_numa_fills_domains) {
  const json document = measured({"--threads", "cores,numa", "--no-probe"}, "--domains 3,3");
  EXPECT_THAT(threads_of(document.at("results")), ElementsAre(1, 2, 3, 4, 6));
  const auto devices = by_threads(document.at("devices"));
  EXPECT_EQ(devices.at(4).at("worker").at("environment").at("OMP_PLACES"), "{0},{2},{4},{1}");
}

TEST_F(threads, second_threads_of_cores_come_when_no_core_is_left) {
  const json document = measured({"--threads", "5", "--no-probe"}, "--domains 2,2");
  EXPECT_EQ(document.at("devices").at(0).at("worker").at("environment").at("OMP_PLACES"), "{0},{2},{1},{3},{4}");
}

TEST_F(threads, what_the_shell_chose_is_put_aside) {
  const scoped_variable number("OMP_NUM_THREADS", "1");
  const scoped_variable affinity("GOMP_CPU_AFFINITY", "0");
  const json document = measured({"--threads", "2", "--no-probe"}, "--domains 2,2");
  const json environment = document.at("devices").at(0).at("worker").at("environment");
  EXPECT_EQ(environment.at("OMP_NUM_THREADS"), "2");
  EXPECT_FALSE(environment.contains("GOMP_CPU_AFFINITY"));
}

TEST_F(threads, that_are_none_in_the_environment_are_refused_and_put_aside_by_other_numbers) {
  for (const char* name : {"OMP_NUM_THREADS", "KOKKOS_NUM_THREADS"}) {
    for (const char* value : {"1000000", "0", "-3", "abc", "1e3"}) {
      const scoped_variable number(name, value);
      const std::string told = std::string("prumo: the environment has ") + name + "=" + value +
                               ", which is no number of threads from 1 to 512; set one, for example " + name +
                               "=4, or unset it to use all processors";
      expect_refusal(run_prumo(bench({"--no-probe"})), 2, told);
      expect_refusal(run_prumo(joined({"devices"}, fake_worker_words())), 2, told);
      const json document = measured({"--threads", "2", "--no-probe", "--force"}, "--domains 2,2");
      EXPECT_EQ(document.at("devices").at(0).at("worker").at("environment").at("OMP_NUM_THREADS"), "2");
    }
  }
}

#if defined(__linux__)
TEST_F(threads, are_bound_to_cores_unless_the_user_decided) {
  const scoped_variable binding("OMP_PROC_BIND", std::nullopt);
  const scoped_variable places("OMP_PLACES", std::nullopt);
  const scoped_variable affinity("GOMP_CPU_AFFINITY", std::nullopt);
  const scoped_variable intel("KMP_AFFINITY", std::nullopt);
  const auto environment = [&] {
    return measured({"--no-probe", "--force"}).at("devices").at(0).at("worker").at("environment");
  };
  const json bound = environment();
  EXPECT_EQ(bound.value("OMP_PROC_BIND", "not set"), "close");
  EXPECT_EQ(bound.value("OMP_PLACES", "not set"), "cores");
  for (const char* decided : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const scoped_variable own(decided, "0");
    const json kept = environment();
    EXPECT_EQ(kept.value(decided, "not set"), "0");
    for (const char* other : {"OMP_PROC_BIND", "OMP_PLACES"}) {
      EXPECT_EQ(kept.contains(other), std::string(other) == decided) << "with " << decided << ": " << kept.dump();
    }
  }
}
#endif

TEST_F(threads, the_table_shows_speed_up_and_efficiency) {
  const program_result result = run_prumo(bench({"--threads", "1,2,4", "--no-probe"}, "--domains 4"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("threads"), HasSubstr("speed-up"), HasSubstr("efficiency")));
  EXPECT_THAT(result.out, testing::ContainsRegex("\n1 .* 1[.]00 +100%"));
  EXPECT_THAT(result.out, testing::ContainsRegex("\n4 .* 4[.]00 +100%")) << result.out;
  EXPECT_THAT(result.out, HasSubstr("openmp:0: A device that is not there, 4 threads"));
  EXPECT_THAT(run_prumo(bench({"--no-probe"})).out, Not(HasSubstr("speed-up")));
}

TEST_F(threads, each_number_is_judged_by_its_own_ceilings) {
  const json document = measured({"--threads", "1,2"}, "--domains 2");
  const auto results = by_threads(document.at("results"));
  const double one = results.at(1).at("roof").at("memory").get<double>();
  const double two = results.at(2).at("roof").at("memory").get<double>();
  EXPECT_NEAR(two / one, 2, 0.1);
  for (const auto& [number, device] : by_threads(document.at("devices"))) {
    EXPECT_FALSE(device.at("ceilings").empty()) << number;
    EXPECT_NEAR(results.at(number).at("percent").at("roofline").get<double>(), 100, 5);
  }
  const program_result roofs = run_prumo({"roofline", path()});
  EXPECT_THAT(roofs.out, AllOf(HasSubstr("openmp:0 (1 thread)"), HasSubstr("openmp:0 (2 threads)"))) << roofs.err;
}

TEST_F(threads, csv_names_them_too) {
  const json document = measured({"--threads", "1,2", "--no-probe", "--csv", path("r.csv")}, "--domains 2");
  const std::string csv = read_file(path("r.csv"));
  EXPECT_THAT(csv, AllOf(HasSubstr(",device,threads,implementation,"), HasSubstr(",openmp:0,1,kernel,"),
                         HasSubstr(",openmp:0,2,kernel,")));
}

TEST_F(threads, the_plan_lists_them) {
  const program_result result = run_prumo(bench({"--threads", "1,2", "--list"}, "--domains 2"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("openmp:0 (1 thread)"), HasSubstr("openmp:0 (2 threads)")));
}

TEST_F(threads, a_gpu_beside_the_host_is_measured_once) {
  const json document = measured({"--threads", "1,2", "--no-probe", "--data", "resident", "--worker",
                                  "cuda=" + fake_worker_command("--backend cuda")},
                                 "--domains 2");
  std::multiset<std::string> rows;
  for (const json& it : document.at("results"))
    rows.insert(it.at("device").get<std::string>() + it.at("threads").dump());
  EXPECT_EQ(rows, (std::multiset<std::string>{"openmp:01", "openmp:02", "cuda:0null"}));
}

TEST_F(threads, peers_are_confined_or_say_that_they_cannot) {
  const json document =
      measured({"--threads", "1", "--no-probe", "--worker", "able=" + fake_worker_command("--backend able-cpu"),
                "--worker", "stubborn=" + fake_worker_command("--backend stubborn-cpu --threads 4")});
  std::map<std::string, json> results;
  for (const json& it : document.at("results")) results[it.at("device").get<std::string>()] = it;
  EXPECT_EQ(results.at("openmp:0").at("status"), "ok");
  EXPECT_EQ(results.at("able-cpu:0").at("status"), "ok");
  EXPECT_EQ(results.at("stubborn-cpu:0").at("status"), "unsupported");
  EXPECT_THAT(results.at("stubborn-cpu:0").at("reason").get<std::string>(),
              HasSubstr("works with 4 although its environment says 1, so its number of threads cannot be chosen"));
  for (const json& device : document.at("devices")) {
    const json processors = device.at("worker").at("environment").value("processors", json());
    if (device.at("id") == "able-cpu:0" && processors.is_string()) {
      EXPECT_EQ(processors, "1");
    }
  }
}

TEST_F(threads, a_number_with_which_a_worker_does_not_start_is_a_row_that_tells) {
  const temporary_folder folder;
  const std::string script = folder.file("worker");
  write_script(script, "[ \"$OMP_NUM_THREADS\" = 2 ] && { echo 'two are too many' >&2; exit 7; }\nexec " +
                           fake_worker_command("--backend openmp --domains 4"));
  const program_result result = run_prumo({"bench", "--op", "add", "--size", "2MB", "--no-search", "--worker",
                                           "openmp=" + script, "--threads", "1,2,4", "--no-probe", "-o", path()});
  EXPECT_EQ(result.code, 3) << "that number was asked for";
  EXPECT_THAT(result.err, HasSubstr("not there, although asked for or part of prumo: openmp:0 (2 threads)"));
  const auto results = by_threads(load_results(path()).at("results"));
  EXPECT_EQ(results.at(1).at("status"), "ok");
  EXPECT_EQ(results.at(4).at("status"), "ok");
  EXPECT_EQ(results.at(2).at("status"), "skipped");
  EXPECT_THAT(results.at(2).at("reason").get<std::string>(),
              AllOf(HasSubstr("worker 'openmp' with 2 threads exited with code 7"), HasSubstr("two are too many")));
}

TEST_F(threads, two_builds_are_compared_with_each_number) {
  const temporary_folder other;
  fs::create_directories(other.file("bin"));
  write_fake_worker(other.file("bin/prumo-worker-openmp"), "--backend openmp --domains 2");
  const program_result result =
      run_prumo(bench({"--threads", "1,2", "--no-probe", "--against", other.file(""), "-o", path()}, "--domains 2"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("threads"), HasSubstr("2 same")));
  const json document = load_results(path());
  std::multiset<std::string> rows;
  for (const json& it : document.at("results"))
    rows.insert(it.at("device").get<std::string>() + it.at("threads").dump());
  EXPECT_EQ(rows, (std::multiset<std::string>{"openmp:01", "openmp:02", "openmp:0@against1", "openmp:0@against2"}));
}

TEST_F(threads, files_meet_by_number) {
  ASSERT_EQ(run_prumo(bench({"--threads", "1,2", "--no-probe", "-o", path("a.json")}, "--domains 2")).code, 0);
  ASSERT_EQ(run_prumo(bench({"--threads", "2", "--no-probe", "-o", path("b.json")}, "--domains 2")).code, 0);
  ASSERT_EQ(run_prumo(bench({"--no-probe", "-o", path("c.json")}, "--domains 2")).code, 0);
  const program_result met = run_prumo({"compare", path("a.json"), "--to", path("b.json"), "--all"});
  EXPECT_EQ(met.code, 0) << met.err;
  EXPECT_THAT(met.out, AllOf(HasSubstr("cold/threads=1  a.json  only in a.json"),
                             HasSubstr("1 case compared: 1 unclear"), Not(HasSubstr("differs"))));
  const program_result apart = run_prumo({"compare", path("a.json"), "--to", path("c.json")});
  EXPECT_EQ(apart.code, 2);
  EXPECT_THAT(apart.err, HasSubstr("different number of threads: 1 in a.json, - in c.json"));
}

TEST_F(threads, a_finished_sweep_is_kept_by_resume) {
  const words sweep = bench({"--threads", "1,2", "--no-probe", "-o", path()}, "--domains 2");
  ASSERT_EQ(run_prumo(sweep).code, 0);
  const program_result again = run_prumo(joined(sweep, {"--resume"}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("kept from the earlier run: 2 cases"));
  EXPECT_THAT(threads_of(load_results(path()).at("devices")), ElementsAre(1, 2));
}

TEST_F(threads, what_cannot_be_is_refused_with_what_to_do) {
  const auto refused = [](const words& more, int code, const std::string& own = "--domains 2") {
    const program_result result = run_prumo(bench(more, own));
    EXPECT_EQ(result.code, code) << result.out << result.err;
    return result.err;
  };
  const std::string example = "for example --threads 1,2,4 or --threads cores";
  for (const char* wrong : {"0", "-1", "two", "1.5", "2x", "99999999999"}) {
    EXPECT_THAT(refused({"--threads", wrong}, 2),
                AllOf(HasSubstr(std::string("--threads: '") + wrong + "' is neither a number of threads from 1 up"),
                      HasSubstr(example)));
  }
  EXPECT_THAT(refused({"--threads", "1,,2"}, 2), HasSubstr("--threads: an empty name in '1,,2'"));
  EXPECT_THAT(refused({"--threads", "64"}, 3),
              HasSubstr("--threads 64: only 4 hardware threads on 2 cores may be used here; choose no more"));
  EXPECT_THAT(
      refused({"--threads", "1", "--device", "cuda:0", "--worker", "cuda=" + fake_worker_command("--backend cuda")}, 2),
      HasSubstr("cuda:0 is no device of the host; add openmp:0 to --device, or leave --threads out"));
  EXPECT_THAT(refused({"--threads", "1", "--suite", "theano-2017"}, 2), HasSubstr("--suite"));
  const program_result peers_only = run_prumo(
      {"bench", "--threads", "1", "--op", "add", "--no-search", "--worker", "thing=" + fake_worker_command("")});
  EXPECT_EQ(peers_only.code, 3);
  EXPECT_THAT(peers_only.err,
              HasSubstr("prumo's own worker for the host, which knows the processors, and there is none"));
}

}  // namespace
}  // namespace prumo::bench::test
