// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the user types and what he is told: messages, exit codes, the printed table.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace prumo::bench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> bench(const std::vector<std::string>& words, const std::string& worker = {}) {
  return joined(joined({"bench"}, words), fake_worker_words(worker));
}

/// Expects a refusal before anything was written to standard output.
void expect_refusal_at_once(const std::vector<std::string>& words, int code, const std::string& message) {
  const program_result result = run_prumo(words);
  expect_refusal(result, code, message);
  EXPECT_EQ(result.out, "");
}

TEST(command_line, alone_and_with_help_it_explains_itself) {
  for (const auto& words : {std::vector<std::string>{}, {"--help"}, {"help"}}) {
    const program_result result = run_prumo(words);
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("prumo bench"), HasSubstr("prumo devices")));
  }
  EXPECT_THAT(run_prumo({"--version"}).out, ::testing::StartsWith("prumo "));
}

TEST(command_line, every_verb_has_help_with_examples) {
  for (const char* verb : {"bench", "devices"}) {
    const program_result result = run_prumo({verb, "--help"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"), HasSubstr("--list"), HasSubstr("-o")))
        << verb;
  }
}

TEST(command_line, names_the_nearest_verb_and_option) {
  expect_refusal_at_once({"benhc"}, 2, "unknown verb 'benhc'; did you mean 'bench'?");
  expect_refusal_at_once({"bench", "--ops", "add"}, 2, "unknown option '--ops'; did you mean '--op'?");
  expect_refusal_at_once({"bench", "--zzzzz"}, 2, "unknown option '--zzzzz'");
  expect_refusal_at_once({"bench", "add"}, 2, "unexpected word 'add'");
  expect_refusal_at_once({"--quick"}, 2, "unknown option '--quick'");
}

TEST(command_line, refuses_bad_values) {
  expect_refusal_at_once(bench({"--size", "2XB"}), 2, "--size: size '2XB'");
  expect_refusal_at_once(bench({"--size", "4MB:2MB"}), 2, "--size");
  expect_refusal_at_once(bench({"--size", "0"}), 2, "--size");
  expect_refusal_at_once(bench({"--time-budget", "soon"}), 2, "--time-budget");
  expect_refusal_at_once(bench({"--target-noise", "2"}), 2, "--target-noise");
  expect_refusal_at_once(bench({"--op", "add,,mul"}), 2, "--op: an empty name");
  expect_refusal_at_once(bench({"--shape", "n=1.5"}), 2, "--shape: 'n=1.5' is not NAME=EXTENT");
  expect_refusal_at_once(bench({"--shape", "n=-1"}), 2, "--shape");
  expect_refusal_at_once(bench({"--shape", "n=1,n=2"}), 2, "--shape: 'n' is given twice");
  expect_refusal_at_once(bench({"--shape", "rows=1,columns=2", "--shape", "columns=2,rows=1"}), 2,
                         "--shape: 'columns=2,rows=1' is given twice");
  expect_refusal_at_once(bench({"--set", "alpha"}), 2, "--set: 'alpha' is not NAME=NUMBER");
  expect_refusal_at_once(bench({"--min-samples", "0"}), 2, "--min-samples");
  expect_refusal_at_once(bench({"--quick", "--full"}), 2, "--quick");
  expect_refusal_at_once(bench({"--resume"}), 2, "name it with -o");
  expect_refusal_at_once({"bench", "--no-search", "--worker", "nowhere"}, 2, "NAME=COMMAND");
  expect_refusal_at_once({"bench", "--no-search", "--worker", "x='a"}, 2, "lacks a closing '");
}

TEST(command_line, says_of_each_value_what_is_wrong_and_what_to_do) {
  for (const char* wrong : {"0", "-1", "x", "1.5", "1e3", "99999999999999999999"}) {
    expect_refusal_at_once(
        bench({"--random-shapes", wrong}), 2,
        std::string("--random-shapes: '") + wrong + "' is not a whole number from 1 to 100000; write it in digits");
    expect_refusal_at_once(
        bench({"--min-samples", wrong}), 2,
        std::string("--min-samples: '") + wrong + "' is not a whole number from 1 to 1000000; write it in digits");
  }
  expect_refusal_at_once(bench({"--seed", "x"}), 2,
                         "--seed: 'x' is not a whole number from 0 to 18446744073709551615; write");
  for (const char* wrong : {"x", "-1", "nan", "1e999"}) {
    expect_refusal_at_once(bench({"--count-limit", wrong}), 2,
                           std::string("--count-limit: '") + wrong + "' is not a number of zero or more; for example");
  }
  expect_refusal_at_once(bench({"--shape", "rows"}), 2, "for example --shape rows=100,columns=1024");
  expect_refusal_at_once(bench({"--set", "alpha=x"}), 2, "for example --set alpha=2,trans_a=1");
  expect_refusal_at_once(bench({"--size", "2MB:"}), 2,
                         "--size: size range '2MB:' lacks an end; give it as SMALLEST:LARGEST");
  expect_refusal_at_once(bench({"--runs", "3:2"}), 2, "--runs: '3:2' ends below its beginning; give FEWEST:MOST");
  expect_refusal_at_once(bench({"--quick=3"}), 2, "--quick takes no value, but got '3'; write --quick alone");
  expect_refusal_at_once({"bench", "--size"}, 2, "--size needs a value (SIZES)");
  expect_refusal_at_once({"bench", "-o", "a.json", "-o", "b.json"}, 2, "--output is given 2 times; give it once");
  expect_refusal_at_once({"bench", "--quick", "--full"}, 2, "--quick and --full exclude each other; give one of them");
  expect_refusal_at_once({"bench", "--allow-mixed"}, 2, "--allow-mixed goes with --resume; give both or neither");
  expect_refusal_at_once({"compare"}, 2, "FILE... is missing; `prumo compare --help` has examples");
  expect_refusal_at_once({"--quick"}, 2, "unknown option '--quick'; options follow a verb: prumo bench --quick");
}

TEST(command_line, an_empty_value_is_refused_wherever_it_stands) {
  for (const char* option : {"--gate", "--against", "--launcher", "--time-budget", "--target-noise", "--runs", "--seed",
                             "--power-states", "--worker-timeout", "--op", "--size", "--csv", "--random-shapes"}) {
    expect_refusal_at_once(bench({option, ""}), 2,
                           std::string(option) + " has an empty value; is a shell variable not set?");
    expect_refusal_at_once(bench({std::string(option) + "="}), 2,
                           std::string(option) + " has an empty value; is a shell");
  }
  expect_refusal_at_once({"compare", "a.json", ""}, 2, "FILE... has an empty value; is a shell variable not set?");
}

TEST(command_line, refuses_names_that_no_worker_knows) {
  expect_refusal_at_once(bench({"--op", "ad"}), 2, "--op: unknown operation 'ad'; did you mean 'add'?");
  expect_refusal_at_once(bench({"--op", "convolute"}), 2, "'--op all --list' shows all.");
  expect_refusal_at_once(bench({"--dtype", "f46"}), 2, "--dtype: unknown type 'f46'; did you mean 'f64'?");
  expect_refusal_at_once(bench({"--impl", "portible"}), 2,
                         "--impl: unknown implementation 'portible'; did you mean 'portable'?");
  expect_refusal_at_once(bench({"--op", "softmax", "--shape", "row=4"}), 2,
                         "--shape: unknown axis 'row'; did you mean 'rows'?");
  expect_refusal_at_once(bench({"--op", "scale", "--set", "alhpa=2"}), 2,
                         "--set: unknown parameter 'alhpa'; did you mean 'alpha'?");
  expect_refusal_at_once(bench({"--data", "residnt"}), 2, "did you mean 'resident'?");
  expect_refusal_at_once(bench({"--cache", "warm"}), 2, "--cache: unknown value 'warm'");
}

TEST(command_line, says_what_this_machine_lacks) {
  expect_refusal_at_once(bench({"--device", "cuda:0"}), 3, "there is no device 'cuda:0'; there are: fake:0");
  expect_refusal_at_once({"bench", "--no-search"}, 3, "there is no worker program");
  expect_refusal_at_once({"bench", "--no-search", "--worker", "x=/nonexistent/worker"}, 3, "/nonexistent/worker");
  expect_refusal_at_once(bench({}, "--fault hello=unavailable"), 3, "there is no driver for the device");
}

TEST(command_line, a_size_beyond_memory_is_an_error_with_both_numbers) {
  expect_refusal_at_once(
      bench({"--op", "add", "--size", "1TB"}, "--memory 1000000000"), 3,
      "no case fits into memory: add needs 3TiB of memory (3298534883328 bytes), but fake:0 has 953.67MiB "
      "(1000000000 bytes); choose");
}

TEST(command_line, lack_of_memory_has_one_exit_code_whenever_it_is_noticed) {
  // The plan notices that one size does not fit, or the worker notices it when it makes the arrays.
  for (const char* refusal : {"--memory 20000000", "--fault prepare:add=error:memory"}) {
    const program_result result =
        run_prumo(bench({"--op", "add", "--size", "2MB,16MB", "--quick", "--no-probe"}, refusal));
    EXPECT_EQ(result.code, 3) << refusal << result.err;
    EXPECT_THAT(result.out, HasSubstr("too little memory: "));
    EXPECT_THAT(result.err, HasSubstr("did not fit into memory"));
  }
}

TEST(command_line, list_prints_the_plan_and_measures_nothing) {
  const temporary_folder folder;
  const program_result result =
      run_prumo(bench({"--op", "add,gemm", "--size", "2MB", "--impl", "all", "--list"}, "--log " + folder.file("log")));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("add"), HasSubstr("portable"), HasSubstr("2MiB"), HasSubstr("n=524288")));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("transferred"))) << "a host device has no transfers";
  EXPECT_THAT(read_file(folder.file("log")), ::testing::Not(HasSubstr("prepare")));
}

