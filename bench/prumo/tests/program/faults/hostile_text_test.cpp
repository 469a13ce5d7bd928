// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names from workers, files and arguments that hold escape sequences: nothing of them reaches the terminal.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include "sample_results.hpp"
#include "terminal/shell_words.hpp"
#include "terminal/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

/// Clears the screen, sets the title, writes backwards, joins, and ends a line.
constexpr const char* hostile = "x\x1b[2J\x1b]0;t\x07\u009b31m\u202e\u200d\u2028\x7f";
constexpr const char* as_text = R"(x\x1b[2J\x1b]0;t\x07\u009b31m\u202e\u200d\u2028\u007f)";

void expect_harmless(const program_result& result) {
  EXPECT_EQ(sanitize(result.out, "\n"), result.out);
  EXPECT_EQ(sanitize(result.err, "\n"), result.err);
}

TEST(hostile_text, of_a_worker_is_shown_as_text) {
  const std::string worker = std::string(
      R"(--backend openmp --device-name 'x\x1b[2J\x9b\u202e' --fault verify=escapes --throttle 'hot\x1b[2J')");
  for (const words& verb : {words{"bench", "--quick", "--op", "add", "--size", "2MB"}, words{"devices"},
                            words{"devices", "--list"}, words{"devices", "--json"}, words{"roofline"}}) {
    const program_result result = run_prumo(joined(verb, fake_worker_words(worker)));
    expect_harmless(result);
    EXPECT_THAT(result.out + result.err, HasSubstr(R"(\u202e)")) << verb.front();
  }
  const program_result verbose =
      run_prumo(joined({"devices", "--no-probe", "--verbose"},
                       {"--no-search", "--worker", R"(x=sh -c 'printf "\033[2J\n" >&2; exit 3')"}));
  expect_harmless(verbose);
  EXPECT_THAT(verbose.err, HasSubstr(R"(\x1b[2J)"));
}

TEST(hostile_text, of_a_file_is_shown_as_text) {
  const temporary_folder folder;
  json document = testing::sample_document();
  document["devices"][0]["name"] = hostile;
  document["devices"][0]["facts"][hostile] = hostile;
  document["run"]["host"] = hostile;
  json failed = document["results"][0];
  failed["status"] = "failed";
  failed["reason"] = hostile;
  failed["op"] = hostile;
  failed["time_s"] = nullptr;
  failed["key"] = result_key(failed);
  document["results"].push_back(failed);
  document["results"][0]["warnings"] = json::array({hostile});
  const std::string path = folder.file("r.json");
  write_file(path, document.dump());
  for (const words& verb : {words{"compare", path, path}, words{"compare", path, "--impl", "all"},
                            words{"roofline", path}, words{"compare", path, path, "-o", "-"},
                            words{"compare", path, path, "--csv", "-"}, words{"compare", path, "--op", hostile}}) {
    const program_result result = run_prumo(verb);
    expect_harmless({result.code, sanitize(result.out, "\r\n") == result.out ? "" : result.out, result.err});
  }
}

TEST(hostile_text, of_arguments_is_shown_as_text) {
  for (const words& verb : {words{hostile},
                            words{"bench", hostile},
                            words{"bench", std::string("--") + hostile},
                            words{"bench", "--op", hostile},
                            words{"bench", "--size", hostile},
                            words{"bench", "--device", hostile},
                            words{"bench", "--against", hostile},
                            words{"bench", "--suite", hostile},
                            words{"bench", "--set", hostile},
                            words{"bench", "--worker", hostile},
                            words{"bench", "--worker", std::string("x=") + hostile},
                            words{"bench", "--launcher", hostile},
                            words{"bench", "--with", hostile},
                            words{"bench", "--peers", hostile},
                            words{"compare", hostile, "b.json"},
                            words{"compare", "a.json", "--by", hostile},
                            words{"bench", "--threads", hostile},
                            words{"bench", "--time-budget", hostile},
                            words{"bench", "-o", std::string("/nonexistent/") + hostile},
                            words{"bench", "--resume", "-o", hostile}}) {
    const program_result result = run_prumo(joined(verb, verb.front() == "bench" ? fake_worker_words() : words{}));
    EXPECT_EQ(result.code == 2 || result.code == 3, true) << result.code << result.err;
    expect_harmless(result);
    EXPECT_THAT(result.out + result.err, HasSubstr(R"(x\x1b)"));
  }
  EXPECT_EQ(sanitize(hostile), as_text);
}

TEST(hostile_text, a_suggested_command_can_be_pasted) {
  const temporary_folder folder;
  const std::string name = folder.file("a 'b' $(touch planted)\nc.json");
  const words bench =
      joined({"bench", "--quick", "--no-probe", "--op", "add", "--size", "2MB", "-o", name}, fake_worker_words());
  ASSERT_EQ(run_prumo(bench).code, 0);
  // The file could say anything of the program that wrote it.
  json document = load_results(name);
  document["run"]["command"][0] = "rm";
  write_file(name, document.dump());
  const program_result other = run_prumo(joined(bench, {"--resume", "--cache", "hot"}));
  EXPECT_EQ(other.code, 2);
  const std::size_t begin = other.err.find("--resume: ") + 10;
  const std::string command = other.err.substr(begin, other.err.find(". To start a new run", begin) - begin);
  EXPECT_THAT(command, ::testing::StartsWith("prumo bench --quick"));
  EXPECT_THAT(command, HasSubstr(shell_quoted(name)));
}

}  // namespace
}  // namespace prumo::bench::test
