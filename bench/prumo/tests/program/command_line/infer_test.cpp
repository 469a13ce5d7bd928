// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo infer`: nets against the scripted worker, and the files that it takes and refuses.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include <prumo/data/idx.hpp>
#include <prumo/data/safetensors.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// `prumo infer` of a few digits or of the data that the words name, with the scripted worker.
program_result infer(std::vector<std::string> words, const std::string& options = {}) {
  if (std::ranges::find(words, "--data") == words.end()) words = joined({"--digits", "20"}, words);
  return run_prumo(
      joined(joined({"infer", "--time-budget", "2s", "--no-probe"}, words), fake_worker_words("--nets " + options)));
}

class infer_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string in(const std::string& name) const { return folder_.file(name); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(in(name)) << text;
    return in(name);
  }

  /// 3 channels, 17 classes, stride 2.
  std::string own_net() const {
    return write("own.json", R"({"schema": "prumo.net/1", "name": "own",
      "input": {"channels": 3, "height": 11, "width": 9},
      "layers": [{"type": "convolution", "channels": 4, "filter": 3, "stride": 2, "activation": "relu"},
                 {"type": "dense", "features": 17}]})");
  }

  data::image_set images(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width) const {
    data::image_set set{count, channels, height, width, {}, {}};
    set.pixels.resize(static_cast<std::size_t>(count * channels * height * width));
    for (std::size_t i = 0; i < set.pixels.size(); ++i) set.pixels[i] = static_cast<std::uint8_t>(i * 7);
    return set;
  }

  /// Images for own_net() with labels beside them.
  std::string own_data(bool gzip, std::uint8_t last_label = 16) const {
    const data::idx_format format{data::idx_header::standard, gzip};
    const std::string end = gzip ? ".gz" : "";
    data::write_images(in("own-images-idx4-ubyte" + end), images(5, 3, 11, 9), format);
    data::write_labels(in("own-labels-idx1-ubyte" + end), std::vector<std::uint8_t>{0, 3, 9, 11, last_label}, format);
    return in("own-images-idx4-ubyte" + end);
  }

  temporary_folder folder_;
};

TEST_F(infer_test, without_files_runs_a_net_on_digits_and_says_what_it_took) {
  const program_result result = infer({"--batch", "10,20", "-o", in("r.json"), "--csv", in("r.csv")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("net: lenet5, 1 x 28 x 28 pixels, 10 classes, 61706 weights"),
                                HasSubstr("data: 20 digits that prumo drew"),
                                HasSubstr("weights: those that come with prumo, trained on digits"),
                                HasSubstr("accuracy, fake:0 f32: 95.00 %"), HasSubstr("of 20 images"),
                                HasSubstr("lenet5 f32, 10 images a call"), HasSubstr("results: ")));
  const json document = load_results(in("r.json"));
  std::multiset<std::string> found;
  for (const json& it : document.at("results")) {
    found.insert(it.at("kind").get<std::string>() + " " + it.at("op").get<std::string>() + " " +
                 it.at("shape").at("images").dump());
    EXPECT_EQ(it.at("status"), "ok") << it;
    EXPECT_EQ(it.at("net"), "lenet5");
    EXPECT_EQ(it.at("weights_sha256").get<std::string>().size(), 64U);
    if (it.at("kind") != "program") {
      EXPECT_EQ(it.at("verified"), true);
    }
    if (it.at("kind") == "inference") {
      EXPECT_EQ(it.at("accuracy").at("correct"), 19);
      EXPECT_NEAR(it.at("time_s").at("median").get<double>(), 1e-6 * it.at("shape").at("images").get<double>(), 1e-9);
    }
    if (it.at("kind") == "program") {
      EXPECT_GT(it.at("usage").at("user_s").get<double>(), 0);
      EXPECT_GT(it.at("usage").at("peak_memory_bytes").get<double>(), 1e6);
      EXPECT_EQ(it.at("time_s").at("samples").size(), 3U);
    }
  }
  EXPECT_EQ(found, (std::multiset<std::string>{"inference lenet5/net 10", "inference lenet5/net 20",
                                               "layer lenet5/first 10", "layer lenet5/first 20", "layer lenet5/rest 10",
                                               "layer lenet5/rest 20", "program lenet5 10", "program lenet5 20"}));
  std::ifstream table(in("r.csv"));
  std::string head;
  std::getline(table, head);
  EXPECT_THAT(head, HasSubstr("accuracy"));
  const program_result compared = run_prumo({"compare", in("r.json"), in("r.json")});
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("lenet5/net"));
}

