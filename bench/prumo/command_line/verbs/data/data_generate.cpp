// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"
#include "command_line/verbs/data/data.hpp"
#include "command_line/verbs/verb.hpp"
#include "terminal/progress.hpp"
#include "terminal/standard_output.hpp"
#include <prumo/data/digits.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace prumo::bench {
namespace {

/// One set to draw.
struct part {
  std::string name;  ///< as in the names of its files
  std::int64_t first;
  std::int64_t count;
};

std::int64_t read_count(const std::string& text) {
  constexpr std::int64_t most = 100'000'000;
  std::int64_t count = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || rest != text.data() + text.size() || count < 0 || count > most) {
    throw program_error(exit_code::wrong_usage,
                        fmt::format("--images: '{}' is no number of images; name one from 0 to {}", text, most));
  }
  return count;
}

class data_generate_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("folder", folder_, "where the files go; it is made if it is not there")
        ->type_name("FOLDER")
        ->required();
    app.add_option("--images", images_, "numbers of training and test images (60000,10000); with --split, one number")
        ->type_name("TRAIN,TEST")
        ->group("What");
    app.add_option("--split", split_, "write one set only: train or test")->type_name("SET")->group("What");
    app.add_option("--size", size_, "rows and columns of an image, 8 to 1024 (28)")->type_name("N|HxW")->group("What");
    app.add_option("--classes", options_.classes,
                   "number of classes from 1 to 10 (10): 2 draws only the digits 0 and 1")
        ->type_name("N")
        ->group("What");
    app.add_option("--seed", options_.seed, "of the random numbers; another one draws other images (1)")
        ->type_name("N")
        ->group("What");
    add_gzip(app, gzip_);
    add_replace(app, force_);
  }

  exit_code run(std::vector<std::string>) override {
    if (folder_.empty()) {
      throw program_error(exit_code::wrong_usage, "the name of the folder is empty; is a shell variable not set?");
    }
    const image_size size = read_size();
    const std::vector<part> parts = read_parts();
    std::vector<std::string> paths;
    for (const part& it : parts) {
      const data::data_files files = data::usual_names(folder_, it.name, gzip_);
      paths.insert(paths.end(), {files.images, files.labels});
      check_memory(fmt::format("{} images of {} x {} pixels", it.count, size.height, size.width),
                   static_cast<double>(it.count) * static_cast<double>(size.height) * static_cast<double>(size.width));
    }
    check_replaceable(paths, force_);
    make_folder(folder_);
    for (const part& it : parts) write(it);
    return exit_code::done;
  }

 private:
  image_size read_size() {
    const image_size size = read_image_size("--size", size_);
    const auto fits = [](std::int64_t side) {
      return side >= data::smallest_digit_side && side <= data::largest_digit_side;
    };
    if (!fits(size.height) || !fits(size.width)) {
      throw program_error(
          exit_code::wrong_usage,
          fmt::format("--size: digits have {} to {} rows and columns, not {}; prumo data resize makes others",
                      data::smallest_digit_side, data::largest_digit_side, size_));
    }
    if (options_.classes < 1 || options_.classes > data::most_digit_classes) {
      throw program_error(exit_code::wrong_usage, fmt::format("--classes: there are 1 to {} digits, not {}",
                                                              data::most_digit_classes, options_.classes));
    }
    options_.height = size.height;
    options_.width = size.width;
    return size;
  }

  [[nodiscard]] std::vector<part> read_parts() const {
    if (split_.empty()) {
      const std::vector<std::string> counts = split_list("--images", {images_.empty() ? "60000,10000" : images_});
      if (counts.size() != 2) {
        throw program_error(
            exit_code::wrong_usage,
            fmt::format("--images: '{}' is no pair; name two numbers such as 6000,1000, or --split", images_));
      }
      return {train_part(read_count(counts[0])), test_part(read_count(counts[1]), read_count(counts[0]))};
    }
    check_choice("--split", split_, {"train", "test"});
    if (split_ == "train") return {train_part(images_.empty() ? data::usual_train_images : read_count(images_))};
    return {test_part(images_.empty() ? data::usual_test_images : read_count(images_), 0)};
  }

  static part train_part(std::int64_t count) { return {"train", 0, count}; }

  /// The test images follow those of a whole training set, so that a smaller training set has the same test.
  static part test_part(std::int64_t count, std::int64_t train) {
    return {"t10k", std::max(train, data::usual_train_images), count};
  }

  void write(const part& which) const {
    progress line;
    line.start(static_cast<std::size_t>(which.count));
    const data::labelled_images set = data::generate_digits(which.first, which.count, options_, [&](std::int64_t done) {
      line.update(fmt::format("drawing {}", which.name), static_cast<std::size_t>(done));
    });
    const data::data_files files = data::usual_names(folder_, which.name, gzip_);
    const data::idx_format format{data::idx_header::standard, gzip_};
    line.update(fmt::format("writing {}", which.name), static_cast<std::size_t>(which.count));
    data::write_images(files.images, set.images, format);
    data::write_labels(files.labels, set.labels.classes, format);
    line.clear();
    print_output(written_line(files.images, set.images) + fmt::format("{}: {} labels\n", files.labels, which.count));
  }

  std::string folder_;
  std::string images_;
  std::string split_;
  std::string size_ = "28";
  data::digit_options options_;
  bool gzip_ = false;
  bool force_ = false;
};

}  // namespace

const verb data_generate_verb{
    "data generate", "draws images of digits into IDX files",
    "Draws images of ten digits with their labels into IDX files with the names of MNIST's. Strokes are bent, turned "
    "and shifted at random, under noise and stray lines. Equal options make equal bytes on each machine.",
    R"(Examples:
  prumo data generate digits                        60,000 images to train and 10,000 to test with
  prumo data generate digits --size 48 --gzip       images of 48 x 48 pixels, compressed
  prumo data generate small --images 1000,200       fewer
  prumo data generate test --split test --images 100
  prumo data generate few --classes 2 --seed 7      zeros and ones only, other images

Exit codes: 0 done; 2 wrong usage; 3 the machine refuses.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<data_generate_call>(); }};

}  // namespace prumo::bench
