// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "surroundings.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;

void set_variable(const char* name, const std::optional<std::string>& value) {
  value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
}

}  // namespace

temporary_folder::temporary_folder() {
  std::string pattern = (fs::temp_directory_path() / "prumo-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
}

std::size_t temporary_folder::size() const {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

void write_script(const std::string& path, const std::string& lines) {
  write_file(path, "#!/bin/sh\n" + lines + '\n');
  fs::permissions(path, fs::perms::owner_all);
}

scoped_variable::scoped_variable(const char* name, const std::optional<std::string>& value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  set_variable(name, value);
}

scoped_variable::~scoped_variable() { set_variable(name_, before_); }

}  // namespace prumo::bench::test
