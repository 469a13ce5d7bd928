// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../portable/process_family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace prumo::machine::cuda {
namespace {

using ::testing::ElementsAre;

unsigned id(pid_t process) { return static_cast<unsigned>(process); }

TEST(process_family, parents) {
  EXPECT_EQ(parent_of(id(getpid())), id(getppid()));
  EXPECT_EQ(parent_of(0), std::nullopt);
}

/// How many of these three processes family_among() counts: this one, a sibling of it, and the parent of both.
int count_family(pid_t sibling, pid_t parent) {
  return static_cast<int>(family_among({id(getpid()), id(sibling), id(parent)}).size());
}

TEST(process_family, of_a_process_are_its_siblings_and_not_its_parent) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t parent = getpid();
  const pid_t sibling = fork();
  if (sibling == 0) {  // lives until the gate is closed
    close(gate[1]);
    char none = 0;
    _exit(read(gate[0], &none, 1) == 0 ? 0 : 1);
  }
  const pid_t asking = fork();
  if (asking == 0) _exit(count_family(sibling, parent));
  int status = 0;
  ASSERT_EQ(waitpid(asking, &status, 0), asking);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  // A child is no sibling.
  EXPECT_THAT(family_among({id(sibling), id(parent)}), ElementsAre(id(parent)));
  close(gate[0]);
  close(gate[1]);
  ASSERT_EQ(waitpid(sibling, &status, 0), sibling);
}

}  // namespace
}  // namespace prumo::machine::cuda
