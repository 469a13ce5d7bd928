// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file_fixture.hpp"
#include <prumo/files/file_identity.hpp>
#include <prumo/files/output_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#if defined(__linux__)
#include <sys/xattr.h>
#endif

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

class output_file_test : public testing::file_fixture {};

TEST_F(output_file_test, tells_at_once_that_it_cannot_write) {
  EXPECT_THAT(message_of([&] { output_file{folder_.string()}; }), HasSubstr("is a folder"));
  EXPECT_THAT(message_of([&] { output_file{(folder_ / "no" / "r.json").string()}; }),
              HasSubstr("create its folder first"));
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  test::write_file(path_, "");
  fs::permissions(path_, fs::perms::owner_read);
  EXPECT_THAT(message_of([&] { output_file{path_}; }, file_error::cause::io), HasSubstr("Permission denied"));
  fs::remove(path_);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(message_of([&] { output_file{path_}; }, file_error::cause::io), HasSubstr("you may write"));
}

TEST_F(output_file_test, devices_that_lose_what_is_written_are_refused) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  EXPECT_THAT(message_of([&] { output_file{"/dev/full"}; }), AllOf(HasSubstr("/dev/full"), HasSubstr("a device")));
  const output_file nothing("/dev/null");
  EXPECT_FALSE(nothing.is_regular());
  EXPECT_NO_THROW(nothing.write("x"));
}

TEST_F(output_file_test, leaves_nothing_behind) {
  {
    const output_file file(path_);
    EXPECT_FALSE(fs::exists(path_)) << "nothing is there before something is written";
    file.write("one");
    file.write("two");
    EXPECT_EQ(test::read_file(path_), "two");
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(output_file_test, only_one_program_writes_to_a_file) {
  const output_file first(path_);
  EXPECT_THAT(message_of([&] { output_file{path_}; }),
              AllOf(HasSubstr("another prumo writes to this file: process " + std::to_string(getpid()) + " on "),
                    HasSubstr(", since 2")));
  fs::create_symlink("r.json", folder_ / "link.json");
  EXPECT_THAT(message_of([&] { output_file{(folder_ / "link.json").string()}; }), HasSubstr("another prumo"));
  EXPECT_NO_THROW(output_file{(folder_ / "other.json").string()});
}

TEST_F(output_file_test, what_a_killed_program_left_is_removed_and_blocks_nobody) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const output_file file(path_);
    test::write_file(folder_ / ".r.json.new", "half of a fil");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(files(), 2u) << "the lock and a temporary file";
  {
    const output_file file(path_);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(output_file_test, a_limit_of_file_sizes_is_an_error_and_keeps_the_old_content) {
  test::write_file(path_, "old");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit{1024, 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      output_file(path_).write(std::string(4096, 'x'));
    } catch (const file_error& error) {
      const bool told = std::string(error.what()).find("ulimit -f") != std::string::npos;
      _exit(told && error.why() == file_error::cause::io ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(test::read_file(path_), "old");
}

TEST_F(output_file_test, keeps_permissions_and_follows_links) {
  const fs::path target = folder_ / "target.json";
  test::write_file(target, "");
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target.json", path_);
  output_file(path_).write("new");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(test::read_file(target), "new");
  EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const fs::path fresh = folder_ / "fresh.json";
  const mode_t mask = umask(027);
  output_file(fresh.string()).write("x");
  umask(mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(fresh).permissions()), 0640u);
}

TEST_F(output_file_test, tells_that_hard_links_part) {
  test::write_file(path_, "old");
  fs::create_hard_link(path_, folder_ / "other.json");
  const output_file file(path_);
  ASSERT_EQ(file.losses().size(), 1u);
  EXPECT_THAT(file.losses().front(), AllOf(HasSubstr("2 names (hard links)"), HasSubstr("older content")));
  file.write("new");
  EXPECT_EQ(test::read_file(folder_ / "other.json"), "old");
}

#if defined(__linux__)
TEST_F(output_file_test, keeps_owner_and_extended_attributes) {
  test::write_file(path_, "old");
  if (setxattr(path_.c_str(), "user.note", "kept", 4, 0) != 0) GTEST_SKIP() << "no attributes here";
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12346), 0);
  }
  const output_file file(path_);
  EXPECT_TRUE(file.losses().empty());
  file.write("new");
  std::array<char, 8> note{};
  EXPECT_EQ(getxattr(path_.c_str(), "user.note", note.data(), note.size()), 4);
  EXPECT_STREQ(note.data(), "kept");
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  if (geteuid() == 0) {
    EXPECT_EQ(status.st_uid, 12345u);
    EXPECT_EQ(status.st_gid, 12346u);
  }
}
#endif

TEST_F(output_file_test, links_of_others_in_folders_of_everybody_are_not_followed) {
  const fs::path link = folder_ / "trap.json";
  fs::create_symlink("victim.json", link);
  fs::permissions(folder_, fs::perms::all | fs::perms::sticky_bit);
  EXPECT_NO_THROW(output_file{link.string()}) << "one's own link";
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_THAT(message_of([&] { output_file{link.string()}; }), HasSubstr("another user put into a folder"));
  EXPECT_FALSE(fs::exists(folder_ / "victim.json"));
}

TEST_F(output_file_test, a_pipe_is_written_and_one_without_a_reader_does_not_hang) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = test::read_file(path_); });
  output_file(path_).write("through the pipe");
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_THAT(message_of([&] { output_file(path_).write("x"); }, file_error::cause::io), HasSubstr("nobody reads"));
}

TEST_F(output_file_test, comes_back_with_its_folder_unless_somebody_wrote_to_it) {
  const test::temporary_folder folder;
  const std::string place = folder.file("place"), away = folder.file("away"), path = place + "/r.json";
  fs::create_directory(place);
  const output_file file(path);
  file.write("first");
  // Its lock stays away. The file keeps its inode, which a new file may get as well.
  const auto leave_and_come_back = [&] {
    fs::rename(place, away);
    fs::create_directory(place);
    fs::rename(away + "/r.json", path);
    fs::remove_all(away);
  };
  leave_and_come_back();
  file.write("second");
  EXPECT_EQ(test::read_file(path), "second");
  leave_and_come_back();
  test::write_file(path, "somebody's");
  EXPECT_THAT(message_of([&] { file.write("third"); }, file_error::cause::io),
              HasSubstr("r.json: is another file now, which took the name while its folder was away"));
  EXPECT_EQ(test::read_file(path), "somebody's");
}

TEST_F(output_file_test, files_are_compared_by_what_they_are) {
  test::write_file(path_, "x");
  fs::create_symlink("r.json", folder_ / "link.json");
  fs::create_hard_link(path_, folder_ / "hard.json");
  fs::create_symlink("absent.json", folder_ / "dangling.json");
  const auto same = [&](const std::string& one, const std::string& other) {
    return identify_output((folder_ / one).string()) == identify_output((folder_ / other).string());
  };
  EXPECT_TRUE(same("r.json", "link.json"));
  EXPECT_TRUE(same("r.json", "hard.json"));
  EXPECT_TRUE(same("absent.json", "./absent.json"));
  EXPECT_TRUE(same("absent.json", "dangling.json"));
  EXPECT_FALSE(same("r.json", "absent.json"));
  EXPECT_FALSE(same("absent.json", "another.json"));
  EXPECT_FALSE(identify_output("/dev/null").has_value());
}

}  // namespace
}  // namespace prumo::bench
