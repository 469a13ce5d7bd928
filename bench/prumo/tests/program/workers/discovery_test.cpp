// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_program.hpp"
#include "terminal/program_error.hpp"
#include "workers/python_peers.hpp"
#include "workers/worker_discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <tuple>
#include <unistd.h>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

TEST(discovery, finds_programs_and_the_first_of_a_name_wins) {
  const temporary_folder first;
  const temporary_folder second;
  write_script(first.file("prumo-worker-openmp"), "");
  write_script(second.file("prumo-worker-openmp"), "");
  write_script(second.file("prumo-worker-loops"), "");
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

words names_of(const std::vector<worker_launch>& workers) {
  words names;
  for (const worker_launch& it : workers) names.push_back(it.name);
  return names;
}

TEST(discovery, starts_a_python_peer_only_when_it_is_asked_for) {
  const temporary_folder folder;
  const scoped_variable interpreter("PRUMO_PYTHON", "/opt/python");
  fs::create_directories(folder.file("python/prumo_peers/common"));
  for (const char* file : {"__init__.py", "numpy.py", "torch.py", "common/numbers.py"}) {
    write_file(folder.file(std::string("python/prumo_peers/") + file), "");
  }
  write_script(folder.file("prumo-worker-loops"), "");
  worker_options options;
  options.folders = {folder.file("")};
  EXPECT_EQ(names_of(discover_workers(options)), words{"loops"});
  for (const char* device : {"numpy:0", "numpy", "numpy-cpu:0"}) {
    options.wanted_devices = {device};
    EXPECT_EQ(names_of(discover_workers(options)), (words{"loops", "numpy"})) << device;
  }
  const words command{"/opt/python", folder.file("python"), "numpy"};
  EXPECT_EQ(discover_workers(options)[1].command, command);
  options.wanted_devices.clear();
  options.peers = {"torch-cuda:0", "loops"};
  EXPECT_EQ(names_of(discover_workers(options)), (words{"loops", "torch"}));
  options.peers = {"all"};
  EXPECT_EQ(names_of(discover_workers(options)), (words{"loops", "numpy", "torch"}));
  options.peers.clear();
  options.named = {"numpy"};
  EXPECT_EQ(discover_workers(options).at(0).command, command);
}

TEST(discovery, an_unknown_peer_is_refused_with_those_that_there_are) {
  const temporary_folder folder;
  fs::create_directories(folder.file("python/prumo_peers"));
  write_file(folder.file("python/prumo_peers/numpy.py"), "");
  write_script(folder.file("prumo-worker-openmp"), "");
  worker_options options;
  options.folders = {folder.file("")};
  for (const char* unknown : {"nunpy", "openmp", "num"}) {
    options.peers = {unknown};
    try {
      std::ignore = discover_workers(options);
      ADD_FAILURE() << unknown << " was taken";
    } catch (const program_error& refusal) {
      EXPECT_EQ(refusal.code(), exit_code::wrong_usage);
      EXPECT_NE(std::string(refusal.what()).find("numpy"), std::string::npos) << refusal.what();
    }
  }
}

/// Makes an environment of Python in a cache folder.
void make_environment(const temporary_folder& folder, const std::string& name) {
  fs::create_directories(folder.file(name + "/bin"));
  write_script(folder.file(name + "/bin/python3"), "");
}

TEST(discovery, peers_run_in_the_python_that_has_them) {
  const temporary_folder folder;
  const scoped_variable chosen("PRUMO_PYTHON", "");
  const scoped_variable cache("XDG_CACHE_HOME", folder.file("cache"));
  const scoped_variable active("VIRTUAL_ENV", folder.file("active"));
  EXPECT_EQ(peer_interpreter(), "python3");
  make_environment(folder, "cache/prumo/python");
  EXPECT_EQ(peer_interpreter(), folder.file("cache/prumo/python/bin/python3"));
  make_environment(folder, "active");
  EXPECT_EQ(peer_interpreter(), folder.file("active/bin/python3"));
  const scoped_variable named("PRUMO_PYTHON", "python3.99");
  EXPECT_EQ(peer_interpreter(), "python3.99");
}

TEST(discovery, no_interpreter_comes_from_the_current_folder) {
  const temporary_folder folder;
  const scoped_variable chosen("PRUMO_PYTHON", "");
  make_environment(folder, ".cache/prumo/python");
  make_environment(folder, "active");
  const fs::path before = fs::current_path();
  fs::current_path(folder.file(""));
  {
    const scoped_variable cache("XDG_CACHE_HOME", ".cache");
    const scoped_variable active("VIRTUAL_ENV", "active");
    const scoped_variable home("HOME", "");
    EXPECT_THAT(peer_interpreter(), ::testing::AnyOf("python3", ::testing::StartsWith("/")));
    const scoped_variable relative("HOME", ".");
    EXPECT_THAT(peer_interpreter(), ::testing::AnyOf("python3", ::testing::StartsWith("/")));
  }
  fs::current_path(before);
}

TEST(discovery, no_interpreter_is_taken_that_others_could_have_put_there) {
  const temporary_folder folder;
  const scoped_variable chosen("PRUMO_PYTHON", "");
  const scoped_variable active("VIRTUAL_ENV", "");
  const scoped_variable cache("XDG_CACHE_HOME", folder.file("cache"));
  make_environment(folder, "cache/prumo/python");
  for (const char* place : {"cache/prumo", "cache/prumo/python", "cache/prumo/python/bin"}) {
    fs::permissions(folder.file(place), fs::perms::others_write, fs::perm_options::add);
    try {
      ADD_FAILURE() << peer_interpreter() << " was taken in spite of " << place;
    } catch (const program_error& refusal) {
      EXPECT_EQ(refusal.code(), exit_code::machine_cannot);
      EXPECT_THAT(refusal.what(), ::testing::HasSubstr(folder.file(place) + " (others may write to it)"));
    }
    fs::permissions(folder.file(place), fs::perms::others_write, fs::perm_options::remove);
  }
  if (::geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(::chown(folder.file("cache/prumo/python").c_str(), 54321, 54321), 0);
  try {
    ADD_FAILURE() << peer_interpreter() << " was taken from another user";
  } catch (const program_error& refusal) {
    EXPECT_THAT(refusal.what(), ::testing::HasSubstr("python (it belongs to another user)"));
  }
}

TEST(discovery, workers_search_no_current_folder_for_python) {
  const temporary_folder folder;
  fs::create_directories(folder.file("python"));
  const words folders{folder.file(""), "/nonexistent"};
  EXPECT_EQ(python_path_for_workers(folders, ""), folder.file("python"));
  EXPECT_EQ(python_path_for_workers(folders, ":/a::.:b:/c:"), folder.file("python") + ":/a:/c");
  EXPECT_EQ(python_path_for_workers({}, "/a:"), "/a");
}

TEST(discovery, a_launcher_stands_in_front_of_every_command) {
  worker_options options;
  options.named = {"old='/opt/a b/worker' --quiet"};
  options.launcher = "ssh node7";
  const auto found = discover_workers(options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].command, (words{"ssh", "node7", "/opt/a b/worker", "--quiet"}));
  EXPECT_EQ(found[0].launcher_words, 2U);
}

TEST(discovery, refuses_unreadable_and_doubled_names) {
  for (const words& named : {words{"=x"}, words{"name="}, words{"a=x", "a=y"}, words{"unknown_peer"}}) {
    worker_options options;
    options.named = named;
    EXPECT_THROW(std::ignore = discover_workers(options), program_error) << named.front();
  }
}

TEST(discovery, splits_commands_as_a_shell_does) {
  EXPECT_EQ(split_command("--worker", "a  b\tc"), (words{"a", "b", "c"}));
  EXPECT_EQ(split_command("--worker", "'a b' \"c 'd'\" e\\ f ''"), (words{"a b", "c 'd'", "e f", ""}));
  EXPECT_EQ(split_command("--worker", "$HOME *"), (words{"$HOME", "*"}));
  EXPECT_THROW(std::ignore = split_command("--worker", "a 'b"), program_error);
}

}  // namespace
}  // namespace prumo::bench::test
