// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "digit_strokes.hpp"
#include <prumo/data/digits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>

namespace prumo::data {
namespace {

/// Places in an image are counted in these parts of a pixel.
constexpr std::int64_t parts_of_pixel = 64;

/// SplitMix64 (Steele, Lea, Flood 2014), one sequence for each image. Where several numbers are taken in one
/// expression, braces give them their order: that of function arguments differs between compilers.
class random_numbers {
 public:
  random_numbers(std::uint64_t seed, std::uint64_t image) : state_(mixed(seed) ^ mixed(~image)) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15); }

  /// From `low` to `high`. The remainder prefers small numbers by less than 2^-48 here.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// The same, more often near the middle.
  std::int64_t around(std::int64_t low, std::int64_t high) { return (between(low, high) + between(low, high)) / 2; }

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27U) * 0x94D049BB133111EB;
    return z ^ z >> 31U;
  }

  std::uint64_t state_;
};

/// A place in the image, in parts of a pixel.
struct place {
  std::int64_t x;
  std::int64_t y;
};

/// The largest number whose square is not above `value`.
std::int64_t square_root(std::int64_t value) {
  const auto all = static_cast<std::uint64_t>(value);
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << (std::bit_width(all | 1) / 2); bit != 0; bit >>= 1U) {
    if ((root | bit) * (root | bit) <= all) root |= bit;
  }
  return static_cast<std::int64_t>(root);
}

/// Takes points of the strokes' grid to the image: bent, slanted, stretched, turned and shifted, each at random.
class distortion {
 public:
  distortion(random_numbers& random, std::int64_t height, std::int64_t width) : random_(random) {
    const std::int64_t side = std::min(height, width);
    // At 28 pixels a unit of the grid is a quarter of a pixel, so that a digit is about 20 pixels high, as in MNIST.
    const std::int64_t unit = side * parts_of_pixel * fine / 112;
    stretch_x_ = unit * random.around(62, 118) / 100;
    stretch_y_ = unit * random.around(70, 112) / 100;
    slant_ = random.around(-90, 90);
    // With t = tan(angle / 2) = turn / 256, cosine and sine are (1 - t^2) / (1 + t^2) and 2 t / (1 + t^2).
    const std::int64_t turn = random.around(-56, 56);
    constexpr std::int64_t whole = 256;
    cosine_ = whole * whole - turn * turn;
    sine_ = 2 * whole * turn;
    unity_ = whole * whole + turn * turn;
    centre_ = {width * parts_of_pixel / 2 + side * random.around(-9, 9) * parts_of_pixel / 64,
               height * parts_of_pixel / 2 + side * random.around(-9, 9) * parts_of_pixel / 64};
  }

  place operator()(const stroke_point& point) {
    const std::int64_t y = std::int64_t{4} * point.y + random_.around(-20, 20);
    const std::int64_t x = std::int64_t{4} * point.x + random_.around(-20, 20) - y * slant_ / 256;
    const std::int64_t stretched_x = x * stretch_x_ / (4 * fine);
    const std::int64_t stretched_y = y * stretch_y_ / (4 * fine);
    return {centre_.x + (stretched_x * cosine_ - stretched_y * sine_) / unity_,
            centre_.y + (stretched_x * sine_ + stretched_y * cosine_) / unity_};
  }

 private:
  static constexpr std::int64_t fine = 1024;
  random_numbers& random_;
  std::int64_t stretch_x_;
  std::int64_t stretch_y_;
  std::int64_t slant_;
  std::int64_t cosine_;
  std::int64_t sine_;
  std::int64_t unity_;
  place centre_;
};

/// Draws lines with soft edges into an image.
class pen {
 public:
  /// `radius` is half the width of a line, in parts of a pixel; `ink` its brightness.
  pen(std::span<std::uint8_t> pixels, std::int64_t height, std::int64_t width, std::int64_t radius, std::int64_t ink)
      : pixels_(pixels), height_(height), width_(width), reach_(radius + parts_of_pixel / 2), ink_(ink) {
    const std::int64_t core = std::max<std::int64_t>(radius - parts_of_pixel / 2, 0);
    edge_ = reach_ * reach_;
    slope_ = (ink << shift) / (edge_ - core * core);
  }

  /// Lighter pixels along the line become as bright as the ink; nothing becomes darker.
  void line(place from, place to) {
    const std::int64_t x = to.x - from.x;
    const std::int64_t y = to.y - from.y;
    const std::int64_t length2 = x * x + y * y;
    const std::int64_t inverse = (std::int64_t{1} << shift) / std::max<std::int64_t>(square_root(length2), 1);
    const auto first = [&](std::int64_t a, std::int64_t b) {
      return std::max<std::int64_t>((std::min(a, b) - reach_) / parts_of_pixel, 0);
    };
    const auto last = [&](std::int64_t a, std::int64_t b, std::int64_t extent) {
      return std::min<std::int64_t>((std::max(a, b) + reach_) / parts_of_pixel, extent - 1);
    };
    const std::int64_t first_column = first(from.x, to.x);
    const std::int64_t last_column = last(from.x, to.x, width_);
    for (std::int64_t row = first(from.y, to.y), end = last(from.y, to.y, height_); row <= end; ++row) {
      const std::int64_t py = row * parts_of_pixel + parts_of_pixel / 2 - from.y;
      for (std::int64_t column = first_column; column <= last_column; ++column) {
        const std::int64_t px = column * parts_of_pixel + parts_of_pixel / 2 - from.x;
        const std::int64_t along = px * x + py * y;
        std::int64_t distance2 = 0;
        if (along <= 0) {
          distance2 = px * px + py * py;
        } else if (along >= length2) {
          distance2 = (px - x) * (px - x) + (py - y) * (py - y);
        } else {
          const std::int64_t cross = px * y - py * x;
          const std::int64_t distance = (cross < 0 ? -cross : cross) * inverse >> shift;
          distance2 = distance * distance;
        }
        if (distance2 >= edge_) continue;
        const std::int64_t value = std::min(ink_, (edge_ - distance2) * slope_ >> shift);
        std::uint8_t& pixel = pixels_[static_cast<std::size_t>(row * width_ + column)];
        pixel = std::max(pixel, static_cast<std::uint8_t>(value));
      }
    }
  }

