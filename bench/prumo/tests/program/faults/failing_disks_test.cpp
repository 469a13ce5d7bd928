// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A disk that fills, turns read-only or vanishes while prumo measures. The disk is that of small_disk.py, which needs
// no privilege; the worker breaks and mends it between two cases.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t all_cases = 6;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

#if defined(__linux__)
class failing_disk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(disk_);
    std::filesystem::create_directory(kept_);
    const program_result tried = with_disk("exit 0");
    if (tried.code != 0) GTEST_SKIP() << "no disk in a namespace of its own here: " << tried.err;
  }

  /// The command that does this to the disk.
  [[nodiscard]] std::string disk(const std::string& what) const {
    return std::string("'") + PRUMO_PYTHON + "' '" + PRUMO_SMALL_DISK + "' " + what + " '" + disk_ + "'";
  }

  /// Runs shell commands that see the disk. It vanishes with them.
  [[nodiscard]] program_result with_disk(const std::string& commands) const {
    const std::string script = folder_.file("script");
    write_file(script, commands + '\n');
    return run_shell("exec " + disk("run") + " /bin/sh '" + script + "'");
  }

  /// What happens when the worker prepares an operation: its name, and a command.
  using events = std::vector<std::pair<std::string, std::string>>;

  /// The command of a run with these events.
  [[nodiscard]] std::string bench(const events& during, const std::vector<std::string>& words) const {
    std::string worker;
    for (const auto& [op, command] : during) {
      const std::string script = folder_.file("before-" + op);
      write_script(script, command);
      worker += "--fault prepare:" + op + "=run:" + script + ' ';
    }
    return prumo_command(joined(joined({"bench", "--quick", "--no-probe", "--op", "add,mul,scale,negate,fill,sum",
                                        "--size", "2MB", "--data", "resident"},
                                       words),
                                fake_worker_words(worker)));
  }

  /// A run that writes to the disk, after which all files of the disk are kept.
  [[nodiscard]] program_result measure(const events& during, const std::string& before = {}) const {
    return with_disk(before + '\n' + bench(during, {"-o", path_}) + "\ncode=$?\ncp -r '" + disk_ + "/.' '" + kept_ +
                     "'\nexit $code");
  }

  /// The results on the disk as the run left them.
  [[nodiscard]] json results() const { return load_results(kept_ + "/r.json").at("results"); }

  /// The document that prumo saved elsewhere, which is removed.
  [[nodiscard]] static json saved_copy(const std::string& messages) {
    const std::string before = "what it should hold is in ";
    const std::size_t begin = messages.find(before) + before.size();
    if (begin < before.size()) return nullptr;
    const std::string copy = messages.substr(begin, messages.find('\n', begin) - begin);
    json document = load_results(copy);
    std::filesystem::remove(copy);
    return document;
  }

  temporary_folder folder_;
  std::string disk_ = folder_.file("disk");
  std::string kept_ = folder_.file("kept");
  std::string path_ = disk_ + "/r.json";
};

TEST_F(failing_disk, that_fills_costs_neither_table_nor_results) {
  const program_result ended = measure({{"scale", disk("fill")}});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("6 ok (6 verified)"), Not(HasSubstr("results: "))));
  EXPECT_EQ(count(ended.err, "No space left on device"), 2U) << "once on the way and once at the end: " << ended.err;
  EXPECT_EQ(count(ended.err, "Measuring goes on, and writing is tried again"), 1U);
  EXPECT_EQ(saved_copy(ended.err).at("results").size(), all_cases);
  EXPECT_EQ(results().size(), 2U) << "what was written before stays";
}

TEST_F(failing_disk, that_has_space_again_has_everything) {
  const program_result ended = measure({{"scale", disk("fill")}, {"fill", disk("free")}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(count(ended.err, "No space left on device"), 1U) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("r.json is written again, and lacks nothing"));
  EXPECT_THAT(ended.out, HasSubstr("r.json (6 results)"));
  EXPECT_EQ(results().size(), all_cases);
}

TEST_F(failing_disk, that_is_full_is_refused_before_anything_is_measured) {
  const program_result refused = measure({}, disk("fill"));
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("r.json: cannot be written: No space left on device; free some space or name"));
  EXPECT_EQ(refused.out, "");
}

