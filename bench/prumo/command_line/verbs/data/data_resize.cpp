// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"
#include "command_line/verbs/data/data.hpp"
#include "command_line/verbs/verb.hpp"
#include "terminal/progress.hpp"
#include "terminal/standard_output.hpp"
#include <prumo/data/data_folder.hpp>
#include <prumo/data/resize.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace prumo::bench {
namespace {

class data_resize_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("from", from_, "a folder of IDX files, or a file of images")->type_name("FROM")->required();
    app.add_option("to", to_, "the folder or the file that gets the new images")->type_name("TO")->required();
    app.add_option("--size", size_, "rows and columns of the new images")
        ->type_name("N|HxW")
        ->required()
        ->group("What");
    app.add_option(
           "--method", method_,
           "area: the mean of the area that a new pixel covers (default); bilinear: between the four nearest pixels")
        ->type_name("NAME")
        ->group("What");
    add_gzip(app, gzip_);
    add_replace(app, force_);
  }

  exit_code run(std::vector<std::string>) override {
    const image_size size = read_image_size("--size", size_);
    check_choice("--method", method_, {"area", "bilinear"});
    std::error_code ignored;
    if (std::filesystem::equivalent(from_, to_, ignored)) {
      throw program_error(
          exit_code::wrong_usage,
          fmt::format("{}: the new images would replace those that they are made from; name another place", to_));
    }
    if (std::filesystem::is_directory(from_, ignored)) {
      resize_folder(size);
    } else {
      check_replaceable(std::vector{to_}, force_);
      resize_images(from_, to_, data::read_images(from_), size);
    }
    return exit_code::done;
  }

 private:
  void resize_folder(const image_size& size) const {
    const data::data_folder found = data::find_data(from_);
    std::vector<std::pair<data::data_files, data::data_files>> sets;
    std::vector<std::string> paths;
    for (const auto& [files, name] : {std::pair{found.train, "train"}, std::pair{found.test, "t10k"}}) {
      if (!files) continue;
      sets.emplace_back(*files, data::usual_names(to_, name, gzip_));
      paths.insert(paths.end(), {sets.back().second.images, sets.back().second.labels});
    }
    check_replaceable(paths, force_);
    make_folder(to_);
    for (const auto& [from, to] : sets) {
      const data::labelled_images set = data::read_set(from);
      resize_images(from.images, to.images, set.images, size);
      data::write_labels(to.labels, set.labels.classes, {data::idx_header::standard, gzip_});
      print_output(fmt::format("{}: {} labels\n", to.labels, set.labels.classes.size()));
    }
  }

  void resize_images(const std::string& from, const std::string& to, const data::image_set& images,
                     const image_size& size) const {
    check_memory(fmt::format("{} images of {} x {} pixels", images.count, size.height, size.width),
                 static_cast<double>(images.count) * static_cast<double>(images.channels) *
                     static_cast<double>(size.height) * static_cast<double>(size.width));
    progress line;
    line.start(0);
    line.update(fmt::format("resizing {}", from), 0);
    const auto how = method_ == "area" ? data::resizing::area : data::resizing::bilinear;
    const data::image_set large = data::resized(images, size.height, size.width, how);
    data::write_images(to, large, {data::idx_header::standard, gzip_ || to.ends_with(".gz")});
    line.clear();
    print_output(written_line(to, large));
  }

  std::string from_;
  std::string to_;
  std::string size_;
  std::string method_ = "area";
  bool gzip_ = false;
  bool force_ = false;
};

}  // namespace

const verb data_resize_verb{
    "data resize", "makes images of another size",
    "Makes images of another size. Integer arithmetic makes the result the same on every machine. "
    "Labels stay as they are.",
    R"(Examples:
  prumo data resize mnist mnist-48 --size 48                    both sets in a folder, with their labels
  prumo data resize mnist large --size 86x86 --method bilinear
  prumo data resize t10k-images-idx3-ubyte.gz small-images.gz --size 14

Exit codes: 0 done; 2 wrong usage, or a file that is damaged; 3 the machine refuses.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<data_resize_call>(); }};

}  // namespace prumo::bench
