// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/shapes.hpp>

#include <string>
#include <string_view>

namespace prumo::data {

/// A net with what follows from it.
struct net {
  nets::description description;
  nets::net_facts facts;
  std::string source;  ///< stands for it in messages: its file, or its name where prumo knows it
};

/// Reads a net by its name or from a JSON file; docs/net.schema.json describes the format.
/// \throws bench::file_error that names the file, the place as a JSON pointer, and the remedy
[[nodiscard]] net read_net(const std::string& name_or_path);

/// The same for the text of a file. `name` stands for the file in messages.
[[nodiscard]] net parse_net(std::string_view text, std::string_view name);

/// The text of a net's file. Reading it gives the same net.
[[nodiscard]] std::string net_text(const nets::description& net);

}  // namespace prumo::data
