// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_session.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sweep.hpp"
#include <prumo/serving/surroundings.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

namespace prumo::accuracy {
namespace {

/// A file that cannot be written.
class output_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class Exec>
std::string device_name() {
  std::string name = Exec::name();
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

/// The devices of this build, the one that Kokkos prefers first.
std::vector<std::string> devices() {
  std::vector<std::string> names{device_name<Kokkos::DefaultExecutionSpace>()};
#define PRUMO_ADD_NAME(Space) \
  if (device_name<Space>() != names.front()) names.push_back(device_name<Space>());
  PRUMO_FOR_EACH_SPACE(PRUMO_ADD_NAME)
#undef PRUMO_ADD_NAME
  return names;
}

/// A line on a terminal that is overwritten.
class progress_line {
 public:
  explicit progress_line(std::string what) : what_(std::move(what)) {}
  ~progress_line() {
    if (is_shown_) std::fprintf(stderr, "\r%*s\r", static_cast<int>(what_.size()) + 8, "");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void operator()(double share) {
    static const bool is_terminal = isatty(STDERR_FILENO) != 0;
    const int percent = static_cast<int>(100 * share);
    if (!is_terminal || percent == last_) return;
    last_ = percent;
    is_shown_ = true;
    std::fprintf(stderr, "\r%s %3d %%", what_.c_str(), percent);
  }

 private:
  std::string what_;
  int last_ = -1;
  bool is_shown_ = false;
};

template <class T, class Exec>
std::vector<std::pair<double, double>> special_values(sweeper<Exec>& device, function which) {
  std::vector<T> arguments;
  for (const double x : special_arguments(scalar_traits<T>::type)) {
    arguments.push_back(static_cast<T>(static_cast<compute_t<T>>(x)));
  }
  const std::vector<T> results = device.results_of(which, arguments);
  std::vector<std::pair<double, double>> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values.emplace_back(static_cast<compute_t<T>>(arguments[i]), static_cast<compute_t<T>>(results[i]));
  }
  return values;
}

template <class Exec>
finding measure(sweeper<Exec>& device, function which, dtype type, const options& chosen) {
  finding it;
  it.which = which;
  it.type = type;
  it.on_host = is_host_space<Exec>;
  it.all_arguments = type != dtype::f64 && chosen.stride == 1;
  progress_line line(std::string(function_name(which)) + " " + std::string(dtype_name(type)));
  const auto start = std::chrono::steady_clock::now();
  switch (type) {
    case dtype::f64:
      it.found = device.sampled_doubles(which, chosen.samples, chosen.seed, std::ref(line));
      it.specials = special_values<double>(device, which);
      break;
    case dtype::f32:
      it.found = device.template all_arguments<float>(which, chosen.stride, std::ref(line));
      it.specials = special_values<float>(device, which);
      break;
    case dtype::f16:
      it.found = device.template all_arguments<f16>(which, chosen.stride, std::ref(line));
      it.specials = special_values<f16>(device, which);
      break;
    case dtype::bf16:
      it.found = device.template all_arguments<bf16>(which, chosen.stride, std::ref(line));
      it.specials = special_values<bf16>(device, which);
      break;
    default: break;  // no function takes another type
  }
  it.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return it;
}

/// Writes the file as a whole or not at all, so that readers never see half of it.
void write_file(const std::string& path, const std::string& content) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream stream(unfinished, std::ios::binary);
  stream << content;
  stream.close();
  std::error_code problem;
  if (stream) std::filesystem::rename(unfinished, path, problem);
  if (!stream || problem) throw output_error("cannot write " + path);
}

template <class Exec>
int measure_all(const options& chosen) {
  const std::string name = device_name<Exec>();
  if (chosen.list) {
    std::printf("%s", promises(is_host_space<Exec>).c_str());
    return 0;
  }
  sweeper<Exec> device{Exec()};
  std::vector<finding> findings;
  const bool has_table = chosen.output != "-";
  if (has_table) std::printf("%s", table_header().c_str());
  bool all_kept = true;
  for (const dtype type : chosen.types) {
    if (type == dtype::f64 && !has_wider_than_double) {
      std::fprintf(stderr, "f64 is left out: this host has no type that is wider than double\n");
      continue;
    }
    for (const function which : chosen.functions) {
      findings.push_back(measure(device, which, type, chosen));
      all_kept = all_kept && findings.back().is_kept();
      if (has_table) std::printf("%s", table_line(findings.back()).c_str());
      std::fflush(stdout);
      // The file is written after each function, so that an interruption loses only one.
      if (has_table && !chosen.output.empty()) write_file(chosen.output, document(name, findings).dump(2) + "\n");
    }
  }
  if (!has_table) std::printf("%s\n", document(name, findings).dump(2).c_str());
  return all_kept ? 0 : 1;
}

int measure_on(const options& chosen) {
  const std::string device = chosen.device.empty() ? devices().front() : chosen.device;
#define PRUMO_MEASURE_ON(Space) \
  if (device == device_name<Space>()) return measure_all<Space>(chosen);
  PRUMO_FOR_EACH_SPACE(PRUMO_MEASURE_ON)
#undef PRUMO_MEASURE_ON
  std::string known;
  for (const std::string& name : devices()) known += (known.empty() ? "" : ", ") + name;
  throw usage_error("--device: there is no '" + device + "' here; there are: " + known);
}

int run(int argc, char** argv, const std::string& name) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with("--kokkos-")) arguments.emplace_back(argv[i]);
  }
  const options chosen = parse_options(arguments);
  if (chosen.help) {
    std::printf("%s", help_text(name, devices()).c_str());
    return 0;
  }
  if (chosen.version) {
    std::printf("%s %s\n", name.c_str(), protocol::prumo_version().c_str());
    return 0;
  }
  const worker::kokkos_session session(argc, argv);
  return measure_on(chosen);
}

}  // namespace
}  // namespace prumo::accuracy

int main(int argc, char** argv) {
  using namespace prumo::accuracy;
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "prumo-accuracy").filename().string();
  try {
    return run(argc, argv, name);
  } catch (const usage_error& cause) {
    std::fprintf(stderr, "%s: %s; see %s --help\n", name.c_str(), cause.what(), name.c_str());
    return 2;
  } catch (const std::exception& cause) {
    std::fprintf(stderr, "%s: this machine cannot run it: %s\n", name.c_str(), cause.what());
    return 3;
  }
}