TEST(command_line, the_table_is_as_it_was) {
  const program_result result =
      run_prumo(bench({"--op", "add,gemm", "--size", "2MB", "--quick", "--data", "resident,transferred"}));
  EXPECT_EQ(result.code, 0) << result.err;
  // Tests run side by side, so what the program says of a busy machine may come or not.
  EXPECT_EQ(std::regex_replace(result.err, std::regex("prumo: note: this machine (is|was) busy[^\n]*\n"), ""), "")
      << "progress in a pipe";
  const std::string table = masked(result.out);
  EXPECT_THAT(table, HasSubstr("fake:#: A device that is not there, # threads"));
  EXPECT_THAT(table, HasSubstr("k=m=n=# library # ms ±#% # GFLOP/s"));
  EXPECT_THAT(table, HasSubstr("a host device has no transfers"));
  EXPECT_THAT(table, HasSubstr("# ok (# verified), # skipped"));
  EXPECT_THAT(table, HasSubstr("whole program: # s elapsed, # s user time, # s system time"));
}

TEST(command_line, a_wrong_result_is_exit_code_one) {
  const program_result result =
      run_prumo(bench({"--op", "add,mul", "--size", "2MB", "--quick"}, "--fault verify:add=wrong"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("the result is wrong: the error is 3.5, and 0.5 is allowed; entry 17"));
}

TEST(command_line, devices_prints_peaks_and_ceilings) {
  const program_result result = run_prumo(joined({"devices"}, fake_worker_words()));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("made up"), HasSubstr("triad"), HasSubstr("fma"), HasSubstr("launch")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("128MiB  cold"), HasSubstr("512KiB  hot"))) << "memory and cache";
  const program_result quick = run_prumo(joined({"devices", "--no-probe"}, fake_worker_words()));
  EXPECT_EQ(quick.code, 0);
  EXPECT_THAT(quick.out, ::testing::Not(HasSubstr("triad")));
  const program_result list = run_prumo(joined({"devices", "--list"}, fake_worker_words("--devices 2")));
  EXPECT_EQ(list.out, "fake:0  A device that is not there\nfake:1  A device that is not there\n");
}

TEST(command_line, a_launcher_comes_first) {
  const program_result result =
      run_prumo(bench({"--op", "add", "--size", "2MB", "--quick", "--launcher", "/usr/bin/env LAUNCHED=1"}));
  EXPECT_EQ(result.code, 0) << result.err;
}

}  // namespace
}  // namespace prumo::bench::test
