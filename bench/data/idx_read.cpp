// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/idx.hpp>
#include <prumo/files/file_error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace prumo::data {
namespace {

constexpr std::uint32_t largest_side = 65535;
constexpr std::size_t number_bytes = 4;

constexpr std::string_view image_remedy = "name a file such as t10k-images-idx3-ubyte";
constexpr std::string_view label_remedy = "name a file such as t10k-labels-idx1-ubyte";
constexpr std::string_view copy_remedy = "fetch or copy the file again";

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
}

std::uint32_t swapped(std::uint32_t value) {
  return value << 24U | (value & 0xFF00U) << 8U | (value >> 8U & 0xFF00U) | value >> 24U;
}

std::uint32_t host_order(const std::uint8_t* bytes) {
  const std::uint32_t value = big_endian(bytes);
  return std::endian::native == std::endian::big ? value : swapped(value);
}

std::string remedied(std::string text, std::string_view remedy) { return std::move(text) + "; " + std::string(remedy); }

std::string_view type_name(std::uint8_t code) {
  switch (code) {
    case 0x09: return "signed bytes";
    case 0x0B: return "16-bit integers";
    case 0x0C: return "32-bit integers";
    case 0x0D: return "32-bit floats";
    case 0x0E: return "64-bit floats";
    default: return {};
  }
}

/// A header as it was read: extents, and where the numbers that they come from begin.
struct header {
  idx_format format;
  std::vector<std::uint32_t> extents;

  [[nodiscard]] idx_content content() const { return extents.size() == 1 ? idx_content::labels : idx_content::images; }
};

class header_reader {
 public:
  explicit header_reader(byte_source& source) : source_(source) {}

  /// `expected` decides over files of the course, whose headers do not tell what they hold.
  header read(std::optional<idx_content> expected) {
    std::array<std::uint8_t, number_bytes> magic{};
    if (const std::size_t got = source_.read(magic.data(), magic.size()); got < magic.size()) {
      source_.refuse(0, "the file ends after " + std::to_string(got) + " bytes, so it has no IDX header; " +
                            std::string(copy_remedy));
    }
    header head;
    head.format.gzip = source_.is_gzip();
    if (big_endian(magic.data()) == 0) {
      head.format.header = idx_header::course;
      read_course_extents(head, expected);
    } else {
      check_magic(magic);
      for (std::size_t i = 0; i < magic[3]; ++i) head.extents.push_back(big_endian(next().data()));
    }
    return head;
  }

 private:
  std::array<std::uint8_t, number_bytes> next() {
    std::array<std::uint8_t, number_bytes> bytes{};
    if (source_.read(bytes.data(), bytes.size()) < bytes.size()) {
      source_.refuse(source_.position(), remedied("the file ends within its header", copy_remedy));
    }
    return bytes;
  }

  void check_magic(const std::array<std::uint8_t, number_bytes>& magic) const {
    const std::uint32_t value = big_endian(magic.data());
    if (magic[0] == 0 && magic[1] == 0 && !type_name(magic[2]).empty()) {
      source_.refuse(2, "the file holds " + std::string(type_name(magic[2])) +
                            ", and prumo reads unsigned bytes (0x08); convert it, for example with numpy");
    }
    if (magic[0] != 0 || magic[1] != 0 || magic[2] != 0x08) {
      const bool swapped_idx = swapped(value) == 2049 || swapped(value) == 2051 || swapped(value) == 2052;
      source_.refuse(0,
                     "the magic number is " + std::to_string(value) +
                         (swapped_idx ? ", a header with swapped bytes; write its numbers big-endian"
                                      : ", and IDX files have 2049 (labels), 2051 or 2052 (images); name an IDX file"));
    }
    if (magic[3] != 1 && magic[3] != 3 && magic[3] != 4) {
      source_.refuse(3, "the file has " + std::to_string(magic[3]) +
                            " extents; labels have one, images three (images, rows, columns) or four (with channels); "
                            "name another file");
    }
  }

  /// The byte order is the one in which the extents make sense. If the content is not known and no image has
  /// such sides, these bytes are labels already.
  void read_course_extents(header& head, std::optional<idx_content> expected) {
    const auto count = next();
    if (expected == idx_content::labels) {
      head.extents = {plausible_count(count)};
      return;
    }
    std::array<std::uint8_t, 2 * number_bytes> sides{};
    const std::size_t got = source_.read(sides.data(), sides.size());
    for (const bool swap : {false, true}) {
      const auto number = [&](const std::uint8_t* bytes) {
        return swap ? swapped(host_order(bytes)) : host_order(bytes);
      };
      const std::uint32_t height = number(sides.data());
      const std::uint32_t width = number(sides.data() + number_bytes);
      if (got == sides.size() && height >= 1 && height <= largest_side && width >= 1 && width <= largest_side) {
        head.extents = {number(count.data()), height, width};
        return;
      }
    }
    if (expected == idx_content::images) {
      source_.refuse(2 * number_bytes,
                     "the magic number is 0 as in the course's files, and rows and columns are none of "
                     "an image in either byte order; is this the file of labels?");
    }
    head.extents = {plausible_count(count)};
  }

