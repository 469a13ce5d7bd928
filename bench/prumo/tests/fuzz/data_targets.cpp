// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The formats of images, labels, weights and nets.
#include "fuzz_targets.hpp"
#include "reports/data_report.hpp"
#include "require.hpp"
#include <prumo/data/idx.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/data/safetensors.hpp>
#include <prumo/files/file_error.hpp>

#include <string>

namespace prumo::bench::fuzz {
namespace {

const text_style narrow{60, false, true, false};

/// Calls `read`; refusals are fine, as long as their messages are.
template <class Read>
void refuse_or(Read read) {
  try {
    read();
  } catch (const file_error& error) {
    require_harmless(error.what());
  }
}

void read_idx(bool labels, std::string_view bytes) {
  if (labels) {
    refuse_or([&] {
      require_harmless(labels_report("fuzz", data::read_labels(data::byte_source::of_bytes(bytes, "fuzz"))));
    });
    return;
  }
  refuse_or([&] {
    const data::image_set images = data::read_images(data::byte_source::of_bytes(bytes, "fuzz"));
    require(images.pixels.size() == static_cast<std::size_t>(images.count * images.bytes_per_image()),
            "images and their pixels differ in number");
    require_harmless(images_report("fuzz", images));
  });
}

}  // namespace

void idx(std::string_view bytes) {
  if (!bytes.empty()) read_idx(bytes.front() % 2 != 0, bytes.substr(1));
}

void gzip(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool labels = bytes.front() % 2 != 0;
  std::string file(bytes.substr(1));
  if (!file.starts_with("\x1f\x8b")) file.insert(0, "\x1f\x8b\x08");
  read_idx(labels, file);
}

void safetensors(std::string_view bytes) {
  refuse_or([&] {
    const data::tensor_file file = data::read_tensors(data::byte_source::of_bytes(bytes, "fuzz"));
    for (const data::tensor& it : file.tensors) {
      require(it.bytes.size() == static_cast<std::size_t>(it.size()) * data::bytes_of_type(it.type),
              "an array of another size");
      if (it.type.starts_with("F") && !it.type.starts_with("F8")) {
        require(data::floats_of(it).size() == static_cast<std::size_t>(it.size()), "numbers are missing");
      }
    }
    require_harmless(tensors_report("fuzz", file, narrow));
    (void)data::weights_for(nets::named_net("mnist-2f"), file, "fuzz");
  });
}

void net(std::string_view text) {
  refuse_or([&] {
    const data::net read = data::parse_net(text, "fuzz");
    require_harmless(net_report(read, narrow));
    require(data::parse_net(data::net_text(read.description), "again").description == read.description,
            "a net changed when it was written");
  });
}

}  // namespace prumo::bench::fuzz
