// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo train`: trainings of the scripted worker, their checkpoints and results.
#include "results/results_file.hpp"
#include "train_program.hpp"
#include <prumo/data/safetensors.hpp>
#include <prumo/data/weights_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json only_result(const std::string& path) {
  const json results = load_results(path).at("results");
  EXPECT_EQ(results.size(), 1U);
  return results.at(0);
}

class train_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string in(const std::string& name) const { return folder_.file(name); }

  /// A training of five epochs that was not interrupted: its weights.
  [[nodiscard]] std::string whole_weights() const {
    EXPECT_EQ(train({"--weights", in("whole")}).code, 0);
    return content_of(in("whole"));
  }

  temporary_folder folder_;
};

TEST_F(train_test, without_files_trains_a_net_and_tells_of_each_epoch) {
  const program_result result =
      train({"-o", in("r.json"), "--csv", in("r.csv"), "--weights", in("w.safetensors"), "--plot", "always"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("net: lenet5, 1 x 28 x 28 pixels"),
                    HasSubstr("data: 600 digits for training and 100 for tests, which prumo drew"),
                    HasSubstr("weights to begin with: uniform"), HasSubstr("training: loss softmax, momentum"),
                    HasSubstr("10 steps an"), HasSubstr("fake:0 f32  epoch   1/5  loss 0.8461, test 0.8461"),
                    HasSubstr("fake:0 f32  epoch   5/5"), HasSubstr("20.0 J"), HasSubstr("accuracy  98.00 %")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("seconds of training to"), HasSubstr("wrong test images, %"),
                                HasSubstr("loss of the training images"), HasSubstr("took ")));
  const json entry = only_result(in("r.json"));
  EXPECT_EQ(entry.at("kind"), "training");
  EXPECT_EQ(entry.at("op"), "lenet5/training/softmax/momentum");
  EXPECT_EQ(entry.at("status"), "ok");
  EXPECT_EQ(entry.at("verified"), true);
  EXPECT_EQ(entry.at("implementation"), "fused");
  EXPECT_EQ(entry.at("options").at("learning_rate"), 0.02);
  EXPECT_EQ(entry.at("options").at("initial_weights_sha256").get<std::string>().size(), 64U);
  EXPECT_EQ(entry.at("weights_sha256").get<std::string>().size(), 64U);
  ASSERT_EQ(entry.at("epochs").size(), 5U);
  EXPECT_EQ(entry.at("time_s").at("samples").size(), 5U);
  double seconds = 0;
  for (const json& it : entry.at("epochs")) {
    seconds += it.at("train_s").get<double>();
    EXPECT_NEAR(it.at("train_s").get<double>(), 6.4e-4, 1e-9);
    EXPECT_GT(it.at("total_s").get<double>(), seconds);
    EXPECT_EQ(it.at("energy_j"), 20);
  }
  EXPECT_EQ(entry.at("time_to").at(2).at("accuracy"), 0.98);
  EXPECT_NEAR(entry.at("time_to").at(2).at("seconds").get<double>(), 3 * 6.4e-4, 1e-9);
  EXPECT_EQ(data::read_tensors(in("w.safetensors")).tensors.size(), 10U);
  EXPECT_THAT(content_of(in("r.csv")), HasSubstr("lenet5/training/softmax/momentum"));
  const program_result compared = run_prumo({"compare", in("r.json"), in("r.json")});
  EXPECT_EQ(compared.code, 0) << compared.err;
}

TEST_F(train_test, its_weights_tell_what_they_are) {
  ASSERT_EQ(train({"--epochs", "2", "--weights", in("w"), "--seed", "7", "-o", in("r.json")}).code, 0);
  const data::weights_file written = data::read_weights(in("w"));
  const json result = only_result(in("r.json"));
  EXPECT_EQ(result.at("weights_file_sha256"), written.sha256);
  EXPECT_EQ(written.trained_on, "digits");
  EXPECT_EQ(written.stated_accuracy, 0.95);  // of 100 images: 1 - 0.4 exp(-2), as the scripted worker says
  const auto& notes = written.tensors.metadata;
  EXPECT_EQ(notes.at("net"), "lenet5");
  EXPECT_EQ(notes.at("data_sha256"), result.at("data_sha256").get<std::string>());
  EXPECT_EQ(notes.at("epochs"), "2");
  EXPECT_EQ(notes.at("learning_rate"), "0.02");
  EXPECT_EQ(notes.at("optimizer"), "momentum");
  EXPECT_EQ(notes.at("seed"), "7");
}

