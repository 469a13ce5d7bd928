// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/checkpoint.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace prumo::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

checkpoint a_checkpoint() {
  checkpoint made;
  made.identity = {{"net", "lenet5"}, {"learning_rate", "0.1"}};
  made.conditions = {{"build", "9b3f"}, {"device", "openmp"}};
  made.note = R"({"epochs": []})";
  made.arrays = {tensor_of("conv1.weight", {2, 1}, std::vector<float>{0.5F, -0.25F}),
                 tensor_of_doubles("optimizer.velocity", {2}, std::vector<double>{1e-300, 0.1}),
                 {"state.step", "I64", {}, {7, 0, 0, 0, 0, 0, 0, 0}}};
  return made;
}

std::string refusal_of(const std::string& path, const checkpoint& expected, bool allow_mixed = false) {
  try {
    std::ignore = read_checkpoint(path, expected, allow_mixed);
  } catch (const bench::file_error& refused) {
    return refused.what();
  }
  return "nothing was refused";
}

/// Writes the file anew with changes to what it holds, and keeps the digest.
template <class Change>
void tamper(const std::string& path, Change change) {
  tensor_file file = read_tensors(path);
  change(file);
  write_tensors(path, file);
}

TEST(checkpoint, what_is_written_is_read) {
  const scratch_folder folder;
  const std::string path = folder / "c.safetensors";
  const checkpoint made = a_checkpoint();
  write_checkpoint(path, made);
  const checkpoint back = read_checkpoint(path, made);
  EXPECT_EQ(back.identity, made.identity);
  EXPECT_EQ(back.conditions, made.conditions);
  EXPECT_EQ(back.note, made.note);
  ASSERT_EQ(back.arrays.size(), 3U);
  for (const tensor& it : made.arrays) {
    ASSERT_NE(back.find(it.name), nullptr) << it.name;
    EXPECT_EQ(back.find(it.name)->bytes, it.bytes) << it.name;
  }
  EXPECT_EQ(doubles_of(*back.find("optimizer.velocity")), (std::vector<double>{1e-300, 0.1}));
  EXPECT_EQ(doubles_of(*back.find("conv1.weight")), (std::vector<double>{0.5, -0.25}));
  EXPECT_THROW(std::ignore = doubles_of(*back.find("state.step")), std::invalid_argument);
}

TEST(checkpoint, of_another_training_is_refused) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  write_checkpoint(path, a_checkpoint());
  checkpoint other = a_checkpoint();
  other.identity["learning_rate"] = "0.05";
  EXPECT_THAT(refusal_of(path, other), AllOf(HasSubstr("belongs to another training"),
                                             HasSubstr("learning_rate is 0.1 in the file and 0.05 here")));
  EXPECT_THAT(refusal_of(path, other, true), HasSubstr("belongs to another training"));
  other = a_checkpoint();
  other.identity["seed"] = "2";
  EXPECT_THAT(refusal_of(path, other), HasSubstr("seed is not told in the file and 2 here"));
}

/// A digest says nothing to a reader who sees what it follows from.
TEST(checkpoint, of_another_training_is_refused_with_all_that_differs) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  checkpoint made = a_checkpoint();
  made.identity["initial_weights_sha256"] = "aa";
  write_checkpoint(path, made);
  checkpoint other = made;
  other.identity["initial_weights_sha256"] = "bb";
  EXPECT_THAT(refusal_of(path, other),
              HasSubstr("other weights to begin with (initial_weights_sha256 is aa in the file and bb here)"));
  other.identity["net"] = "mnist-2f";
  other.identity["learning_rate"] = "1";
  EXPECT_THAT(refusal_of(path, other),
              HasSubstr("another training: learning_rate is 0.1 in the file and 1 here, net is lenet5 in the file and "
                        "mnist-2f here; repeat"));
}

TEST(checkpoint, of_a_training_with_other_images_is_refused) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  checkpoint made = a_checkpoint();
  made.identity["data_sha256"] = "aa";
  made.identity["test_data_sha256"] = "bb";
  write_checkpoint(path, made);
  checkpoint other = made;
  other.identity["test_data_sha256"] = "cc";
  for (const bool allow_mixed : {false, true}) {
    EXPECT_THAT(
        refusal_of(path, other, allow_mixed),
        HasSubstr("belongs to another training: other test images (test_data_sha256 is bb in the file and cc here); "
                  "repeat the command that made it, with the same files"));
  }
  other.identity["data_sha256"] = "dd";
  EXPECT_THAT(refusal_of(path, other),
              AllOf(HasSubstr("other training images (data_sha256 is aa in the file and dd here)"),
                    HasSubstr("other test images")));
}

/// Earlier versions of prumo did not write which test images a training had.
TEST(checkpoint, of_an_earlier_version_is_read_with_any_test_images) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  write_checkpoint(path, a_checkpoint());
  checkpoint now = a_checkpoint();
  now.identity["test_data_sha256"] = "bb";
  EXPECT_EQ(read_checkpoint(path, now).arrays.size(), 3U);
  now.identity["data_sha256"] = "aa";
  EXPECT_THAT(refusal_of(path, now), HasSubstr("data_sha256 is not told in the file and aa here"));
}

