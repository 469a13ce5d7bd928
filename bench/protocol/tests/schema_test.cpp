// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace prumo::protocol {
namespace {

// Workers in other languages are tested against this file, so it has to say what the C++ library does.
TEST(message_schema, is_the_one_in_docs) {
  std::ifstream file(PRUMO_PROTOCOL_SCHEMA);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(message_schema().dump(1) + '\n', text.str())
      << "write the output of the target prumo_protocol_schema to docs/protocol.schema.json";
}

TEST(message_schema, requires_what_reading_requires) {
  const json schema = message_schema();
  const json& prepare = schema.at("$defs").at("prepare.request");
  EXPECT_EQ(prepare.at("required").dump(), R"(["device","op","dtype"])");
  EXPECT_EQ(prepare.at("properties").at("cache").dump(), R"({"type":["string","null"],"enum":["cold","hot",null]})");
  const json& samples = schema.at("$defs").at("sample.answer").at("properties").at("samples");
  EXPECT_EQ(samples.dump(), R"({"type":"array","items":{"type":"number","exclusiveMinimum":0},"minItems":1})");
}

}  // namespace
}  // namespace prumo::protocol