/// Weights that are rounded are tested once more. The scripted worker knows all test images but one then.
TEST_F(train_test, its_weights_are_rounded_and_tested_again) {
  ASSERT_EQ(train({"--epochs", "2", "--weights", in("w"), "--weights-dtype", "f16"}).code, 0);
  const data::weights_file written = data::read_weights(in("w"));
  for (const data::tensor& it : written.tensors.tensors) EXPECT_EQ(it.type, "F16") << it.name;
  EXPECT_EQ(written.stated_accuracy, 0.99);
  expect_refusal(train({"--weights-dtype", "f16"}), 2, "--weights-dtype is of the file that --weights FILE names");
  expect_refusal(train({"--weights", in("x"), "--weights-dtype", "f17"}), 2, "did you mean 'f16'?");
}

TEST_F(train_test, stops_at_the_accuracy_that_was_asked_for) {
  const program_result result = train({"--until", "98%", "-o", in("r.json")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(only_result(in("r.json")).at("epochs").size(), 3U);
  const program_result short_one = train({"--until", "98%", "--epochs", "2"});
  EXPECT_EQ(short_one.code, 1);
  EXPECT_THAT(short_one.err, HasSubstr("98.0 % of the test images were not reached in 2 epochs"));
}

TEST_F(train_test, goes_on_from_its_checkpoint_to_the_same_weights) {
  const std::string whole = whole_weights();
  const std::vector<std::string> words{"--checkpoint", in("c"), "--weights", in("w"), "-o", in("r.json")};
  ASSERT_EQ(train(joined(words, {"--epochs", "2"})).code, 0);
  EXPECT_NE(content_of(in("w")), whole);
  const program_result result = train(joined(words, {"--resume"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("goes on from"), HasSubstr("epoch 3"), HasSubstr("epoch   5/5"),
                                Not(HasSubstr("epoch   2/5"))));
  EXPECT_EQ(content_of(in("w")), whole);
  EXPECT_EQ(only_result(in("r.json")).at("epochs").size(), 5U);
}

TEST_F(train_test, interrupted_leaves_a_checkpoint_and_a_valid_file) {
  const std::string whole = whole_weights();
  const std::vector<std::string> words{"--checkpoint", in("c"), "--weights", in("w"), "-o", in("r.json")};
  background_program running(joined({PRUMO_PROGRAM}, train_words(words, "--delay 0.1")));
  for (int i = 0; i < 6000 && !std::filesystem::exists(in("c")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  running.send_signal(SIGINT);
  const program_result result = running.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("prumo: interrupted: (no epoch is|1 epoch is|[0-9] epochs are) finished"));
  EXPECT_THAT(result.err, HasSubstr("prumo: the checkpoint " + in("c") +
                                    " has every step so far; the same command with --resume goes on from it\n"));
  const json entry = only_result(in("r.json"));
  EXPECT_EQ(entry.at("time_s").at("stop"), "interrupted");
  EXPECT_LT(entry.at("epochs").size(), 5U) << "the run was not cut short";
  EXPECT_FALSE(std::filesystem::exists(in("w")));
  const program_result resumed = train(joined(words, {"--resume"}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(content_of(in("w")), whole);
  EXPECT_EQ(only_result(in("r.json")).at("time_s").at("stop"), "budget");
}

TEST_F(train_test, interrupted_without_a_checkpoint_says_what_is_lost) {
  const auto interrupted = [&](const std::string& file, const std::vector<std::string>& words) {
    background_program running(joined({PRUMO_PROGRAM}, train_words(joined(words, {"-o", in(file)}), "--delay 0.1")));
    for (int i = 0; i < 6000 && !std::filesystem::exists(in(file)); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    running.send_signal(SIGINT);
    const program_result result = running.wait();
    EXPECT_EQ(result.code, 130) << result.err;
    return result.err;
  };
  EXPECT_THAT(
      interrupted("a", {}),
      AllOf(ContainsRegex("prumo: interrupted: (1 epoch is|[0-9] epochs are) finished; the results are in "),
            HasSubstr("prumo: its weights are lost, because only --checkpoint FILE keeps what a training needs")));
  // Trainings of other batches come one after the other: the first is whole when its results are in the file.
  EXPECT_THAT(
      interrupted("b", {"--batch", "600,1", "--epochs", "1"}),
      HasSubstr("prumo: the same command with --resume keeps 1 training that is whole and begins the others anew"));
}

TEST_F(train_test, killed_three_times_ends_with_the_weights_of_a_run_that_was_not) {
  const std::string whole = whole_weights();
  const std::vector<std::string> words{"--checkpoint", in("c"), "--checkpoint-every", "1us",     "--weights",
                                       in("w"),        "-o",    in("r.json"),         "--resume"};
  for (int kill = 0; kill < 3; ++kill) {
    std::filesystem::file_time_type before{};
    if (std::filesystem::exists(in("c"))) before = std::filesystem::last_write_time(in("c"));
    background_program running(joined({PRUMO_PROGRAM}, train_words(words, "--delay 0.05")));
    const auto has_advanced = [&] {
      return std::filesystem::exists(in("c")) && std::filesystem::last_write_time(in("c")) != before;
    };
    for (int i = 0; i < 6000 && !has_advanced(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    running.send_signal(SIGKILL);
    EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  }
  const program_result resumed = train(words);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(content_of(in("w")), whole);
  EXPECT_EQ(only_result(in("r.json")).at("epochs").size(), 5U);
}

TEST_F(train_test, a_checkpoint_is_not_lost_by_mistake) {
  const std::vector<std::string> words{"--checkpoint", in("c")};
  ASSERT_EQ(train(joined(words, {"--epochs", "1"})).code, 0);
  const std::string content = content_of(in("c"));
  expect_refusal(train(words), 2, "is there already; --resume goes on from it, --force begins anew");
  expect_refusal(train(joined(words, {"--resume", "--learning-rate", "0.5"})), 2, "belongs to another training");
  expect_refusal(train(joined(words, {"--resume", "--batch", "32"})), 2, "belongs to another training");
  EXPECT_EQ(content_of(in("c")), content);
  std::ofstream(in("torn")) << content.substr(0, content.size() / 2);
  expect_refusal(train({"--checkpoint", in("torn"), "--resume"}), 2, "is no checkpoint");
  EXPECT_EQ(content_of(in("torn")), content.substr(0, content.size() / 2));
  expect_refusal(train({"--checkpoint", in("c2"), "--batch", "32,64"}), 2,
                 "--checkpoint holds one training, and these would be 2");
  expect_refusal(train({"--weights", in("w"), "--impl", "all"}), 2,
                 "--weights holds the weights of one training, and these would be 2");
  expect_refusal(train({"--checkpoint", in("x"), "--weights", in("x")}), 2, in("x"));
}

TEST_F(train_test, a_training_that_diverges_fails_and_its_checkpoint_stays) {
  const program_result result = train({"--checkpoint", in("c"), "-o", in("r.json")}, "--nan-at-step 25");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("the loss is no finite number after step 6 of epoch 3"),
                                HasSubstr("a smaller --learning-rate")));
  const json entry = only_result(in("r.json"));
  EXPECT_EQ(entry.at("status"), "failed");
  EXPECT_EQ(entry.at("epochs").size(), 2U);
  EXPECT_EQ(json::parse(content_of(in("c"))).at("steps"), 20);
}

TEST_F(train_test, trains_in_every_way_that_is_named_in_turns) {
  const program_result result = train({"--impl", "all", "--batch", "64,32", "--epochs", "2", "-o", in("r.json")});
  ASSERT_EQ(result.code, 0) << result.err;
  const json results = load_results(in("r.json")).at("results");
  EXPECT_EQ(results.size(), 4U);
  EXPECT_THAT(result.out, AllOf(HasSubstr("fake:0 f32 batch 32 layers  epoch   2/2"),
                                HasSubstr("fake:0 f32 batch 64 fused  epoch   1/2")));
  const program_result again =
      train({"--impl", "all", "--batch", "64,32", "--epochs", "2", "-o", in("r.json"), "--resume"});
  EXPECT_THAT(again.out, HasSubstr("kept from the earlier run"));
}

TEST_F(train_test, a_batch_of_more_images_than_there_are_is_one_of_all) {
  const program_result result = train({"--batch", "100000000", "--epochs", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("batches of 100000000, which are all 600 images (1"));
}

TEST_F(train_test, a_wrong_step_ends_with_1_and_trains_nothing) {
  const program_result result = train({"-o", in("r.json")}, "--wrong-net");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("WRONG"), HasSubstr("a step is wrong: image 0 is off")));
  EXPECT_FALSE(only_result(in("r.json")).contains("epochs"));
}

TEST_F(train_test, a_worker_that_ends_costs_its_training) {
  const program_result result = train({"-o", in("r.json")}, "--fault advance#4=die");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(only_result(in("r.json")).at("status"), "failed");
  EXPECT_THAT(result.out, HasSubstr("while it answered 'advance'"));
  EXPECT_EQ(train({}, "--fault advance#2=missing").code, 3);
}

TEST_F(train_test, a_worker_that_trains_no_nets_is_unsupported) {
  const program_result result = run_prumo(joined({"train", "--digits", "60"}, fake_worker_words()));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, HasSubstr("worker 'fake' trains no nets"));
}

TEST_F(train_test, shows_what_others_published) {
  const program_result result = train({"--net", "mnist-2f", "--loss", "original", "--batch", "60", "--epochs", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("loss original, sgd, learning rate 0.1"), HasSubstr("Tesla T4"),
                                HasSubstr("GTX 1660 Ti"), HasSubstr("uniform in (-0.5, 0.5)")));
}

TEST_F(train_test, shows_published_figures_only_beside_what_they_are_of) {
  const auto written = [&](const std::string& name, int width, int classes) {
    const std::string path = in(fmt::format("{}-{}-{}.json", name, width, classes));
    std::ofstream(path) << fmt::format(
        R"({{"schema": "prumo.net/1", "name": "{}", "input": {{"channels": 1, "height": 28, "width": {}}},
            "layers": [{{"type": "dense", "features": {}}}]}})",
        name, width, classes);
    return path;
  };
  const auto shown = [&](const std::string& net) {
    const program_result result = train({"--net", net, "--epochs", "1"});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(shown("lenet5"), AllOf(HasSubstr("GTX 1660 Ti"), Not(HasSubstr("Tesla T4"))));
  EXPECT_THAT(shown(written("mnist-2f", 28, 10)), AllOf(HasSubstr("GTX 1660 Ti"), Not(HasSubstr("Tesla T4"))));
  EXPECT_THAT(shown(written("mnist-2f", 27, 10)), Not(HasSubstr("published")));
  EXPECT_THAT(shown(written("own", 28, 11)), Not(HasSubstr("published")));
}

TEST_F(train_test, explains_itself_and_its_mistakes) {
  const program_result help = run_prumo({"train", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"), HasSubstr("--until")));
  expect_refusal(train({"--batch", "0"}), 2, "--batch: '0' is not a whole number from 1");
  expect_refusal(train({"--loss", "softmx"}), 2, "did you mean 'softmax'?");
  expect_refusal(train({"--optimizer", "adma"}), 2, "did you mean 'adam'?");
  expect_refusal(train({"--dtype", "f16"}), 2,
                 "--dtype: nets are not trained in f16; the types of a training are f32 and f64");
  expect_refusal(train({"--dtype", "f32,bf16"}), 2, "--weights FILE --weights-dtype bf16 rounds the weights of one");
  expect_refusal(train({"--dtype", "f33"}), 2,
                 "--dtype: unknown value 'f33'; did you mean 'f32'? There are: f32, f64.");
  expect_refusal(train({"--until", "98"}), 2, "--until");
  expect_refusal(train({"--until", "101%"}), 2, "more than 100%");
  expect_refusal(train({"--learning-rate", "0"}), 2, "--learning-rate: a rate above 0");
  expect_refusal(train({"--learning-rate", "nan"}), 2,
                 "'nan' is not a number of zero or more; for example "
                 "--learning-rate 0.05");
  expect_refusal(train({"--momentum", "-1"}), 2, "for example --momentum 0.9");
  expect_refusal(train({"--momentum", "1"}), 2, "--momentum: a number from 0 to below 1");
  expect_refusal(train({"--resume"}), 2, "--resume needs what to go on from");
  expect_refusal(train({"--impl", "fusd"}), 2, "did you mean 'fused'?");
  EXPECT_THAT(train({"--list", "--batch", "1"}).out, HasSubstr("fake:0 f32, batch 1"));
  const std::string empty = in("empty");
  std::filesystem::create_directory(empty);
  expect_refusal(run_prumo(joined({"train", "--data", empty}, fake_worker_words("--nets"))), 2,
                 "holds no images under the usual names");
}

}  // namespace
}  // namespace prumo::bench::test