  /// The quadratic curve from `from` to `to` that is drawn towards `control`.
  void curve(place from, place control, place to) {
    constexpr std::int64_t steps = 5;
    place before = from;
    for (std::int64_t i = 1; i <= steps; ++i) {
      const std::int64_t a = (steps - i) * (steps - i);
      const std::int64_t b = 2 * i * (steps - i);
      const std::int64_t c = i * i;
      const place next{(a * from.x + b * control.x + c * to.x) / (steps * steps),
                       (a * from.y + b * control.y + c * to.y) / (steps * steps)};
      line(before, next);
      before = next;
    }
  }

 private:
  static constexpr int shift = 24;
  std::span<std::uint8_t> pixels_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t reach_;
  std::int64_t ink_;
  std::int64_t edge_ = 0;   ///< the square of the distance at which a line ends
  std::int64_t slope_ = 0;  ///< how fast the ink grows from there
};

place middle(place a, place b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

void draw(pen& with, stroke points, distortion& distort) {
  constexpr std::size_t most_points = 16;
  std::array<place, most_points> at{};
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool corner = i > 0 && points[i].x == points[i - 1].x && points[i].y == points[i - 1].y;
    at[i] = corner ? at[i - 1] : distort(points[i]);
  }
  if (count == 2) return with.line(at[0], at[1]);
  place from = at[0];
  for (std::size_t i = 1; i + 1 < count; ++i) {
    const place to = i + 2 == count ? at[i + 1] : middle(at[i], at[i + 1]);
    with.curve(from, at[i], to);
    from = to;
  }
}

/// Lines that belong to no digit.
void draw_stray_lines(std::span<std::uint8_t> pixels, random_numbers& random, const digit_options& options) {
  const std::int64_t side = std::min(options.height, options.width);
  const auto anywhere = [&](std::int64_t extent) { return random.between(0, extent * parts_of_pixel); };
  for (std::int64_t lines = random.between(0, 2); lines > 0; --lines) {
    pen with{pixels, options.height, options.width, side * parts_of_pixel * random.between(12, 24) / 1000,
             random.between(60, 170)};
    const place from{anywhere(options.width), anywhere(options.height)};
    const std::int64_t reach = side * parts_of_pixel / 4;
    with.line(from, {from.x + random.between(-reach, reach), from.y + random.between(-reach, reach)});
  }
}

/// Adds to each pixel a number around zero: half the sum of two uniform ones, each at most `strength`.
void add_noise(std::span<std::uint8_t> pixels, random_numbers& random, std::int64_t strength) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    bits = i % 4 == 0 ? random.next() : bits >> 16U;
    const auto sum = static_cast<std::int64_t>((bits & 0xFFU) + (bits >> 8U & 0xFFU)) - 255;
    pixels[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(pixels[i] + sum * strength / 512, 0, 255));
  }
}

std::uint8_t draw_digit(std::span<std::uint8_t> pixels, std::uint64_t image, const digit_options& options) {
  random_numbers random(options.seed, image);
  const std::int64_t digit = random.between(0, options.classes - 1);
  const auto ways = ways_of_writing(digit);
  const strokes way = ways[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ways.size()) - 1))];
  draw_stray_lines(pixels, random, options);
  distortion distort(random, options.height, options.width);
  const std::int64_t side = std::min(options.height, options.width);
  pen with{pixels, options.height, options.width, side * parts_of_pixel * random.between(20, 66) / 1000,
           random.between(130, 255)};
  for (const stroke& it : way) draw(with, it, distort);
  add_noise(pixels, random, random.between(20, 110));
  return static_cast<std::uint8_t>(digit);
}

void check(std::int64_t first, std::int64_t count, const digit_options& options) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("prumo::data::generate_digits: " + what);
  };
  for (const std::int64_t side : {options.height, options.width}) {
    if (side < smallest_digit_side || side > largest_digit_side) {
      refuse("images have 8 to 1024 rows and columns, not " + std::to_string(side));
    }
  }
  if (options.classes < 1 || options.classes > most_digit_classes)
    refuse("there are 1 to 10 classes, not " + std::to_string(options.classes));
  if (first < 0 || count < 0 || count > std::int64_t{1} << 31U) refuse("the number of images is out of range");
}

}  // namespace

labelled_images generate_digits(std::int64_t first, std::int64_t count, const digit_options& options,
                                const std::function<void(std::int64_t)>& progress) {
  constexpr std::int64_t images_per_report = 1000;
  check(first, count, options);
  labelled_images set;
  set.images.count = count;
  set.images.height = options.height;
  set.images.width = options.width;
  const std::int64_t bytes = set.images.bytes_per_image();
  set.images.pixels.resize(static_cast<std::size_t>(count * bytes));
  set.labels.classes.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    if (progress && i % images_per_report == 0) progress(i);
    const auto pixels =
        std::span(set.images.pixels).subspan(static_cast<std::size_t>(i * bytes), static_cast<std::size_t>(bytes));
    set.labels.classes[static_cast<std::size_t>(i)] =
        draw_digit(pixels, static_cast<std::uint64_t>(first + i), options);
  }
  return set;
}

}  // namespace prumo::data
