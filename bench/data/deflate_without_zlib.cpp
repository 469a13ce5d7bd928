// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For workers on machines that have no zlib.
#include "deflate.hpp"
#include <prumo/files/file_error.hpp>

namespace prumo::data {
namespace {

[[noreturn]] void refuse() {
  throw bench::file_error(bench::file_error::cause::io,
                          "this prumo was built without zlib, so it neither reads nor writes compressed data; "
                          "uncompress the file with gzip -d, or build prumo where zlib is");
}

}  // namespace

struct gzip_stream::state {};

gzip_stream::gzip_stream() { refuse(); }
gzip_stream::~gzip_stream() = default;
gzip_stream::gzip_stream(gzip_stream&&) noexcept = default;
gzip_stream& gzip_stream::operator=(gzip_stream&&) noexcept = default;
bool gzip_stream::is_complete() const { refuse(); }
gzip_stream::step gzip_stream::inflate(std::span<const std::uint8_t>, std::span<std::uint8_t>) { refuse(); }
std::string compress_gzip(std::span<const std::span<const std::uint8_t>>) { refuse(); }
std::string compress_zlib(std::span<const std::uint8_t>) { refuse(); }
std::uint32_t crc32_of(std::span<const std::uint8_t>) { refuse(); }

}  // namespace prumo::data
