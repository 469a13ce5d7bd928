// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/checkpoint.hpp>
#include <prumo/data/sha256.hpp>
#include <prumo/files/file_error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace prumo::data {
namespace {

constexpr std::string_view format_name = "prumo.checkpoint";
constexpr std::string_view format_version = "1";
constexpr std::string_view identity_prefix = "identity.";
constexpr std::string_view condition_prefix = "condition.";
constexpr std::string_view note_name = "note";
constexpr std::string_view digest_name = "sha256";

void add(sha256& sum, std::string_view text) {
  sum.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// A text with its length, so that no two lists of texts have the same bytes.
void add_text(sha256& sum, std::string_view text) {
  add(sum, std::to_string(text.size()) + ":");
  add(sum, text);
}

/// The digest of everything in a file but the digest itself.
std::string digest_of_file(const tensor_file& file) {
  sha256 sum;
  for (const auto& [name, text] : file.metadata) {
    if (name == digest_name) continue;
    add_text(sum, name);
    add_text(sum, text);
  }
  std::vector<const tensor*> order;
  for (const tensor& it : file.tensors) order.push_back(&it);
  std::ranges::sort(order, {}, [](const tensor* it) { return std::string_view(it->name); });
  for (const tensor* it : order) {
    add_text(sum, it->name);
    add_text(sum, it->type);
    for (const std::int64_t extent : it->shape) add_text(sum, std::to_string(extent));
    sum.update(it->bytes);
  }
  return sum.digest();
}

std::uint64_t word_at(const std::vector<std::uint8_t>& bytes, std::size_t first, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = size; i-- > 0;) word = word << 8U | bytes[first + i];
  return word;
}

/// The place of the first number that is not finite; absent for other types than F64 and F32.
std::optional<std::size_t> place_that_is_not_finite(const tensor& which) {
  if (which.type != "F64" && which.type != "F32") return std::nullopt;
  const std::vector<double> numbers = doubles_of(which);
  const auto wrong = std::ranges::find_if(numbers, [](double number) { return !std::isfinite(number); });
  if (wrong == numbers.end()) return std::nullopt;
  return static_cast<std::size_t>(wrong - numbers.begin());
}

void refuse_what_is_not_finite(const std::string& path, const std::vector<tensor>& arrays, const std::string& remedy) {
  for (const tensor& it : arrays) {
    if (const auto place = place_that_is_not_finite(it)) {
      bench::refuse_file(path, "array '" + it.name.substr(0, 100) + "' holds a number that is not finite at place " +
                                   std::to_string(*place) + "; " + remedy);
    }
  }
}

bool is_digest(std::string_view name) { return name.ends_with("sha256"); }

/// The content that a digest of the identity stands for, in the user's words.
std::string_view content_of_digest(std::string_view name) {
  if (name == "data_sha256") return "training images";
  if (name == "test_data_sha256") return "test images";
  if (name == "initial_weights_sha256") return "weights to begin with";
  return name.substr(0, name.find('_'));
}

/// Checkpoints of earlier versions of prumo lack this text, so without it nothing is known to differ.
bool came_later(std::string_view name) { return name == "test_data_sha256"; }

/// The differences of two lists of texts in words; empty if there are none. A digest follows from something that the
/// user named, so it is told only where nothing else differs.
std::string differences(const checkpoint::texts& there, const checkpoint::texts& here) {
  const auto shown = [](const checkpoint::texts& texts, const std::string& name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string("not told") : found->second.substr(0, 100);
  };
  checkpoint::texts all = there;
  all.insert(here.begin(), here.end());
  std::string chosen, digests;
  for (const auto& [name, ignored] : all) {
    const std::string before = shown(there, name), now = shown(here, name);
    if (before == now || (came_later(name) && !there.contains(name))) continue;
    std::string& told = is_digest(name) ? digests : chosen;
    if (!told.empty()) told += ", ";
    if (is_digest(name)) told.append("other ").append(content_of_digest(name)).append(" (");
    told.append(name).append(" is ").append(before).append(" in the file and ").append(now).append(" here");
    if (is_digest(name)) told += ')';
  }
  return chosen.empty() ? digests : chosen;
}

checkpoint::texts texts_of(const tensor_file& file, std::string_view prefix) {
  checkpoint::texts found;
  for (const auto& [name, text] : file.metadata) {
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), text);
  }
  return found;
}

