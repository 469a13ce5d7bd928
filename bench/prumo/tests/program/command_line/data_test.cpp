// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo data`: files of images, labels, weights and nets.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace prumo::bench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class data_verb_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string in(const std::string& name) const { return folder_.file(name); }
  temporary_folder folder_;
};

TEST_F(data_verb_test, explains_itself) {
  for (const auto& words : {std::vector<std::string>{"data"}, {"data", "--help"}}) {
    const program_result result = run_prumo(words);
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("prumo data generate"), HasSubstr("prumo data info"), HasSubstr("prumo data resize")));
  }
  for (const char* action : {"generate", "info", "resize"}) {
    const program_result result = run_prumo({"data", action, "--help"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"), HasSubstr("--force"))) << action;
  }
  expect_refusal({"data", "generat"}, 2, "unknown action 'generat'; did you mean 'generate'?");
  expect_refusal({"data", "generate", in("d"), "--sise", "3"}, 2, "unknown option '--sise'; did you mean '--size'?");
}

TEST_F(data_verb_test, generates_what_info_tells) {
  const program_result made =
      run_prumo({"data", "generate", in("digits"), "--images", "300,100", "--size", "20x24", "--gzip"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("train-images-idx3-ubyte.gz: 300 images of 20 x 24"), HasSubstr("100 labels")));
  EXPECT_EQ(made.err, "");
  const program_result told = run_prumo({"data", "info", in("digits"), "--sheet", in("sheet.png")});
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("t10k-images-idx3-ubyte.gz: IDX, gzip"), HasSubstr("300 images of 1 x 20 x 24"),
                              HasSubstr("SHA-256 of the pixels "), HasSubstr("a picture of 100 of them")));
  EXPECT_THAT(read_file(in("sheet.png")), HasSubstr("IHDR"));
}

TEST_F(data_verb_test, equal_options_make_equal_files_and_nothing_is_overwritten) {
  for (const char* name : {"a", "b"}) ASSERT_EQ(run_prumo({"data", "generate", in(name), "--images", "50,20"}).code, 0);
  EXPECT_EQ(read_file(in("a/t10k-images-idx3-ubyte")), read_file(in("b/t10k-images-idx3-ubyte")));
  // A smaller training set has the same test.
  ASSERT_EQ(run_prumo({"data", "generate", in("c"), "--split", "test", "--images", "20"}).code, 0);
  EXPECT_EQ(read_file(in("a/t10k-images-idx3-ubyte")), read_file(in("c/t10k-images-idx3-ubyte")));
  expect_refusal({"data", "generate", in("a"), "--images", "50,20"}, 2, "is there already; --force replaces it");
  ASSERT_EQ(run_prumo({"data", "generate", in("a"), "--images", "50,20", "--seed", "2", "--force"}).code, 0);
  EXPECT_NE(read_file(in("a/t10k-images-idx3-ubyte")), read_file(in("b/t10k-images-idx3-ubyte")));
}

TEST_F(data_verb_test, resizes_a_folder_and_a_file) {
  ASSERT_EQ(run_prumo({"data", "generate", in("a"), "--images", "30,10"}).code, 0);
  ASSERT_EQ(run_prumo({"data", "resize", in("a"), in("b"), "--size", "48"}).code, 0);
  EXPECT_THAT(run_prumo({"data", "info", in("b")}).out, HasSubstr("30 images of 1 x 48 x 48"));
  EXPECT_EQ(read_file(in("a/train-labels-idx1-ubyte")), read_file(in("b/train-labels-idx1-ubyte")));
  ASSERT_EQ(
      run_prumo({"data", "resize", in("a/t10k-images-idx3-ubyte"), in("c.gz"), "--size", "14", "--method", "bilinear"})
          .code,
      0);
  EXPECT_THAT(run_prumo({"data", "info", in("c.gz")}).out,
              AllOf(HasSubstr("IDX, gzip"), HasSubstr("10 images of 1 x 14 x 14")));
  expect_refusal({"data", "resize", in("a"), in("a"), "--size", "48", "--force"}, 2,
                 "would replace those that they are made from");
  expect_refusal({"data", "resize", in("a"), in("b"), "--size", "48"}, 2, "is there already");
}

TEST_F(data_verb_test, shows_nets_and_reads_what_it_printed) {
  const program_result table = run_prumo({"data", "info", "lenet5"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("conv1"), HasSubstr("6 x 28 x 28"), HasSubstr("61706 weights, 0.833 MFLOP an image")));
  const program_result text = run_prumo({"data", "info", "lenet5", "--json"});
  std::ofstream(in("mine.json")) << text.out;
  EXPECT_EQ(run_prumo({"data", "info", in("mine.json")}).out, table.out);
  EXPECT_THAT(read_file(std::string(PRUMO_DOCUMENTATION_FOLDER) + "/data.md"), HasSubstr(text.out));
  std::ofstream(in("cut.json")) << text.out.substr(0, 100);
  expect_refusal({"data", "info", in("cut.json")}, 2, "is no valid JSON: parse error at line");
}

TEST_F(data_verb_test, wrong_words_and_files_are_refused) {
  expect_refusal({"data", "generate", in("d"), "--size", "0"}, 2, "--size: '0' is no size of images; name");
  expect_refusal({"data", "generate", in("d"), "--size", "48x"}, 2, "--size: '48x' is no size");
  expect_refusal({"data", "generate", in("d"), "--size", "2000", "--images", "1,1"}, 2,
                 "--size: digits have 8 to 1024 rows and columns, not 2000; ");
  expect_refusal({"data", "generate", in("d"), "--images", "5"}, 2, "--images: '5' is no pair; name two numbers");
  expect_refusal({"data", "generate", in("d"), "--images", "-1,5"}, 2, "--images: '-1' is no number of images");
  expect_refusal({"data", "generate", in("d"), "--classes", "11", "--images", "1,1"}, 2,
                 "--classes: there are 1 to 10 digits, not 11");
  expect_refusal({"data", "generate", in("d"), "--size", "1024", "--images", "100000000,0"}, 3,
                 "take 95.4TiB, and this machine has");
  expect_refusal({"data", "info", in("absent")}, 2, "there is no such file");
  expect_refusal({"data", "info", "lenet5", "--sheet", in("s.png")}, 2, "--sheet: none of the files holds images");
  std::ofstream(in("text")) << "hello, this is text";
  expect_refusal({"data", "info", in("text")}, 2,
                 "byte 0: the file begins like none that prumo knows; name an IDX file");
  std::ofstream(in("empty"));
  expect_refusal({"data", "info", in("empty")}, 2, "byte 0: the file is empty; name an IDX file");
  std::ofstream(in("short"), std::ios::binary) << std::string("\0\0\x08\x03\0\0\0\x05\0\0\0\x1c\0\0\0\x1c", 16);
  expect_refusal({"data", "info", in("short")}, 2,
                 "byte 16: the header promises 5 images of 28 x 28, 3920 bytes, and the file holds 0");
}

}  // namespace
}  // namespace prumo::bench::test