TEST_F(infer_test, a_net_whose_noise_is_known_stops_early) {
  const program_result result =
      infer({"--batch", "1000", "--level", "net", "--target-noise", "0.0001%", "-o", in("r.json")},
            "--steady-noise 0.2 --delay 0.01");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(read_file(in("r.json"))).at("results").at(0).at("time_s").at("stop"), "steady");
  EXPECT_THAT(result.out, HasSubstr("1 case stopped early: the noise no longer changed"));
}

TEST_F(infer_test, says_where_weights_are_random) {
  const program_result result =
      infer({"--net", own_net(), "--data", own_data(false), "--level", "net", "--batch", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("weights: random ones (seed 1)"), HasSubstr("the accuracy is that of")));
}

TEST_F(infer_test, shows_what_others_published_of_a_net) {
  const program_result result = infer({"--net", "ece408-2019", "--level", "net", "--batch", "10"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("weights: those that come with prumo, trained on digits"),
                                HasSubstr("Published: ece408-2019")));
}

TEST_F(infer_test, shows_no_published_figures_beside_another_net_of_the_same_name) {
  const std::string other = write("other.json", R"({"schema": "prumo.net/1", "name": "ece408-2019",
    "input": {"channels": 1, "height": 28, "width": 28}, "layers": [{"type": "dense", "features": 10}]})");
  const program_result result = infer({"--net", other, "--level", "net", "--batch", "10"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("net: ece408-2019, 1 x 28 x 28 pixels"), Not(HasSubstr("Published"))));
}

TEST_F(infer_test, runs_a_net_in_every_way_that_is_named) {
  const std::vector<std::string> words{"--impl", "all", "--level", "net,program", "--batch", "10", "-o", in("r.json")};
  const program_result result = infer(words);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("accuracy, fake:0 fused f32"), HasSubstr("accuracy, fake:0 layers f32")));
  std::multiset<std::string> found;
  const json document = load_results(in("r.json"));
  for (const json& it : document.at("results")) {
    found.insert(it.at("kind").get<std::string>() + " " + it.at("implementation").get<std::string>());
  }
  EXPECT_EQ(found,
            (std::multiset<std::string>{"inference fused", "inference layers", "program fused", "program layers"}));
  EXPECT_THAT(infer(joined(words, {"--resume"})).out, HasSubstr("kept from the earlier run"));
  EXPECT_EQ(load_results(in("r.json")).at("results").size(), 4U);
  EXPECT_THAT(infer({"--impl", "fused", "--list"}).out, HasSubstr("fake:0 fused f32, 100 images a call"));
  expect_refusal(infer({"--impl", "fusd"}), 2, "--impl: unknown implementation 'fusd'; did you mean 'fused'?");
}

TEST_F(infer_test, takes_a_net_of_ones_own_and_files_plain_or_gzip) {
  for (const bool gzip : {false, true}) {
    const program_result result = infer({"--net", own_net(), "--data", own_data(gzip), "--level", "layer,net",
                                         "--batch", "2", "-o", in("r.json"), "--force"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("net: own, 3 x 11 x 9 pixels, 17 classes"), HasSubstr("data: 5 images of ")));
    EXPECT_EQ(load_results(in("r.json")).at("results").size(), 3U);
  }
}