void check_arrays(const std::string& path, const std::vector<tensor>& there, const std::vector<tensor>& here) {
  for (const tensor& it : here) {
    const auto found = std::ranges::find(there, it.name, &tensor::name);
    if (found == there.end()) bench::refuse_file(path, "lacks the array '" + it.name + "' of this training");
    if (found->type != it.type || found->shape != it.shape) {
      bench::refuse_file(path, "array '" + it.name + "' has another type or shape than this training's");
    }
  }
  if (there.size() != here.size()) bench::refuse_file(path, "holds arrays that this training does not have");
}

}  // namespace

const tensor* checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays, name, &tensor::name);
  return found == arrays.end() ? nullptr : &*found;
}

void write_checkpoint(const std::string& path, const checkpoint& content) {
  refuse_what_is_not_finite(path, content.arrays, "it was not written, and what it held before is still there");
  tensor_file file;
  file.tensors = content.arrays;
  file.metadata.emplace(format_name, format_version);
  for (const auto& [name, text] : content.identity) file.metadata.emplace(std::string(identity_prefix) + name, text);
  for (const auto& [name, text] : content.conditions) file.metadata.emplace(std::string(condition_prefix) + name, text);
  file.metadata.emplace(note_name, content.note);
  file.metadata.emplace(digest_name, digest_of_file(file));
  write_tensors(path, file);
}

checkpoint read_checkpoint(const std::string& path, const checkpoint& expected, bool allow_mixed) {
  tensor_file file = read_tensors(path);
  const auto text = [&](std::string_view name) {
    const auto found = file.metadata.find(std::string(name));
    return found == file.metadata.end() ? std::string() : found->second;
  };
  const std::string version = text(format_name);
  if (version.empty()) {
    bench::refuse_file(path, "is no checkpoint of a training: it has weights, but not the state of an optimizer");
  }
  if (version != format_version) {
    bench::refuse_file(path, "is a checkpoint of version " + version.substr(0, 20) + ", and this prumo reads version " +
                                 std::string(format_version));
  }
  if (text(digest_name) != digest_of_file(file)) {
    bench::refuse_file(path,
                       "was changed or damaged after it was written: its content does not have the digest that it "
                       "names; take a copy of it, or begin anew without --resume");
  }
  checkpoint found{texts_of(file, identity_prefix), texts_of(file, condition_prefix), text(note_name),
                   std::move(file.tensors)};
  if (const std::string other = differences(found.identity, expected.identity); !other.empty()) {
    bench::refuse_file(path, "belongs to another training: " + other +
                                 "; repeat the command that made it, with the same files, or name another file");
  }
  const std::string other = differences(found.conditions, expected.conditions);
  if (!other.empty() && !allow_mixed) {
    bench::refuse_file(path, "was written under other conditions: " + other +
                                 "; so the same bits could not follow. "
                                 "With --allow-mixed the training goes on all the same");
  }
  check_arrays(path, found.arrays, expected.arrays);
  refuse_what_is_not_finite(path, found.arrays, "a training cannot go on from it");
  return found;
}

bool is_checkpoint(const tensor_file& file) { return file.metadata.contains(std::string(format_name)); }

std::string digest_of(const std::vector<tensor>& arrays) {
  sha256 sum;
  for (const tensor& it : arrays) sum.update(it.bytes);
  return sum.digest();
}

tensor tensor_of_doubles(std::string name, std::vector<std::int64_t> shape, std::span<const double> values) {
  tensor made{std::move(name), "F64", std::move(shape), {}};
  made.bytes.reserve(values.size() * sizeof(double));
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) made.bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return made;
}

std::vector<double> doubles_of(const tensor& which) {
  const std::size_t width = which.type == "F64" ? 8 : which.type == "F32" ? 4 : 0;
  if (width == 0) {
    throw std::invalid_argument("prumo::data::doubles_of: array '" + which.name + "' is of type " + which.type +
                                ", and only F64 and F32 are read as they are");
  }
  std::vector<double> numbers(which.bytes.size() / width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t word = word_at(which.bytes, i * width, width);
    numbers[i] = width == 8 ? std::bit_cast<double>(word) : std::bit_cast<float>(static_cast<std::uint32_t>(word));
  }
  return numbers;
}

}  // namespace prumo::data
