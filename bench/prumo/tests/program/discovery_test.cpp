// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program_error.hpp"
#include "run_program.hpp"
#include "worker_discovery.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

void make_program(const std::string& path) {
  write_file(path, "#!/bin/sh\n");
  fs::permissions(path, fs::perms::owner_all);
}

TEST(discovery, finds_programs_and_the_first_of_a_name_wins) {
  const temporary_folder first;
  const temporary_folder second;
  make_program(first.file("prumo-worker-openmp"));
  make_program(second.file("prumo-worker-openmp"));
  make_program(second.file("prumo-worker-loops"));
  write_file(second.file("prumo-worker-notes"), "not executable");
  worker_options options;
  options.folders = {first.file(""), second.file(""), "/nonexistent"};
  const auto found = discover_workers(options);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "openmp");
  EXPECT_EQ(fs::path(found[0].command[0]).lexically_normal(), fs::path(first.file("prumo-worker-openmp")));
  EXPECT_EQ(found[1].name, "loops");
  options.search = false;
  EXPECT_TRUE(discover_workers(options).empty());
}

TEST(discovery, starts_a_python_peer_only_when_it_is_named) {
  const temporary_folder folder;
  fs::create_directories(folder.file("python/prumo_peers"));
  write_file(folder.file("python/prumo_peers/numpy.py"), "");
  worker_options options;
  options.folders = {folder.file("")};
  EXPECT_TRUE(discover_workers(options).empty());
  options.wanted_devices = {"numpy:0"};
  ASSERT_EQ(discover_workers(options).size(), 1U);
  EXPECT_EQ(discover_workers(options)[0].command, (words{"python3", "-m", "prumo_peers.numpy"}));
  options.wanted_devices.clear();
  options.named = {"numpy"};
  EXPECT_EQ(discover_workers(options).at(0).command, (words{"python3", "-m", "prumo_peers.numpy"}));
}

TEST(discovery, a_launcher_stands_in_front_of_every_command) {
  worker_options options;
  options.named = {"old='/opt/a b/worker' --quiet"};
  options.launcher = "ssh node7";
  const auto found = discover_workers(options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].command, (words{"ssh", "node7", "/opt/a b/worker", "--quiet"}));
  EXPECT_TRUE(found[0].through_launcher);
}

TEST(discovery, refuses_unreadable_and_doubled_names) {
  for (const words& named : {words{"=x"}, words{"name="}, words{"a=x", "a=y"}, words{"unknown_peer"}}) {
    worker_options options;
    options.named = named;
    EXPECT_THROW(std::ignore = discover_workers(options), program_error) << named.front();
  }
}

TEST(discovery, splits_commands_as_a_shell_does) {
  EXPECT_EQ(split_command("a  b\tc"), (words{"a", "b", "c"}));
  EXPECT_EQ(split_command("'a b' \"c 'd'\" e\\ f ''"), (words{"a b", "c 'd'", "e f", ""}));
  EXPECT_EQ(split_command("$HOME *"), (words{"$HOME", "*"}));
  EXPECT_THROW(std::ignore = split_command("a 'b"), program_error);
}

}  // namespace
}  // namespace prumo::bench::test