TEST(checkpoint, of_other_conditions_is_refused_unless_that_is_allowed) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  write_checkpoint(path, a_checkpoint());
  checkpoint other = a_checkpoint();
  other.conditions["build"] = "77aa";
  EXPECT_THAT(refusal_of(path, other),
              AllOf(HasSubstr("build is 9b3f in the file and 77aa here"), HasSubstr("With --allow-mixed")));
  EXPECT_EQ(read_checkpoint(path, other, true).arrays.size(), 3U);
}

TEST(checkpoint, that_was_changed_is_refused) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  const auto expect_refused = [&](auto change) {
    write_checkpoint(path, a_checkpoint());
    tamper(path, change);
    EXPECT_THAT(refusal_of(path, a_checkpoint()), HasSubstr("was changed or damaged after it was written"));
  };
  expect_refused([](tensor_file& it) { it.tensors.front().bytes.front() ^= 1U; });
  expect_refused([](tensor_file& it) { it.tensors.back().name = "state.stop"; });
  expect_refused([](tensor_file& it) { it.tensors.pop_back(); });
  expect_refused([](tensor_file& it) { it.metadata["note"] = "{}"; });
  expect_refused([](tensor_file& it) { it.metadata["identity.net"] = "lenet6"; });
  expect_refused([](tensor_file& it) { it.metadata["further"] = ""; });
  expect_refused([](tensor_file& it) { it.metadata["sha256"] = "00"; });
  expect_refused([](tensor_file& it) { it.metadata.erase("sha256"); });
}

TEST(checkpoint, that_was_cut_is_refused_at_every_length) {
  const scratch_folder folder;
  write_checkpoint(folder / "c", a_checkpoint());
  const std::string bytes = content_of_file(folder / "c");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::ofstream(folder / "cut", std::ios::binary) << bytes.substr(0, length);
    EXPECT_THAT(refusal_of(folder / "cut", a_checkpoint()), HasSubstr("cut")) << length;
  }
}

TEST(checkpoint, other_files_are_refused) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  EXPECT_THAT(refusal_of(path, a_checkpoint()), HasSubstr("there is no such file"));
  write_tensors(path, {{{"net", "lenet5"}}, {tensor_of("conv1.weight", {1}, std::vector<float>{1})}});
  EXPECT_FALSE(is_checkpoint(read_tensors(path)));
  EXPECT_THAT(refusal_of(path, a_checkpoint()), HasSubstr("is no checkpoint of a training"));
  write_checkpoint(path, a_checkpoint());
  tamper(path, [](tensor_file& it) { it.metadata["prumo.checkpoint"] = "2"; });
  EXPECT_TRUE(is_checkpoint(read_tensors(path)));
  EXPECT_THAT(refusal_of(path, a_checkpoint()),
              HasSubstr("is a checkpoint of version 2, and this prumo reads version 1"));
}

TEST(checkpoint, other_arrays_are_refused) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  write_checkpoint(path, a_checkpoint());
  checkpoint other = a_checkpoint();
  other.arrays.front().shape = {1, 2};
  EXPECT_THAT(refusal_of(path, other), HasSubstr("array 'conv1.weight' has another type or shape"));
  other = a_checkpoint();
  other.arrays.pop_back();
  EXPECT_THAT(refusal_of(path, other), HasSubstr("holds arrays that this training does not have"));
  other = a_checkpoint();
  other.arrays.back().name = "state.sums";
  EXPECT_THAT(refusal_of(path, other), HasSubstr("lacks the array 'state.sums'"));
}

TEST(checkpoint, with_numbers_that_are_none_is_not_written_and_the_old_one_stays) {
  const scratch_folder folder;
  const std::string path = folder / "c";
  write_checkpoint(path, a_checkpoint());
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    checkpoint broken = a_checkpoint();
    broken.arrays[1] = tensor_of_doubles("optimizer.velocity", {2}, std::vector<double>{0, wrong});
    try {
      write_checkpoint(path, broken);
      ADD_FAILURE() << wrong << " was written";
    } catch (const bench::file_error& refused) {
      EXPECT_THAT(refused.what(),
                  AllOf(HasSubstr("array 'optimizer.velocity' holds a number that is not finite at place 1"),
                        HasSubstr("it was not written")));
    }
    EXPECT_EQ(read_checkpoint(path, a_checkpoint()).note, a_checkpoint().note);
  }
}

TEST(checkpoint, the_digest_of_arrays_is_that_of_their_bytes_in_order) {
  const std::vector<tensor> arrays = {{"a", "U8", {2}, {'a', 'b'}}, {"b", "U8", {1}, {'c'}}};
  EXPECT_EQ(digest_of(arrays), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace prumo::data
