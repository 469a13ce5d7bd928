// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

namespace prumo::bench {

/// A results document that can be published. It has neither the name of the host, nor the identities of devices
/// (`uuid`), nor the words of a launcher; texts about the run and the devices have `~` for the user's home folder, and
/// `user` and `host` for the names of the user and the host.
[[nodiscard]] nlohmann::json anonymized(nlohmann::json document);

}  // namespace prumo::bench