  std::uint32_t plausible_count(const std::array<std::uint8_t, number_bytes>& bytes) const {
    const std::uint32_t own = host_order(bytes.data());
    const auto left = source_.remaining();
    return left && *left != own && *left == swapped(own) ? swapped(own) : own;
  }

  byte_source& source_;
};

/// How many bytes the header promises.
std::uint64_t promised_bytes(const byte_source& source, const header& head) {
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i < head.extents.size(); ++i) {
    const std::uint64_t place = number_bytes * (i + 1);
    if (i > 0 && (head.extents[i] == 0 || head.extents[i] > largest_side)) {
      source.refuse(place, "an image has " + std::to_string(head.extents[i]) + " " +
                               (i + 1 == head.extents.size()   ? "columns"
                                : i + 2 == head.extents.size() ? "rows"
                                                               : "channels") +
                               ", and prumo reads 1 to " + std::to_string(largest_side) + "; " +
                               std::string(copy_remedy));
    }
    if (head.extents[i] != 0 && bytes > most_content_bytes / head.extents[i]) {
      source.refuse(place, remedied("the header promises more than 1 TiB", copy_remedy));
    }
    bytes *= head.extents[i];
  }
  return bytes;
}

std::string described(const header& head) {
  std::string text = std::to_string(head.extents[0]);
  if (head.content() == idx_content::labels) return text + " labels";
  text += " images of ";
  for (std::size_t i = 1; i < head.extents.size(); ++i) {
    text += (i > 1 ? " x " : "") + std::to_string(head.extents[i]);
  }
  return text;
}

/// The rest of the file, which is exactly what the header promises.
std::vector<std::uint8_t> read_content(byte_source& source, const header& head, std::uint64_t promised) {
  const std::uint64_t begin = source.position();
  const auto refuse_length = [&](std::uint64_t there, std::string_view beyond) {
    source.refuse(begin + std::min(there, promised), "the header promises " + described(head) + ", " +
                                                         std::to_string(promised) + " bytes, and the file " + "holds " +
                                                         std::string(beyond) + "; " + std::string(copy_remedy));
  };
  if (const auto left = source.remaining(); left && *left != promised) {
    refuse_length(*left, std::to_string(*left) + " after the header");
  }
  std::vector<std::uint8_t> bytes = source.read_vector(promised);
  if (bytes.size() < promised) refuse_length(bytes.size(), std::to_string(bytes.size()) + " after the header");
  if (!source.is_at_end()) refuse_length(promised, "more");
  return bytes;
}

/// The course's own writer stored the first three extents of [images, 1, height, width].
void mend_course_extents(const byte_source& source, header& head) {
  if (head.format.header != idx_header::course || head.extents.size() != 3 || head.extents[1] != 1) return;
  const std::uint64_t square = std::uint64_t{head.extents[0]} * head.extents[2] * head.extents[2];
  if (head.extents[2] > 1 && (!source.remaining() || *source.remaining() == square)) head.extents[1] = head.extents[2];
}

}  // namespace

image_set read_images(byte_source source) {
  header head = header_reader(source).read(idx_content::images);
  if (head.content() == idx_content::labels) {
    source.refuse(3, remedied("these are labels (magic number 2049), and images are needed", image_remedy));
  }
  mend_course_extents(source, head);
  image_set images;
  images.pixels = read_content(source, head, promised_bytes(source, head));
  images.format = head.format;
  images.count = head.extents[0];
  images.channels = head.extents.size() == 4 ? head.extents[1] : 1;
  images.height = head.extents[head.extents.size() - 2];
  images.width = head.extents.back();
  return images;
}

label_set read_labels(byte_source source) {
  const header head = header_reader(source).read(idx_content::labels);
  if (head.content() == idx_content::images) {
    source.refuse(3, remedied("these are images, and labels are needed (magic number 2049)", label_remedy));
  }
  return {read_content(source, head, promised_bytes(source, head)), head.format};
}

image_set read_images(const std::string& path) { return read_images(byte_source::of_file(path, "file of images")); }

label_set read_labels(const std::string& path) { return read_labels(byte_source::of_file(path, "file of labels")); }

idx_content content_of(const std::string& path) {
  byte_source source = byte_source::of_file(path, "file of images or labels");
  return header_reader(source).read(std::nullopt).content();
}

void check_labels(const label_set& labels, std::string_view name, std::int64_t classes) {
  const auto wrong = std::ranges::find_if(labels.classes, [&](std::uint8_t it) { return it >= classes; });
  if (wrong == labels.classes.end()) return;
  const std::ptrdiff_t place = wrong - labels.classes.begin();
  bench::refuse_file(name, "byte " + std::to_string(8 + place) + ": label " + std::to_string(place) + " is class " +
                               std::to_string(*wrong) + ", and there are " + std::to_string(classes) +
                               " classes from 0 up; take labels of these classes or a net with more of them");
}

void check_pair(const image_set& images, std::string_view images_name, const label_set& labels,
                std::string_view labels_name) {
  if (static_cast<std::uint64_t>(images.count) == labels.classes.size()) return;
  bench::refuse_file(labels_name, "byte 4: the file holds " + std::to_string(labels.classes.size()) + " labels, and " +
                                      std::string(images_name) + " holds " + std::to_string(images.count) +
                                      " images; take the two files of one set");
}

}  // namespace prumo::data
