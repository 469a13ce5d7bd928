// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace prumo::data {
namespace {

constexpr int gzip_format = 16 + MAX_WBITS;
constexpr int zlib_format = MAX_WBITS;

uInt part_of(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

/// zlib reads from pointers that are not const, and writes nothing there.
Bytef* readable(const std::uint8_t* bytes) { return const_cast<Bytef*>(bytes); }

std::string compress(std::span<const std::span<const std::uint8_t>> parts, int format) {
  constexpr int memory_level = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, format, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, ::deflateEnd);
  std::string out;
  std::vector<std::uint8_t> buffer(std::size_t{1} << 18U);
  const auto run = [&](int flush) {
    int result = Z_OK;
    do {
      stream.next_out = buffer.data();
      stream.avail_out = part_of(buffer.size());
      result = ::deflate(&stream, flush);
      out.append(buffer.begin(), buffer.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
    } while (stream.avail_out == 0 || (flush == Z_FINISH && result == Z_OK));
  };
  for (std::span<const std::uint8_t> part : parts) {
    while (!part.empty()) {
      const uInt count = part_of(part.size());
      stream.next_in = readable(part.data());
      stream.avail_in = count;
      run(Z_NO_FLUSH);
      part = part.subspan(count);
    }
  }
  run(Z_FINISH);
  return out;
}

}  // namespace

struct gzip_stream::state {
  state() {
    if (::inflateInit2(&stream, gzip_format) != Z_OK) throw std::bad_alloc();
  }
  ~state() { ::inflateEnd(&stream); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  z_stream stream{};
  bool complete = false;
};

gzip_stream::gzip_stream() : state_(std::make_unique<state>()) {}
gzip_stream::~gzip_stream() = default;
gzip_stream::gzip_stream(gzip_stream&&) noexcept = default;
gzip_stream& gzip_stream::operator=(gzip_stream&&) noexcept = default;

bool gzip_stream::is_complete() const { return state_->complete; }

gzip_stream::step gzip_stream::inflate(std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
  z_stream& stream = state_->stream;
  step done;
  while (done.made < to.size()) {
    if (state_->complete) {
      if (done.taken == from.size()) break;
      ::inflateReset(&stream);  // another member
      state_->complete = false;
    }
    stream.next_in = readable(from.data() + done.taken);
    stream.avail_in = part_of(from.size() - done.taken);
    stream.next_out = to.data() + done.made;
    stream.avail_out = part_of(to.size() - done.made);
    const uInt given = stream.avail_in;
    const uInt room = stream.avail_out;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    done.taken += given - stream.avail_in;
    done.made += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      state_->complete = true;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      done.problem = "the compressed data are damaged (" + std::string(stream.msg ? stream.msg : "no gzip") + ")";
      break;
    } else if (given == stream.avail_in && room == stream.avail_out) {
      break;  // more input is needed
    }
  }
  return done;
}

std::string compress_gzip(std::span<const std::span<const std::uint8_t>> parts) { return compress(parts, gzip_format); }

std::string compress_zlib(std::span<const std::uint8_t> bytes) {
  const std::span<const std::uint8_t> part[] = {bytes};
  return compress(part, zlib_format);
}

std::uint32_t crc32_of(std::span<const std::uint8_t> bytes) {
  uLong sum = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const uInt count = part_of(bytes.size());
    sum = ::crc32(sum, bytes.data(), count);
    bytes = bytes.subspan(count);
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace prumo::data
