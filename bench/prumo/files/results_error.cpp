// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/results_error.hpp"

#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace prumo::bench {
namespace {

std::string_view remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "; free some space or name a file elsewhere";
    case EFBIG: return "; raise the limit of file sizes (ulimit -f) or name a file elsewhere";
    case EACCES:
    case EPERM:
    case EROFS: return "; name a file in a folder that you may write";
    case ENOENT:
    case ENOTDIR: return "; create its folder first";
    default: return "";
  }
}

}  // namespace

void refuse_file(std::string_view name, std::string_view what) {
  throw results_error(results_error::cause::input, fmt::format("{}: {}", sanitize(name), what));
}

void throw_system_error(std::string_view name, std::string_view what, int error) {
  const bool mistyped = error == ENOENT || error == ENOTDIR;
  throw results_error(mistyped ? results_error::cause::input : results_error::cause::io,
                      fmt::format("{}: {}: {}{}", sanitize(name), what, std::strerror(error), remedy_for(error)));
}

}  // namespace prumo::bench
