// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/files/sanitize.hpp>

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
  throw file_error(file_error::cause::input, sanitize(name) + ": " + std::string(what));
}

void throw_system_error(std::string_view name, std::string_view what, int error) {
  const bool mistyped = error == ENOENT || error == ENOTDIR;
  throw file_error(
      mistyped ? file_error::cause::input : file_error::cause::io,
      sanitize(name) + ": " + std::string(what) + ": " + std::strerror(error) + std::string(remedy_for(error)));
}

}  // namespace prumo::bench
