// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deflate.hpp"
#include <prumo/data/byte_source.hpp>
#include <prumo/files/input_file.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace prumo::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18U;

}  // namespace

/// Reads compressed bytes of the source as they are needed.
class byte_source::inflater {
 public:
  std::size_t read(byte_source& source, std::uint8_t* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count && !ended_) {
      if (rest_.empty()) {
        buffer_.resize(chunk_bytes);
        rest_ = {buffer_.data(), source.read_raw(buffer_.data(), buffer_.size())};
      }
      const bool is_last = rest_.empty();
      const gzip_stream::step step = stream_.inflate(rest_, {to + done, count - done});
      if (!step.problem.empty()) {
        source.refuse(source.position_ + done, step.problem + "; fetch or copy the file again");
      }
      rest_ = rest_.subspan(step.taken);
      done += step.made;
      ended_ = is_last && step.made == 0 && stream_.is_complete();
      if (is_last && step.made == 0 && !ended_) {
        source.refuse(source.position_ + done, "the compressed data end too early; fetch or copy the file again");
      }
    }
    return done;
  }

 private:
  gzip_stream stream_;
  std::vector<std::uint8_t> buffer_;
  std::span<const std::uint8_t> rest_;
  bool ended_ = false;
};

byte_source byte_source::of_file(const std::string& path, std::string_view kind) {
  bench::input_limits limits;
  limits.bytes = std::numeric_limits<std::size_t>::max() / 2;  // as much as the header in the file says is read
  limits.kind = kind;
  auto file = std::make_shared<bench::input_file>(path, limits);
  return {file->name(), [file](char* to, std::size_t most) { return file->read(to, most); }, file->size()};
}

byte_source byte_source::of_bytes(std::string_view bytes, std::string name) {
  const auto read = [rest = bytes](char* to, std::size_t most) mutable {
    const std::size_t count = rest.copy(to, most);
    rest.remove_prefix(count);
    return count;
  };
  return {std::move(name), read, bytes.size()};
}

byte_source::byte_source(std::string name, reader read, std::optional<std::uint64_t> size)
    : name_(std::move(name)), read_(std::move(read)), size_(size) {
  recognize_gzip();
}

byte_source::byte_source(byte_source&&) noexcept = default;
byte_source& byte_source::operator=(byte_source&&) noexcept = default;
byte_source::~byte_source() = default;

void byte_source::recognize_gzip() {
  std::vector<std::uint8_t> first(2);
  first.resize(read_raw(first.data(), first.size()));
  first_ = std::move(first);
  if (first_.size() == 2 && first_[0] == 0x1F && first_[1] == 0x8B) inflater_ = std::make_unique<inflater>();
}

std::size_t byte_source::read_raw(std::uint8_t* to, std::size_t count) {
  std::size_t done = std::min(count, first_.size() - first_taken_);
  std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(first_taken_), done, to);
  first_taken_ += done;
  while (done < count) {
    const std::size_t got = read_(reinterpret_cast<char*>(to) + done, count - done);  // char may alias bytes
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::optional<std::uint64_t> byte_source::remaining() const {
  if (is_gzip() || !size_) return std::nullopt;
  return *size_ > position_ ? *size_ - position_ : 0;
}

std::size_t byte_source::read(std::uint8_t* to, std::size_t count) {
  const std::size_t done = inflater_ ? inflater_->read(*this, to, count) : read_raw(to, count);
  position_ += done;
  return done;
}

std::vector<std::uint8_t> byte_source::read_vector(std::uint64_t count) {
  std::vector<std::uint8_t> bytes;
  // The size of a regular file is known for certain, so one allocation is enough.
  if (const auto left = remaining()) bytes.reserve(std::min(count, *left));
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    const std::size_t more = std::min<std::uint64_t>(count - before, std::max(before, chunk_bytes));
    bytes.resize(before + more);
    const std::size_t got = read(bytes.data() + before, more);
    bytes.resize(before + got);
    if (got < more) break;
  }
  return bytes;
}

bool byte_source::is_at_end() {
  std::uint8_t next = 0;
  return read(&next, 1) == 0;
}

void byte_source::refuse(std::uint64_t place, std::string_view what) const {
  bench::refuse_file(name_, "byte " + std::to_string(place) + ": " + std::string(what));
}

}  // namespace prumo::data
