// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"
#include "command_line/verbs/data/data.hpp"
#include "command_line/verbs/verb.hpp"
#include "reports/data_report.hpp"
#include "terminal/standard_output.hpp"
#include <prumo/data/content.hpp>
#include <prumo/data/data_folder.hpp>
#include <prumo/data/png.hpp>
#include <prumo/files/file_error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unistd.h>

namespace prumo::bench {
namespace {

/// The images of a sheet: `most` of them, class by class where labels are known.
std::vector<std::int64_t> chosen_images(const data::image_set& images, const data::label_set* labels,
                                        std::int64_t most) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(std::min(images.count, most)));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (labels != nullptr) {
    std::ranges::stable_sort(all, {},
                             [&](std::int64_t which) { return labels->classes[static_cast<std::size_t>(which)]; });
  }
  return all;
}

class data_info_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("paths", paths_,
                   "a folder of IDX files, an IDX or safetensors file, a net's JSON file, or the name of a net: "
                   "ece408-2019, ece408-2020, mnist-2f, lenet5")
        ->type_name("PATH")
        ->required();
    app.add_flag("--json", json_, "print nets as JSON, as a start for a net of your own")->group("Output");
    add_output(app, "--sheet", sheet_, "write a picture of images (PNG) to this file");
    app.add_option("--sheet-images", sheet_images_, "how many images the picture shows (200)")
        ->check(CLI::Range(1, 10000))
        ->type_name("N")
        ->group("Output");
    add_replace(app, force_);
  }

  exit_code run(std::vector<std::string>) override {
    if (!sheet_.empty()) check_replaceable(std::vector{sheet_}, force_);
    for (const std::string& path : paths_) tell(path);
    if (!sheet_.empty() && !has_sheet_) {
      throw program_error(exit_code::wrong_usage, "--sheet: none of the files holds images; name one that does");
    }
    return exit_code::done;
  }

 private:
  void tell(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return tell_folder(path);
    switch (data::kind_of_file(path)) {
      case data::file_kind::images: return tell_images(path, data::read_images(path), nullptr);
      case data::file_kind::labels: return print_output(labels_report(path, data::read_labels(path)));
      case data::file_kind::weights:
        return print_output(tensors_report(path, data::read_tensors(path), style_for(STDOUT_FILENO)));
      case data::file_kind::net: return tell_net(data::read_net(path));
    }
  }

  void tell_folder(const std::string& path) {
    const data::data_folder found = data::find_data(path);
    // The test images come first, so that the picture shows them: they are fewer and read faster.
    for (const auto& files : {found.test, found.train}) {
      if (!files) continue;
      const data::labelled_images set = data::read_set(*files);
      tell_images(files->images, set.images, &set.labels);
      print_output(labels_report(files->labels, set.labels));
    }
  }

  void tell_images(const std::string& path, const data::image_set& images, const data::label_set* labels) {
    print_output(images_report(path, images));
    if (sheet_.empty() || has_sheet_ || images.count == 0) return;
    constexpr std::int64_t columns = 20;
    data::write_sheet(sheet_, images, chosen_images(images, labels, sheet_images_), columns);
    has_sheet_ = true;
    print_output(fmt::format("{}: a picture of {} of them\n", sheet_, std::min(images.count, sheet_images_)));
  }

  void tell_net(const data::net& net) const {
    print_output(json_ ? data::net_text(net.description) : net_report(net, style_for(STDOUT_FILENO)));
  }

  std::vector<std::string> paths_;
  std::string sheet_;
  std::int64_t sheet_images_ = 200;
  bool json_ = false;
  bool force_ = false;
  bool has_sheet_ = false;
};

}  // namespace

const verb data_info_verb{"data info", "what a file or folder of images, a file of weights, or a net is",
                          "Tells what a file is: its format and shapes, how many images each class has, mean and "
                          "deviation of the pixels, and digests. Of a net it shows the layers with their shapes, "
                          "weights and flops.",
                          R"(Examples:
  prumo data info digits                              the sets in a folder
  prumo data info digits --sheet digits.png           and a picture of the first images
  prumo data info t10k-images-idx3-ubyte.gz
  prumo data info lenet5                              the layers of a net
  prumo data info lenet5 --json > mine.json           a net's file, as a start for a net of your own
  prumo data info weights.safetensors                 the arrays in a file of weights

Exit codes: 0 done; 2 wrong usage, or a file that is damaged; 3 the machine refuses.)",
                          []() -> std::unique_ptr<verb_call> { return std::make_unique<data_info_call>(); }};

}  // namespace prumo::bench
