#include "config/policies.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <set>

#include "base/whole_file.hpp"
#include "policy/program.hpp"

namespace holon::config {

namespace {

Result<std::string> policy_text(const std::string& file) {
  auto text = read_regular_file(file, policy::kMostText);
  if (text) return text;
  return fail(Errc::invalid_argument,
              (text.error().code == Errc::not_found ? "no such file" : text.error().what) +
                  "; accepted are a policy in Lua, FILE.lua, and the names of built-in ones",
              file);
}

// The text as a TOML basic string.
std::string toml_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (code < ' ' || code == 0x7f)
      quoted += fmt::format("\\u{:04X}", code);
    else
      quoted += c;
  }
  return quoted + '"';
}

// The file name in "queue.policy=FILE" or "queues.NAME.policy=FILE"; "": another word.
std::string policy_file_of(const std::string& word) {
  if (is_conf_file(word)) return {};
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  const bool of_queue =
      key == "queue.policy" || (key.starts_with("queues.") && key.ends_with(".policy"));
  return of_queue && qmanager::is_policy_file(value) ? value : std::string();
}

// The policies whose texts stand among the words: "policies.NAME=TEXT".
std::set<std::string> policies_given_in(const std::vector<std::string>& words) {
  constexpr std::string_view kPrefix = "policies.";
  std::set<std::string> names;
  for (const std::string& word : words)
    if (!is_conf_file(word) && word.starts_with(kPrefix))
      names.insert(word.substr(kPrefix.size(), word.find('=') - kPrefix.size()));
  return names;
}

}  // namespace

Status add_policies(Config& config, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!qmanager::is_policy_file(name) || config.policies.contains(name)) continue;
    auto text = policy_text(name);
    if (!text) return tl::unexpected(text.error());
    config.policies[name] = std::move(*text);
  }
  for (const auto& [name, text] : config.policies) {
    if (config.scheduler.programs.contains(name)) continue;
    auto program = policy::compile(std::filesystem::path(name).filename(), text);
    if (!program) return tl::unexpected(program.error());
    config.scheduler.programs[name] = std::move(*program);
  }
  return {};
}

Status add_policies(Config& config) {
  std::vector<std::string> names = {config.scheduler.defaults.policy};
  for (const auto& [name, queue] : config.scheduler.queues) names.push_back(queue.policy);
  return add_policies(config, names);
}

std::string policies_as_toml(const Config& config) {
  if (config.policies.empty()) return {};
  std::string toml = "[policies]\n";
  for (const auto& [name, text] : config.policies)
    toml += fmt::format("{} = {}\n", toml_quoted(name), toml_quoted(text));
  return toml;
}

Result<std::vector<std::string>> with_policy_texts(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  std::map<std::string, std::string> files;  // by the name that they get
  const std::set<std::string> given = policies_given_in(words);
  for (const std::string& word : words) {
    const std::string file = policy_file_of(word);
    if (file.empty() || given.contains(file)) {
      all.push_back(word);
      continue;
    }
    const std::string name = std::filesystem::path(file).filename();
    const auto [known, is_new] = files.emplace(name, file);
    if (!is_new && known->second != file)
      return fail(Errc::exists, fmt::format("two policies have the name {}", name),
                  "--conf " + word);
    if (is_new) {
      auto text = policy_text(file);
      if (!text) return tl::unexpected(text.error());
      all.push_back(fmt::format("policies.{}={}", name, *text));
    }
    all.push_back(word.substr(0, word.find('=') + 1) + name);
  }
  return all;
}

}  // namespace holon::config
