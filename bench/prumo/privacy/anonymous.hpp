// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// A results document that can be published. It has neither the name of the host, nor the identities of devices
/// (`uuid`), nor the words of a launcher; texts about the run and the devices have `~` for the user's home folder, and
/// `user` and `host` for the names of the user, of this host and of those that measured.
[[nodiscard]] nlohmann::json anonymized(nlohmann::json document);

/// A text about the run of a document, such as the name of its file, changed in the same way. \param run as it was
/// before anonymized() changed it
[[nodiscard]] std::string anonymized_text(std::string text, const nlohmann::json& run);

}  // namespace prumo::bench