TEST_F(failing_disk, that_turns_read_only_costs_neither_table_nor_results) {
  const program_result ended = measure({{"scale", disk("protect")}});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("6 ok (6 verified)"));
  EXPECT_EQ(count(ended.err, "Read-only file system"), 2U) << ended.err;
  EXPECT_EQ(saved_copy(ended.err).at("results").size(), all_cases);
  EXPECT_EQ(results().size(), 2U);
}

TEST_F(failing_disk, that_can_be_written_again_has_everything) {
  const program_result ended = measure({{"scale", disk("protect")}, {"fill", disk("unprotect")}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(results().size(), all_cases);
}

TEST_F(failing_disk, does_not_keep_the_next_run_from_going_on) {
  const program_result ended =
      with_disk(bench({{"scale", disk("protect")}}, {"-o", path_}) + "\n" + disk("unprotect") + "\n" +
                bench({}, {"-o", path_, "--resume"}) + "\ncode=$?\ncp '" + path_ + "' '" + kept_ + "'\nls -A '" +
                disk_ + "' > '" + kept_ + "/names'\nexit $code");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(results().size(), all_cases);
  EXPECT_EQ(read_file(kept_ + "/names"), "r.json\n") << "lock and new file of the run before are gone";
  EXPECT_EQ(saved_copy(ended.err).at("results").size(), all_cases);
}

TEST_F(failing_disk, that_vanishes_below_the_run_is_written_when_it_is_there_again) {
  const program_result ended = measure({{"scale", disk("remove")}, {"fill", disk("restore")}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(count(ended.err, "No such file or directory"), 1U) << ended.err;
  EXPECT_EQ(results().size(), all_cases);
}

TEST_F(failing_disk, that_also_takes_temporary_files_sends_the_copy_elsewhere) {
  const program_result ended =
      measure({{"scale", disk("fill")}}, "export TMPDIR='" + disk_ + "'\ncd '" + kept_ + "'\nHOME='" + kept_ + "'");
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("what it should hold is in " + kept_ + "/prumo-results-"));
  EXPECT_EQ(saved_copy(ended.err).at("results").size(), all_cases);
}

TEST_F(failing_disk, ends_an_interrupted_run_with_one_message) {
  const std::string interrupt = "kill -INT \"$(cat '" + folder_.file("id") + "')\"; sleep 0.2";
  const std::string run = "sh -c 'echo $$ > \"$0\"; exec \"$@\"' '" + folder_.file("id") + "' " +
                          bench({{"scale", disk("fill")}, {"sum", interrupt}}, {"-o", path_});
  const program_result ended = with_disk(run);
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("prumo: interrupted: 5 results are finished\n"));
  EXPECT_EQ(saved_copy(ended.err).at("results").size(), 5U);
}

TEST_F(failing_disk, loses_a_table_alone) {
  const program_result ended =
      with_disk(bench({{"scale", disk("fill")}}, {"-o", kept_ + "/r.json", "--csv", disk_ + "/t.csv"}));
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("t.csv: cannot be written: No space left on device"));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("6 ok (6 verified)"), HasSubstr("results: ")));
  EXPECT_EQ(results().size(), all_cases);
}

TEST_F(failing_disk, loses_what_is_printed_there_and_says_so) {
  const program_result ended =
      with_disk(bench({{"scale", disk("fill")}}, {"-o", kept_ + "/r.json"}) + " > '" + disk_ + "/out'");
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("standard output cannot be written: No space left on device"));
  EXPECT_EQ(results().size(), all_cases);
}
#endif

TEST(vanished_folders, are_not_overwritten_by_whoever_finds_another_file_there) {
  const temporary_folder folder;
  const std::string place = folder.file("place");
  const std::string path = place + "/r.json";
  std::filesystem::create_directory(place);
  write_script(folder.file("swap"), "rm -r '" + place + "' && mkdir '" + place + "' && echo mine > '" + path + "'");
  const program_result ended =
      run_prumo(joined({"bench", "--quick", "--no-probe", "--op", "add,mul,sum", "--size", "2MB", "-o", path},
                       fake_worker_words("--fault prepare:mul=run:" + folder.file("swap"))));
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("r.json: is another file now, which took the name while its folder was away"));
  EXPECT_EQ(read_file(path), "mine\n");
  EXPECT_THAT(ended.out, HasSubstr("3 ok (3 verified)"));
}

}  // namespace
}  // namespace prumo::bench::test
