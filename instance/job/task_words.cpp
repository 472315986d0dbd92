#include "instance/job/task_words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

// The packed form, without member names: they would take as many bytes as most values.
using KeptWords =
    std::pair<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>>;

// The object `key` of `owner`, made where there is none.
json& object_in(json& owner, const char* key) {
  json& value = owner[key];
  if (!value.is_object()) value = json::object();
  return value;
}

json dependency_json(const std::string& text) {
  const auto colon = text.find(':');
  return {{"scheme", text.substr(0, colon)},
          {"value", colon == std::string::npos ? "" : text.substr(colon + 1)}};
}

}  // namespace

std::string pack_words(const TaskWords& words) {
  return transport::pack(KeptWords{words.name, {words.command, words.dependencies}});
}

Result<TaskWords> unpack_words(std::string_view bytes) {
  auto kept = transport::unpack<KeptWords>(bytes);
  if (!kept) return tl::unexpected(kept.error());
  auto& [name, lists] = *kept;
  return TaskWords{std::move(name), std::move(lists.first), std::move(lists.second)};
}

Result<Dependency> parse_dependency(const std::string& text) {
  auto read = read_dependencies(json{{"dependencies", json::array({dependency_json(text)})}});
  if (!read) return tl::unexpected(read.error());
  return std::move(read->front());
}

std::string with_words(const std::string& jobspec, const TaskWords& words) {
  json spec = json::parse(jobspec, nullptr, false);
  if (!spec.is_object()) return jobspec;
  if (!words.command.empty() && spec["tasks"].is_array() && !spec["tasks"].empty())
    spec["tasks"][0]["command"] = words.command;
  json& system = object_in(object_in(spec, "attributes"), "system");
  if (!words.name.empty()) object_in(system, "job")["name"] = words.name;
  if (words.dependencies.empty()) return spec.dump();
  json& all = system["dependencies"];
  if (!all.is_array()) all = json::array();
  for (const auto& text : words.dependencies) all.push_back(dependency_json(text));
  return spec.dump();
}

Result<Submission> with_words(const Submission& shared, JobId id, const TaskWords& words) {
  Submission made = shared;
  made.first = id;
  made.count = 1;
  if (!words.command.empty()) set_command(made, words.command);
  if (!words.name.empty()) made.name = words.name;
  for (const auto& text : words.dependencies) {
    auto dependency = parse_dependency(text);
    if (!dependency) return tl::unexpected(dependency.error());
    made.dependencies.push_back(std::move(*dependency));
  }
  return made;
}

void add_dependency_events(std::vector<Event>& events, const TaskWords& words) {
  const auto valid = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<event::Validate>(event.body);
  });
  if (valid == events.end()) return;
  std::vector<Event> all;
  for (const auto& text : words.dependencies)
    all.push_back({valid->time, event::DependencyAdd{text}});
  events.insert(valid + 1, all.begin(), all.end());
}

}  // namespace holon::instance
