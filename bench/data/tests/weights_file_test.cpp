// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/sha256.hpp>
#include <prumo/data/weights_file.hpp>

#include <vector>

namespace prumo::data {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;

std::string write(const std::string& path, std::map<std::string, std::string> metadata) {
  write_tensors(path, {std::move(metadata), {tensor_of("dense1.bias", {2}, std::vector<float>{1, 2})}});
  return path;
}

TEST(weights_file, is_read_with_its_digest_and_what_it_says_of_itself) {
  const scratch_folder folder;
  const std::string path = write(folder / "w", {{"data", "digits"}, {"test_accuracy", "0.9912"}});
  const weights_file file = read_weights(path);
  const std::string bytes = content_of_file(path);
  EXPECT_EQ(file.path, path);
  EXPECT_EQ(file.sha256, sha256_of(std::vector<std::uint8_t>(bytes.begin(), bytes.end())));
  EXPECT_EQ(file.trained_on, "digits");
  EXPECT_EQ(file.stated_accuracy, 0.9912);
  ASSERT_NE(file.tensors.find("dense1.bias"), nullptr);
}

TEST(weights_file, an_accuracy_that_is_none_is_left_out) {
  const scratch_folder folder;
  for (const char* text : {"", "98 %", "1.5", "-0.1", "nan", "0.5x"}) {
    EXPECT_EQ(read_weights(write(folder / "w", {{"test_accuracy", text}})).stated_accuracy, std::nullopt) << text;
  }
  EXPECT_THAT(read_weights(write(folder / "w", {})).trained_on, IsEmpty());
}

TEST(weights_file, a_damaged_file_is_refused) {
  const scratch_folder folder;
  EXPECT_THROW((void)read_weights(folder / "absent"), bench::file_error);
  EXPECT_THROW((void)read_weights(folder.put("w", "no weights at all")), bench::file_error);
}

TEST(weights_file, shipped_weights_are_found_beside_programs_and_where_they_are_installed) {
  const scratch_folder folder;
  namespace fs = std::filesystem;
  const std::vector<std::string> folders{folder / "bin", folder / "libexec/prumo"};
  EXPECT_THAT(find_weights("lenet5", folders), IsEmpty());
  fs::create_directories(folder / "share/prumo/weights");
  fs::create_directories(folder / "bin");
  const std::string installed = folder.put("share/prumo/weights/lenet5-digits.safetensors", "");
  EXPECT_EQ(find_weights("lenet5", folders), installed);
  EXPECT_THAT(find_weights("lenet5", folders, "mnist"), IsEmpty());
  EXPECT_THAT(find_weights("lenet", folders), IsEmpty());
  fs::create_directories(folder / "bin/weights");
  EXPECT_THAT(find_weights("lenet5", folders), EndsWith("share/prumo/weights/lenet5-digits.safetensors"));
  const std::string built = folder.put("bin/weights/lenet5-digits.safetensors", "");
  EXPECT_EQ(find_weights("lenet5", folders), built);
}

}  // namespace
}  // namespace prumo::data
