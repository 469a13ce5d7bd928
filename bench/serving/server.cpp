// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/protocol/parse_json.hpp>
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace prumo::protocol {
namespace {

json refusal(error_kind kind, const std::string& message) {
  return {{"ok", false}, {"error", {{"kind", error_kind_name(kind)}, {"message", message}}}};
}

[[noreturn]] void refuse_training() {
  throw request_error(error_kind::unsupported, "this worker trains no nets, so no session can advance or be saved");
}

/// Answers a request about nets. False: it is none.
bool answer_about_nets(workload_handler& handler, const std::string& name, const json& request, json& answer) {
  if (name == "open") {
    answer = write_message(handler.open(read_message<open_request>(request)));
  } else if (name == "check") {
    answer = write_message(handler.check(read_message<check_request>(request)));
  } else if (name == "time") {
    answer = write_message(handler.time(read_message<time_request>(request)));
  } else if (name == "evaluate") {
    answer = write_message(handler.evaluate(read_message<evaluate_request>(request)));
  } else if (name == "advance") {
    answer = write_message(handler.advance(read_message<advance_request>(request)));
  } else if (name == "save") {
    answer = write_message(handler.save(read_message<save_request>(request)));
  } else if (name == "load") {
    answer = write_message(handler.load(read_message<load_request>(request)));
  } else if (name == "close") {
    handler.close(read_message<close_request>(request).session);
    answer = json::object();
  } else {
    return false;
  }
  return true;
}

/// The handler's answer to a request of this name, without id and ok.
json dispatch(request_handler& handler, const json& request, bool& quit) {
  const auto named = request.find("request");
  if (named == request.end()) throw request_error(error_kind::usage, "the field 'request' is missing");
  if (!named->is_string()) throw request_error(error_kind::usage, "the field 'request' should be a text");
  const std::string name = named->get<std::string>();
  if (name == "hello") {
    // The version of the front-end is not checked, because the front-end chooses what both ends have from the features.
    const auto asked = read_message<hello_request>(request);
    hello_answer answer = handler.hello();
    answer.worker.environment = environment_variables(asked.variables);
    answer.features.emplace(protocol_features.begin(), protocol_features.end());
    if (handler.workloads() != nullptr) answer.features->emplace_back(workloads_feature);
    answer.worker.pid = ::getpid();
    return write_message(answer);
  }
  if (name == "device") return write_message(handler.device(read_message<device_request>(request)));
  if (name == "resolve") return write_message(handler.resolve(read_message<resolve_request>(request)));
  if (name == "prepare") return write_message(handler.prepare(read_message<prepare_request>(request)));
  if (name == "verify") return write_message(handler.verify(read_message<verify_request>(request)));
  if (name == "count") return write_message(handler.count(read_message<count_request>(request)));
  if (name == "sample") return write_message(handler.sample(read_message<sample_request>(request)));
  if (name == "release") {
    handler.release(read_message<release_request>(request).case_id);
    return json::object();
  }
  if (name == "quit") {
    quit = true;
    return json::object();
  }
  std::string known = "hello, device, resolve, prepare, verify, count, sample, release, ";
  if (workload_handler* const workloads = handler.workloads()) {
    json answer;
    if (answer_about_nets(*workloads, name, request, answer)) return answer;
    for (const std::string_view it : workload_requests) known += std::string(it) + ", ";
  }
  throw request_error(error_kind::usage, "there is no request '" + name + "'; there are: " + known + "quit");
}

json answer_request(request_handler& handler, const json& request, bool& quit) {
  if (!request.is_object()) return refusal(error_kind::usage, "a request should be a JSON object on one line");
  try {
    json answer = {{"ok", true}};
    answer.update(dispatch(handler, request, quit));
    return answer;
  } catch (const request_error& refused) {
    return refusal(refused.kind(), refused.what());
  } catch (const message_error& malformed) {
    return refusal(error_kind::usage, malformed.what());
  } catch (const std::exception& cause) {
    return refusal(handler.kind_of(cause), cause.what());
  } catch (...) {
    return refusal(error_kind::failed, "an exception of an unknown type was thrown");
  }
}

}  // namespace

advance_answer workload_handler::advance(const advance_request&) { refuse_training(); }
save_answer workload_handler::save(const save_request&) { refuse_training(); }
load_answer workload_handler::load(const load_request&) { refuse_training(); }

error_kind request_handler::kind_of(const std::exception& cause) const {
  if (dynamic_cast<const std::bad_alloc*>(&cause) != nullptr) return error_kind::memory;
  // A file is a mistake of the user's, unless the machine refuses it, as a full disk does.
  const auto* const file = dynamic_cast<const bench::file_error*>(&cause);
  const bool is_mistake = file != nullptr && file->why() == bench::file_error::cause::input;
  return is_mistake ? error_kind::usage : error_kind::failed;
}

std::string answer_line(request_handler& handler, std::string_view line, bool& quit) {
  json id;
  json answer;
  if (line.size() > longest_line) {
    answer = refusal(error_kind::usage, "the line is longer than " + std::to_string(longest_line) + " bytes");
  } else {
    try {
      const auto request = parse_json<json>(line);
      if (request.is_object() && request.contains("id")) id = request.at("id");
      answer = answer_request(handler, request, quit);
    } catch (const json_too_deep& malformed) {
      answer = refusal(error_kind::usage, std::string("the line is ") + malformed.what());
    } catch (const json::exception& malformed) {
      answer = refusal(error_kind::usage, std::string("the line is not JSON: ") + malformed.what());
    }
  }
  json complete = {{"id", id}};
  complete.update(answer);
  return complete.dump(-1, ' ', false, json::error_handler_t::replace);
}

standard_channel::standard_channel() {
  // If the reader has gone, write() fails, and no signal is sent.
  std::signal(SIGPIPE, SIG_IGN);
  answers_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  std::fflush(stdout);
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    if (nowhere > STDERR_FILENO) ::close(nowhere);
  }
}

