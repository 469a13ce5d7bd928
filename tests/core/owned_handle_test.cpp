// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What C libraries hand out is given back once, also where a constructor throws.

#include <prumo/detail/device/owned_handle.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace prumo {
namespace {

struct library_object {};
int objects = 0;

int create(library_object** handle) {
  *handle = new library_object;
  ++objects;
  return 0;
}
int destroy(library_object* handle) {
  delete handle;
  --objects;
  return 0;
}
using handle = detail::owned_handle<library_object*, destroy>;

/// As a plan: several handles, of which a later one cannot be had.
struct failing_owner {
  explicit failing_owner(int made) {
    for (int i = 0; i < made; ++i) {
      several.emplace_back();
      create(several.back().receive());
    }
    create(first.receive());
    several.emplace_back();  // the library refuses, and writes no handle
    throw std::runtime_error("refused");
  }
  handle first;
  std::vector<handle> several;
};

TEST(owned_handle, is_destroyed_where_the_constructor_of_its_owner_throws) {
  objects = 0;
  EXPECT_THROW(failing_owner(3), std::runtime_error);
  EXPECT_EQ(objects, 0);
}

TEST(owned_handle, moves_and_is_destroyed_once) {
  objects = 0;
  {
    handle made;
    create(made.receive());
    library_object* const address = made;
    const handle taken = std::move(made);
    EXPECT_EQ(static_cast<library_object*>(taken), address);
    EXPECT_EQ(objects, 1);
  }
  EXPECT_EQ(objects, 0);
}

}  // namespace
}  // namespace prumo