TEST_F(infer_test, names_what_does_not_fit) {
  const std::string net = own_net(), data = own_data(false);
  expect_refusal(infer({"--net", "lenet6"}), 2,
                 "lenet6: is neither a file nor a net that prumo knows; these are ece408-2019");
  expect_refusal(infer({"--net", net}), 2, "takes images of 3 channels, and the digits that prumo draws have one");
  expect_refusal(infer({"--net", "lenet5", "--data", data}), 2, "its images have 3 channels, 11 x 9 pixels");
  data::write_images(in("a-images-idx3-ubyte"), images(2, 1, 20, 20));
  data::write_labels(in("a-labels-idx1-ubyte"), std::vector<std::uint8_t>{1, 2});
  expect_refusal(infer({"--data", in("a-images-idx3-ubyte")}), 2, "make them by `prumo data resize --size 28`");
  expect_refusal(infer({"--net", net, "--data", own_data(false, 17)}), 2,
                 "label 4 is class 17, and there are 17 classes from 0 up");
  expect_refusal(infer({"--data", in("nothing-here")}), 2, "nothing-here: there is no such file or folder");
  expect_refusal(infer({"--data", in("own-labels-idx1-ubyte")}), 2,
                 "these are labels; name the images with --data, and these with --labels");
  expect_refusal(infer({"--data", data, "--digits", "20"}), 2, "--digits draws images, and --data names some");
  const std::string flat = write("flat.json", R"({"schema": "prumo.net/1", "name": "flat",
    "input": {"channels": 1, "height": 28, "width": 28}, "layers": [{"type": "max_pool", "window": 28}]})");
  expect_refusal(infer({"--net", flat}), 2,
                 flat + ": /layers: the net ends without a dense layer, so it tells no class");
  data::write_images(in("alone-images-idx3-ubyte"), images(2, 1, 28, 28));
  expect_refusal(infer({"--data", in("alone-images-idx3-ubyte")}), 2, "no labels lie beside it");
  expect_refusal(infer({"--labels", in("a-labels-idx1-ubyte")}), 2, "--labels names labels without images");
}

TEST_F(infer_test, refuses_weights_of_another_net_and_numbers_that_are_none) {
  data::tensor_file file;
  file.tensors = {data::tensor_of("conv1.weight", {4, 3, 3, 3}, std::vector<float>(108, 0.5F)),
                  data::tensor_of("conv1.bias", {4}, std::vector<float>(4, 0.5F)),
                  data::tensor_of("dense1.weight", {17, 80}, std::vector<float>(std::size_t{17} * 80, 0.5F)),
                  data::tensor_of("dense1.bias", {17}, std::vector<float>(17, 0.5F))};
  data::write_tensors(in("own.safetensors"), file);
  const std::vector<std::string> own{"--net", own_net(), "--data", own_data(false), "--level", "net", "--batch", "2"};
  EXPECT_EQ(infer(joined(own, {"--weights", in("own.safetensors")})).code, 0);
  expect_refusal(infer({"--weights", in("own.safetensors")}), 2, "array 'conv1.weight' has the shape [4, 3, 3, 3]");
  std::vector<float> bias(17, 0.5F);
  bias[3] = std::numeric_limits<float>::quiet_NaN();
  file.tensors.back() = data::tensor_of("dense1.bias", {17}, bias);
  data::write_tensors(in("nan.safetensors"), file);
  expect_refusal(infer(joined(own, {"--weights", in("nan.safetensors")})), 2,
                 "array 'dense1.bias' holds NaN at place 3");
  expect_refusal(infer(joined(own, {"--weights", in("none.safetensors")})), 2, "there is no such file");
}

TEST_F(infer_test, a_batch_beyond_memory_is_skipped_with_the_reason) {
  const program_result result = infer({"--batch", "10,5000000", "--level", "net", "-o", in("r.json")});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("too little memory: needs memory for 5000000 images"));
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("prumo: note: a batch of 5000000 takes some of the 20 images more than once"),
                    HasSubstr("prumo: a batch did not fit into memory; the table says what it needs. Choose a smaller "
                              "--batch")));
  EXPECT_EQ(load_results(in("r.json")).at("results").size(), 2U);
}

TEST_F(infer_test, without_a_device_to_transfer_to_says_so) {
  const program_result result = infer({"--batch", "10", "--level", "net", "--transfer", "pageable"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err,
              HasSubstr("prumo: nothing was measured: --transfer names images that are copied to a device, and "
                        "no device here has a memory of its own. Measure --transfer resident"));
}

TEST_F(infer_test, a_wrong_net_ends_with_1) {
  const program_result result = infer({"--batch", "10", "--level", "net,layer"}, "--wrong-net");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("WRONG"), HasSubstr("the error is 7, and 1 is allowed; image 0 is off")));
}