standard_channel::~standard_channel() {
  if (answers_ >= 0) ::close(answers_);
}

bool standard_channel::is_terminal() const { return ::isatty(STDIN_FILENO) == 1; }

std::optional<std::string> standard_channel::read_line() {
  bool skipping = false;  // the rest of a line that is too long
  std::string cut;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return skipping ? cut : line;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > longest_line) {
      if (!skipping) cut = buffer_.substr(0, longest_line + 1);
      skipping = true;
      buffer_.clear();
      searched_ = 0;
    }
    char chunk[16384];
    const ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      // The last line need not have a line end.
      if (skipping) return cut;
      if (buffer_.empty()) return std::nullopt;
      searched_ = 0;
      return std::exchange(buffer_, {});
    }
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

bool standard_channel::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(answers_, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int serve(request_handler& handler, standard_channel& channel) {
  bool quit = false;
  while (!quit) {
    const std::optional<std::string> line = channel.read_line();
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!channel.write_line(answer_line(handler, *line, quit))) return 1;
  }
  return 0;
}

std::optional<int> handle_arguments(const program_description& program, int argc, char** argv,
                                    standard_channel& channel) {
  const std::string how_to =
      program.name + " " + program.version + ": a worker of prumo\n\n" + program.description +
      "\n\nprumo starts it. Started by hand, it reads requests from standard input, one JSON object per line, and\n"
      "answers each with one line; docs/protocol.md describes them. For example:\n\n"
      "  {\"request\": \"hello\"}\n"
      "  {\"request\": \"resolve\", \"op\": \"add\", \"dtype\": \"f32\", \"bytes_per_array\": 1048576}\n"
      "  {\"request\": \"quit\"}\n";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      channel.write_line(how_to + "\nUsage: " + program.name + " [--help] [--version]" +
                         (program.passed_on.empty() ? "" : " [" + program.passed_on + "...]"));
      return 0;
    }
    if (argument == "--version") {
      channel.write_line(program.name + " " + program.version);
      return 0;
    }
    if (program.passed_on.empty() || !argument.starts_with(program.passed_on)) {
      std::fprintf(stderr, "%s: there is no option '%s'; see %s --help\n", program.name.c_str(), argv[i],
                   program.name.c_str());
      return 2;
    }
  }
  if (channel.is_terminal()) std::fprintf(stderr, "%s\nType requests; Ctrl-D ends the program.\n", how_to.c_str());
  return std::nullopt;
}

}  // namespace prumo::protocol
