// parse.cpp - Document -> Jobspec (RFC 14): the top level, resources and tasks.
#include "resource/graph/spec.hpp"
#include "resource/jobspec/attributes.hpp"
#include "resource/jobspec/decode.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

using jobspec::Document;
using jobspec::DocumentPlace;

// Reads {min, max, operator, operand}.
Result<Count> count_map(const DocumentPlace& place) {
  if (auto ok = place.only({"min", "max", "operator", "operand"}); !ok)
    return tl::unexpected(ok.error());
  Count count;
  const auto min = place.required("min");
  if (!min) return tl::unexpected(min.error());
  const auto min_value = min->integer(1, kMaxCount);
  if (!min_value) return tl::unexpected(min_value.error());
  count.min = *min_value;
  count.max = Count::kUnbounded;
  if (const auto max = place.find("max")) {
    const auto value = max->integer(1, kMaxCount);
    if (!value) return tl::unexpected(value.error());
    count.max = *value;
  }
  if (const auto op = place.find("operator")) {
    const auto value = op->text();
    if (!value) return tl::unexpected(value.error());
    if (value->size() != 1) return op->wrong("the operator is one of + * ^");
    count.op = value->front();
  }
  if (const auto operand = place.find("operand")) {
    const auto value = operand->integer(1, kMaxCount);
    if (!value) return tl::unexpected(value.error());
    count.operand = *value;
  }
  if (auto valid = check_count(count); !valid) return place.wrong(valid.error().what);
  if (count.min == count.max) return Count{count.min, count.max, '+', 1, {}};
  return count;
}

Result<Count> parse_count_at(const DocumentPlace& place) {
  if (place->kind == Document::Kind::map) return count_map(place);
  const auto text = place.text();
  if (!text) return tl::unexpected(text.error());
  auto count = parse_count(*text);
  if (!count) return place.wrong(count.error().what);
  return count;
}

// Sets `field` from an optional string key.
Status take_text(const DocumentPlace& place, std::string_view key, std::string& field) {
  const auto child = place.find(key);
  if (!child) return {};
  auto text = child->text();
  if (!text) return tl::unexpected(text.error());
  field = std::move(*text);
  return {};
}

Result<std::vector<Request>> parse_resources(const DocumentPlace& place);

Result<Request> parse_resource(const DocumentPlace& place) {
  if (auto ok = place.require_map(); !ok) return tl::unexpected(ok.error());
  if (auto ok = place.only({"type", "count", "unit", "exclusive", "with", "label", "id"}); !ok)
    return tl::unexpected(ok.error());
  Request request;
  const auto type =
      place.required("type").and_then([](const DocumentPlace& at) { return at.text(); });
  if (!type) return tl::unexpected(type.error());
  if (type->empty()) return place.wrong("\"type\" is empty");
  request.type = *type;
  const auto count = place.required("count");
  if (!count) return tl::unexpected(count.error());
  auto parsed = parse_count_at(*count);
  if (!parsed) return tl::unexpected(parsed.error());
  request.count = std::move(*parsed);
  if (auto ok = take_text(place, "unit", request.unit); !ok) return tl::unexpected(ok.error());
  if (auto ok = take_text(place, "label", request.label); !ok) return tl::unexpected(ok.error());
  if (auto ok = take_text(place, "id", request.id); !ok) return tl::unexpected(ok.error());
  if (request.type == "slot" && request.label.empty())
    return place.wrong("a slot needs the key \"label\"");
  if (const auto exclusive = place.find("exclusive")) {
    const auto value = exclusive->boolean();
    if (!value) return tl::unexpected(value.error());
    request.exclusive = *value;
  }
  if (const auto with = place.find("with")) {
    auto children = parse_resources(*with);
    if (!children) return tl::unexpected(children.error());
    request.with = std::move(*children);
  }
  return request;
}

Result<std::vector<Request>> parse_resources(const DocumentPlace& place) {
  if (auto ok = place.require_list(); !ok) return tl::unexpected(ok.error());
  std::vector<Request> requests;
  requests.reserve(place->items.size());
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    auto request = parse_resource(place.at(i));
    if (!request) return tl::unexpected(request.error());
    requests.push_back(std::move(*request));
  }
  return requests;
}