TEST_F(infer_test, a_worker_that_runs_no_nets_is_unsupported) {
  const program_result result = run_prumo(
      joined({"infer", "--digits", "20", "--level", "net", "--batch", "10", "--no-probe"}, fake_worker_words()));
  EXPECT_THAT(result.out,
              HasSubstr("unsupported: lenet5/net f32, 10 images a call, fake:0: worker 'fake' runs no nets"));
  EXPECT_EQ(infer({"--dtype", "f16", "--level", "net", "--batch", "10"}).out.find("nets are not computed in f16") ==
                std::string::npos,
            false);
}

TEST_F(infer_test, devices_that_disagree_are_told) {
  const program_result result = run_prumo({"infer", "--digits", "20", "--level", "net", "--batch", "10", "--no-probe",
                                           "--no-search", "--worker", "a=" + fake_worker_command("--nets --backend a"),
                                           "--worker", "b=" + fake_worker_command("--nets --backend b --predict 3")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("images are of another class than with a:0, beyond what rounding explains"));
}

TEST_F(infer_test, a_gpu_takes_bytes_from_the_host_too) {
  const program_result result = infer({"--batch", "100", "--level", "net,layer", "-o", in("r.json")}, "--backend cuda");
  ASSERT_EQ(result.code, 0) << result.err;
  int transferred = 0;
  const json document = load_results(in("r.json"));
  for (const json& it : document.at("results")) {
    if (it.at("data") == "resident") continue;
    ++transferred;
    EXPECT_EQ(it.at("kind"), "inference");
    EXPECT_EQ(it.at("host_memory"), "pinned");
    EXPECT_EQ(it.at("transfer").at("h2d_bytes"), 8);
  }
  EXPECT_EQ(transferred, 1);
}

TEST_F(infer_test, resumes_what_is_missing) {
  const std::vector<std::string> words{"--batch", "10,20", "--level", "net,layer", "-o", in("r.json")};
  ASSERT_EQ(infer(words).code, 0);
  json document = load_results(in("r.json"));
  json kept = json::array();
  for (const json& it : document.at("results")) {
    if (it.at("shape").at("images") == 10) kept.push_back(it);
  }
  const json first = kept.front();
  document["results"] = kept;
  std::ofstream(in("r.json")) << dump_results(document);
  const program_result result = infer(joined(words, {"--resume"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const json after = load_results(in("r.json")).at("results");
  EXPECT_EQ(after.size(), 6U);
  EXPECT_EQ(after.front().at("time_s"), first.at("time_s"));
  expect_refusal(infer({"--batch", "10", "--level", "net,layer", "-o", in("r.json"), "--resume"}), 2,
                 "has another plan");
}

TEST_F(infer_test, keeps_what_is_measured_when_interrupted) {
  const std::vector<std::string> words{"infer",   "--digits", "20", "--level",    "net",
                                       "--batch", "10,20,30", "-o", in("r.json"), "--no-probe"};
  background_program running(joined(joined({PRUMO_PROGRAM}, words), fake_worker_words("--nets --delay 0.1")));
  for (int i = 0; i < 6000 && !std::filesystem::exists(in("r.json")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  running.send_signal(SIGINT);
  const program_result result = running.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the same command with --resume continues"));
  const std::size_t finished = load_results(in("r.json")).at("results").size();
  EXPECT_GE(finished, 1U);
  EXPECT_LT(finished, 3U) << "the run was not cut short";
  EXPECT_EQ(run_prumo(joined(joined(words, {"--resume"}), fake_worker_words("--nets"))).code, 0);
  EXPECT_EQ(load_results(in("r.json")).at("results").size(), 3U);
}

TEST_F(infer_test, explains_itself_and_its_mistakes) {
  const program_result help = run_prumo({"infer", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"), HasSubstr("--transfer"),
                              HasSubstr("ece408-2019, ece408-2020, mnist-2f, lenet5")));
  expect_refusal(infer({"--batch", "0"}), 2, "--batch: '0' is not a whole number from 1");
  expect_refusal(infer({"--level", "nets"}), 2, "did you mean 'net'?");
  expect_refusal(infer({"--dtype", "f33"}), 2, "--dtype");
  expect_refusal(infer({"--transfer", "far"}), 2, "--transfer");
  expect_refusal(infer({"--resume"}), 2, "--resume needs the results file");
  EXPECT_THAT(infer({"--list"}).out, HasSubstr("fake:0 f32, 1000 images a call"));
}

}  // namespace
}  // namespace prumo::bench::test
