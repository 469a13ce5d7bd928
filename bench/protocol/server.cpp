// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/server.hpp>

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

/// The answer of the handler to a request by that name, without id and ok.
json dispatch(request_handler& handler, const json& request, bool& quit) {
  const auto named = request.find("request");
  if (named == request.end()) throw request_error(error_kind::usage, "the field 'request' is missing");
  if (!named->is_string()) throw request_error(error_kind::usage, "the field 'request' should be a text");
  const std::string name = named->get<std::string>();
  if (name == "hello") {
    const int version = parse_hello(request);
    if (version != protocol_version) {
      throw request_error(error_kind::usage, "this worker speaks version " + std::to_string(protocol_version) +
                                                 " of the protocol, not " + std::to_string(version) +
                                                 ": use a prumo and a worker of the same release");
    }
    json answer = to_json(handler.hello());
    answer["worker"]["pid"] = static_cast<std::int64_t>(::getpid());
    return answer;
  }
  if (name == "device") return to_json(handler.device(parse_device(request)));
  if (name == "resolve") return to_json(handler.resolve(parse_resolve(request)));
  if (name == "prepare") return to_json(handler.prepare(parse_prepare(request)));
  if (name == "verify") return to_json(handler.verify(parse_verify(request)));
  if (name == "count") return to_json(handler.count(parse_count(request)));
  if (name == "sample") return to_json(handler.sample(parse_sample(request)));
  if (name == "release") {
    handler.release(parse_release(request));
    return json::object();
  }
  if (name == "quit") {
    quit = true;
    return json::object();
  }
  throw request_error(error_kind::usage, "there is no request '" + name +
                                             "'; there are: hello, device, resolve, prepare, verify, count, sample, "
                                             "release, quit");
}

json answer_request(request_handler& handler, const json& request, bool& quit) {
  if (!request.is_object()) return refusal(error_kind::usage, "a request is a JSON object in one line");
  try {
    json answer = {{"ok", true}};
    answer.update(dispatch(handler, request, quit));
    return answer;
  } catch (const request_error& refused) {
    return refusal(refused.kind(), refused.what());
  } catch (const std::exception& cause) {
    return refusal(handler.kind_of(cause), cause.what());
  } catch (...) {
    return refusal(error_kind::failed, "something was thrown that is no std::exception");
  }
}

}  // namespace

error_kind request_handler::kind_of(const std::exception& cause) const {
  return dynamic_cast<const std::bad_alloc*>(&cause) != nullptr ? error_kind::memory : error_kind::failed;
}

std::string answer_line(request_handler& handler, std::string_view line, bool& quit) {
  json id;
  json answer;
  if (line.size() > longest_line) {
    answer = refusal(error_kind::usage, "the line is longer than " + std::to_string(longest_line) + " bytes");
  } else {
    try {
      const json request = json::parse(line);
      if (request.is_object() && request.contains("id")) id = request.at("id");
      answer = answer_request(handler, request, quit);
    } catch (const json::parse_error& malformed) {
      answer = refusal(error_kind::usage, std::string("the line is no JSON: ") + malformed.what());
    }
  }
  json complete = {{"id", id}};
  complete.update(answer);
  return complete.dump(-1, ' ', false, json::error_handler_t::replace);
}

standard_channel::standard_channel() {
  // A reader that went away shows as an error of write(), not as a signal.
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
      // A last line without an end is a line all the same.
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
      "\n\nprumo starts it by itself. Alone it reads requests from standard input, one JSON object a line, and\n"
      "answers each with a line; docs/protocol.md describes them. For example:\n\n"
      "  {\"request\": \"hello\"}\n  " +
      program.example + "\n  {\"request\": \"quit\"}\n";
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
  if (channel.is_terminal())
    std::fprintf(stderr, "%s\nType requests; the end of input (Ctrl-D) ends it.\n", how_to.c_str());
  return std::nullopt;
}

}  // namespace prumo::protocol
