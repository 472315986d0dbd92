#include "instance/job/jobspec_update.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "instance/basics/text.hpp"
#include "instance/request/submission.hpp"
#include "qmanager/request.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

// The first vertex of this type in `list` or below it; nullptr: there is none.
json* find_vertex(json& list, const char* type) {
  if (!list.is_array()) return nullptr;
  for (json& vertex : list) {
    if (vertex.value("type", "") == type) return &vertex;
    if (!vertex.contains("with")) continue;
    if (json* const below = find_vertex(vertex["with"], type)) return below;
  }
  return nullptr;
}

bool is_range(const json& count) {
  return !count.is_number_integer();
}

Status set_nodes(json& spec, const event::JobspecUpdate& update) {
  if (!update.nodes) return {};
  json* const node = find_vertex(spec["resources"], "node");
  if (node == nullptr)
    return fail(Errc::invalid_argument,
                "the job asks for slots wherever there is room (it was submitted without -N): "
                "their number can be changed",
                "nodes");
  const json& tasks = spec["tasks"][0]["count"];
  if (!update.slots && tasks.contains("total"))
    return fail(Errc::invalid_argument,
                fmt::format("its {} tasks are not equally many on each node: say how many there "
                            "are to be (slots), too",
                            tasks["total"].dump()),
                "nodes");
  (*node)["count"] = *update.nodes;
  return {};
}

// Sets the slots in all; the tasks follow where each slot had one.
Status set_slots(json& spec, const event::JobspecUpdate& update) {
  if (!update.slots) return {};
  json* const slot = find_vertex(spec["resources"], "slot");
  if (slot == nullptr) return fail(Errc::invalid_argument, "the job asks for no slots", "slots");
  std::int64_t nodes = 1;
  if (json* const node = find_vertex(spec["resources"], "node")) {
    if (is_range((*node)["count"]))
      return fail(Errc::invalid_argument, "the job asks for a range of nodes", "slots");
    nodes = (*node)["count"].get<std::int64_t>();
  }
  const std::int64_t each = (*update.slots + nodes - 1) / nodes;
  (*slot)["count"] = each;
  json& tasks = spec["tasks"][0]["count"];
  if (each * nodes != *update.slots)
    tasks = {{"total", *update.slots}};
  else if (tasks.contains("total"))
    tasks = {{"per_slot", 1}};
  // A range of slots that was asked for no longer applies.
  auto& system = spec["attributes"]["system"];
  if (system.contains("holon")) system["holon"].erase("slots");
  return {};
}

}  // namespace

Result<std::string> with_update(const std::string& jobspec, const event::JobspecUpdate& update) {
  try {
    json spec = json::parse(jobspec);
    json& system = spec["attributes"]["system"];
    if (update.limit) system["duration"] = static_cast<double>(*update.limit) / 1000;
    if (update.name) system["job"]["name"] = *update.name;
    if (update.queue) system["queue"] = *update.queue;
    if (auto set = set_nodes(spec, update); !set) return tl::unexpected(set.error());
    if (auto set = set_slots(spec, update); !set) return tl::unexpected(set.error());
    return spec.dump();
  } catch (const json::exception& e) {
    return fail(Errc::invalid_argument, fmt::format("cannot be changed: {}", e.what()), "jobspec");
  }
}

std::string as_updated(const std::string& jobspec, const std::vector<Event>& events) {
  Updates all;
  for (const Event& event : events)
    if (const auto* update = std::get_if<event::JobspecUpdate>(&event.body))
      all = merged(all, *update);
  if (all.all == nullptr) return jobspec;
  return with_update(jobspec, *all.all).value_or(jobspec);
}

Status check_update(const msg::UpdateRequest& ask) {
  constexpr std::int64_t kMost = 1'000'000'000;  // units
  const auto wrong = [](std::string what, const char* where) {
    return fail(Errc::invalid_argument, std::move(what), where);
  };
  const bool is_empty = ask.limit < 0 && ask.extend == 0 && ask.name.empty() && ask.queue.empty() &&
                        ask.urgency < 0 && ask.nodes == 0 && ask.slots == 0 && ask.elastic < 0;
  if (is_empty) return wrong("nothing is to be changed", "");
  if (ask.limit >= 0 && ask.extend != 0)
    return wrong("a limit is either another one or a longer or shorter one", "limit");
  for (const Duration asked : {ask.limit, ask.extend, -ask.extend})
    if (asked > kLongestLimit)
      return wrong(fmt::format("is {}; a limit of up to {} is accepted", duration_text(asked),
                               duration_text(kLongestLimit)),
                   "limit");
  if (ask.urgency > qmanager::kUrgencyExpedite)
    return wrong(fmt::format("urgency is {}; accepted are 0 to 31", ask.urgency), "urgency");
  if (ask.nodes < 0 || ask.nodes > kMost || ask.slots < 0 || ask.slots > kMost)
    return wrong(fmt::format("1 to {} are accepted", kMost),
                 ask.nodes < 0 || ask.nodes > kMost ? "nodes" : "slots");
  if (ask.elastic > kMost || ask.elastic_least < 0 || ask.elastic_least > kMost)
    return wrong(fmt::format("up to {} are accepted", kMost), "elastic");
  if (ask.elastic_least > 0 && ask.slots > 0)
    return wrong("is said twice: as the slots, and as what it begins with", "slots");
  return {};
}

std::string in_words(const msg::UpdateRequest& ask) {
  std::string text;
  const auto add = [&text](const char* what, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, value);
  };
  if (ask.limit >= 0) add("limit", ask.limit == 0 ? "none" : duration_text(ask.limit));
  if (ask.extend > 0) add("limit", "+" + duration_text(ask.extend));
  if (ask.extend < 0) add("limit", "-" + duration_text(-ask.extend));
  if (!ask.name.empty()) add("name", ask.name);
  if (!ask.queue.empty()) add("queue", ask.queue);
  if (ask.urgency >= 0) add("urgency", std::to_string(ask.urgency));
  if (ask.nodes > 0) add("nodes", std::to_string(ask.nodes));
  if (ask.slots > 0) add("slots", std::to_string(ask.slots));
  if (ask.elastic_least > 0) add("begins with cores", std::to_string(ask.elastic_least));
  if (ask.elastic == 0) add("elastic", "off");
  if (ask.elastic > 0) add("elastic", "up to " + std::to_string(ask.elastic));
  return text;
}

}  // namespace holon::instance
