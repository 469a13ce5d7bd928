// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "privacy/anonymous.hpp"

#include "privacy/recorded_words.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <pwd.h>
#include <string>
#include <string_view>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The names that tell whose machine this is, and on which ones a run was measured.
struct known_names {
  std::string home;
  std::vector<std::string> hosts;
  std::vector<std::string> users;

  explicit known_names(const json& run) {
    find_own();
    add_hosts_of(run);
    if (const auto resumed = run.find("resumed"); resumed != run.end()) {
      for (const json& later : *resumed) add_hosts_of(later);
    }
    std::erase_if(hosts, [](const std::string& it) { return it.empty() || it == "localhost"; });
    std::erase_if(users, [](const std::string& it) { return it.empty() || it == "root"; });
  }

  void find_own() {
    if (const char* variable = std::getenv("HOME")) home = variable;
    if (const struct passwd* entry = ::getpwuid(::geteuid())) {
      if (home.empty()) home = entry->pw_dir;
      users.emplace_back(entry->pw_name);
    }
    for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
      if (const char* name = std::getenv(variable)) users.emplace_back(name);
    }
    while (home.ends_with('/')) home.pop_back();
    if (!home.empty()) users.push_back(home.substr(home.rfind('/') + 1));
    struct utsname names{};
    if (::uname(&names) == 0) add_host(names.nodename);
  }

  void add_hosts_of(const json& run) {
    for (const char* place : {"/host/name", "/conditions/host"}) {
      const json::json_pointer pointer(place);
      if (run.contains(pointer) && run.at(pointer).is_string()) add_host(run.at(pointer).get<std::string>());
    }
  }

  /// Its short name, too.
  void add_host(const std::string& name) {
    hosts.push_back(name);
    hosts.push_back(name.substr(0, name.find('.')));
  }

  [[nodiscard]] std::string clean(std::string text) const {
    const auto is_in_word = [](char it) { return std::isalnum(static_cast<unsigned char>(it)) != 0 || it == '_'; };
    const auto replace = [&](const std::string& name, std::string_view by, auto fits) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        const std::size_t end = at + name.size();
        const char before = at == 0 ? ' ' : text[at - 1];
        const char after = end == text.size() ? ' ' : text[end];
        if (is_in_word(after) || !fits(before, after)) {
          at = end;
        } else {
          text.replace(at, name.size(), by);
          at += by.size();
        }
      }
    };
    const auto after_anything = [](char, char) { return true; };  // such as -I/home/anna
    const auto as_word = [&](char before, char) { return !is_in_word(before); };
    // The name of a user may be a common word, so it counts only where users stand: in paths, and before hosts.
    const auto where_users_stand = [&](char before, char after) {
      return before == '/' || (after == '@' && !is_in_word(before));
    };
    if (!home.empty()) replace(home, "~", after_anything);
    for (const std::string& host : hosts) replace(host, "host", as_word);
    for (const std::string& user : users) replace(user, "user", where_users_stand);
    return text;
  }

  void clean_texts(json& value) const {
    if (value.is_string()) {
      value = clean(value.get<std::string>());
    } else if (value.is_structured()) {
      for (json& it : value) clean_texts(it);
    }
  }
};

void forget_names(json& run, const known_names& own) {
  if (const auto host = run.find("host"); host != run.end() && host->is_object()) (*host)["name"] = nullptr;
  if (const auto conditions = run.find("conditions"); conditions != run.end() && conditions->is_object()) {
    conditions->erase("host");
    if (conditions->contains("devices")) {
      for (json& device : (*conditions)["devices"]) device.erase("uuid");
    }
  }
  if (const auto command = run.find("command"); command != run.end() && command->is_array()) {
    std::vector<std::string> words;
    for (const json& word : *command) words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
    change_values(words, {"--launcher"}, [](const std::string& text) {
      const std::size_t end = text.find(' ');
      return end == std::string::npos ? text : text.substr(0, end) + " ...";
    });
    *command = std::move(words);
  }
  own.clean_texts(run);
  if (const auto resumed = run.find("resumed"); resumed != run.end()) {
    for (json& later : *resumed) forget_names(later, own);
  }
}

}  // namespace

json anonymized(json document) {
  const known_names own(document.at("run"));
  forget_names(document.at("run"), own);
  for (json& device : document.at("devices")) {
    if (const auto facts = device.find("facts"); facts != device.end()) facts->erase("uuid");
    for (const char* place : {"name", "facts", "worker"}) {
      if (const auto part = device.find(place); part != device.end()) own.clean_texts(*part);
    }
  }
  for (json& result : document.at("results")) {
    for (const char* place : {"reason", "warnings"}) {
      if (const auto part = result.find(place); part != result.end()) own.clean_texts(*part);
    }
  }
  return document;
}

std::string anonymized_text(std::string text, const json& run) { return known_names(run).clean(std::move(text)); }

}  // namespace prumo::bench
