// write.cpp - Jobspec -> canonical JSON (RFC 14).
#include <cmath>
#include <nlohmann/json.hpp>

#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

using Json = nlohmann::ordered_json;

std::string listed(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

Json to_json(const Count& count) {
  if (!count.values.empty()) return listed(count.values);
  if (count.min == count.max) return count.min;
  const bool plain = count.op == '+' && count.operand == 1;
  if (count.max != Count::kUnbounded)
    return {{"min", count.min},
            {"max", count.max},
            {"operator", std::string(1, count.op)},
            {"operand", count.operand}};
  if (plain) return {{"min", count.min}};
  return std::to_string(count.min) + "+:" + std::to_string(count.operand) + ":" + count.op;
}

Json to_json(const std::vector<Request>& requests) {
  auto list = Json::array();
  for (const Request& request : requests) {
    Json item = {{"type", request.type}, {"count", to_json(request.count)}};
    if (!request.unit.empty()) item["unit"] = request.unit;
    if (request.exclusive) item["exclusive"] = *request.exclusive;
    if (!request.label.empty()) item["label"] = request.label;
    if (!request.id.empty()) item["id"] = request.id;
    if (!request.with.empty()) item["with"] = to_json(request.with);
    list.push_back(std::move(item));
  }
  return list;
}

Json to_json(const Task& task) {
  Json item = {{"command", task.command}, {"slot", task.slot}};
  if (task.total > 0) {
    item["count"] = {{"total", task.total}};
  } else if (task.per_resource_count > 0) {
    item["count"]["per_resource"] = {{"type", task.per_resource_type},
                                     {"count", task.per_resource_count}};
  } else {
    item["count"] = {{"per_slot", task.per_slot}};
  }
  if (!task.distribution.empty()) item["distribution"] = task.distribution;
  if (!task.attributes.empty()) item["attributes"] = Json::parse(task.attributes);
  return item;
}

Json to_json(const Constraint& constraint) {
  if (constraint.op.empty()) return Json::object();
  auto values = Json::array();
  for (const std::string& value : constraint.values) values.push_back(value);
  for (const Constraint& operand : constraint.operands) values.push_back(to_json(operand));
  return {{constraint.op, std::move(values)}};
}

Json seconds(double value) {
  if (value == std::floor(value) && value < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

Json attributes(const Jobspec& jobspec) {
  Json all =
      jobspec.other_attributes.empty() ? Json::object() : Json::parse(jobspec.other_attributes);
  Json& system = all["system"];
  if (system.is_null()) system = Json::object();
  system["duration"] = seconds(jobspec.duration_seconds);
  if (!jobspec.queue.empty()) system["queue"] = jobspec.queue;
  if (!jobspec.name.empty()) system["job"]["name"] = jobspec.name;
  if (!jobspec.cwd.empty()) system["cwd"] = jobspec.cwd;
  if (jobspec.empty_environment) system["environment"] = Json::object();
  for (const auto& [name, value] : jobspec.environment) system["environment"][name] = value;
  for (const std::string& name : jobspec.unset_environment) system["environment"][name] = nullptr;
  if (!jobspec.constraints.op.empty()) system["constraints"] = to_json(jobspec.constraints);
  return all;
}

}  // namespace

std::string write_jobspec(const Jobspec& jobspec) {
  auto tasks = Json::array();
  for (const Task& task : jobspec.tasks) tasks.push_back(to_json(task));
  const Json top = {{"version", jobspec.version},
                    {"resources", to_json(jobspec.resources)},
                    {"tasks", std::move(tasks)},
                    {"attributes", attributes(jobspec)}};
  return top.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace holon::resource