// Reads {per_slot: N}, {total: N} or {per_resource: {type, count}}.
Status parse_task_count(const DocumentPlace& place, Task& task) {
  if (auto ok = place.require_map(); !ok) return ok;
  if (auto ok = place.only({"per_slot", "total", "per_resource"}); !ok) return ok;
  if (place->items.size() != 1)
    return place.wrong("exactly one of per_slot, total, per_resource is needed");
  if (const auto per_resource = place.find("per_resource")) {
    if (auto ok = per_resource->require_map(); !ok) return ok;
    if (auto ok = per_resource->only({"type", "count"}); !ok) return ok;
    const auto type =
        per_resource->required("type").and_then([](const DocumentPlace& at) { return at.text(); });
    if (!type) return tl::unexpected(type.error());
    if (type->empty()) return per_resource->wrong("\"type\" is empty");
    const auto count = per_resource->required("count").and_then(
        [](const DocumentPlace& at) { return at.integer(1, kMaxCount); });
    if (!count) return tl::unexpected(count.error());
    task.per_resource_type = *type;
    task.per_resource_count = *count;
    return {};
  }
  const DocumentPlace only = place.at(place->keys.front(), place->items.front());
  const auto value = only.integer(1, kMaxCount);
  if (!value) return tl::unexpected(value.error());
  (place->keys.front() == "total" ? task.total : task.per_slot) = *value;
  return {};
}

Result<std::vector<std::string>> parse_command(const DocumentPlace& place) {
  if (auto ok = place.require_list(); !ok) return tl::unexpected(ok.error());
  std::vector<std::string> command;
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    auto word = place.at(i).text();
    if (!word) return tl::unexpected(word.error());
    command.push_back(std::move(*word));
  }
  return command;
}

Result<Task> parse_task(const DocumentPlace& place) {
  if (auto ok = place.require_map(); !ok) return tl::unexpected(ok.error());
  if (auto ok = place.only({"command", "slot", "count", "attributes", "distribution"}); !ok)
    return tl::unexpected(ok.error());
  Task task;
  const auto command = place.required("command");
  if (!command) return tl::unexpected(command.error());
  auto words = parse_command(*command);
  if (!words) return tl::unexpected(words.error());
  task.command = std::move(*words);
  const auto slot =
      place.required("slot").and_then([](const DocumentPlace& at) { return at.text(); });
  if (!slot) return tl::unexpected(slot.error());
  task.slot = *slot;
  if (const auto count = place.find("count")) {
    if (auto ok = parse_task_count(*count, task); !ok) return tl::unexpected(ok.error());
  } else {
    task.per_slot = 1;
  }
  if (auto ok = take_text(place, "distribution", task.distribution); !ok)
    return tl::unexpected(ok.error());
  if (const auto attributes = place.find("attributes")) {
    if (auto ok = attributes->require_map(); !ok) return tl::unexpected(ok.error());
    if (!(*attributes)->items.empty()) task.attributes = to_json(**attributes);
  }
  return task;
}

Result<std::vector<Task>> parse_tasks(const DocumentPlace& place) {
  if (auto ok = place.require_list(); !ok) return tl::unexpected(ok.error());
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    auto task = parse_task(place.at(i));
    if (!task) return tl::unexpected(task.error());
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

Result<Jobspec> parse_top(const DocumentPlace& top) {
  if (auto ok = top.require_map(); !ok) return tl::unexpected(ok.error());
  if (auto ok = top.only({"version", "resources", "tasks", "attributes"}); !ok)
    return tl::unexpected(ok.error());
  for (const char* key : {"version", "resources", "tasks", "attributes"})
    if (auto present = top.required(key); !present) return tl::unexpected(present.error());
  Jobspec result;
  const auto version = top.find("version")->integer(1, 9999);
  if (!version) return tl::unexpected(version.error());
  result.version = static_cast<int>(*version);
  auto resources = parse_resources(*top.find("resources"));
  if (!resources) return tl::unexpected(resources.error());
  result.resources = std::move(*resources);
  auto tasks = parse_tasks(*top.find("tasks"));
  if (!tasks) return tl::unexpected(tasks.error());
  result.tasks = std::move(*tasks);
  if (auto ok = jobspec::parse_attributes(*top.find("attributes"), result); !ok)
    return tl::unexpected(ok.error());
  return result;
}

}  // namespace

Result<Jobspec> parse_jobspec(std::string_view bytes, JobspecBounds bounds) {
  if (bytes.size() > bounds.bytes)
    return fail(Errc::invalid_argument, "a jobspec of " + std::to_string(bytes.size()) +
                                            " bytes; at most " + std::to_string(bounds.bytes) +
                                            " are accepted");
  if (!is_utf8(bytes)) return fail(Errc::invalid_argument, "a jobspec must be UTF-8 without NUL");
  const auto first = bytes.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && bytes[first] == '{';
  auto document =
      json ? jobspec::parse_json(bytes, bounds.values) : jobspec::parse_yaml(bytes, bounds.values);
  if (!document) return tl::unexpected(document.error());
  return parse_top(DocumentPlace(*document));
}

}  // namespace holon::resource
