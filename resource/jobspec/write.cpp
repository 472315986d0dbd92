// write.cpp - Jobspec -> canonical JSON (RFC 14).
#include <cmath>
#include <nlohmann/json.hpp>

#include "resource/jobspec/jobspec.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::resource {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string listed(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

OrderedJson to_json(const Count& count) {
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

OrderedJson to_json(const std::vector<Request>& requests) {
  auto list = OrderedJson::array();
  for (const Request& request : requests) {
    OrderedJson item = {{"type", request.type}, {"count", to_json(request.count)}};
    if (!request.unit.empty()) item["unit"] = request.unit;
    if (request.exclusive) item["exclusive"] = *request.exclusive;
    if (!request.label.empty()) item["label"] = request.label;
    if (!request.id.empty()) item["id"] = request.id;
    if (!request.with.empty()) item["with"] = to_json(request.with);
    list.push_back(std::move(item));
  }
  return list;
}

OrderedJson to_json(const Task& task) {
  OrderedJson item = {{"command", task.command}, {"slot", task.slot}};
  if (task.total > 0) {
    item["count"] = {{"total", task.total}};
  } else if (task.per_resource_count > 0) {
    item["count"]["per_resource"] = {{"type", task.per_resource_type},
                                     {"count", task.per_resource_count}};
  } else {
    item["count"] = {{"per_slot", task.per_slot}};
  }
  if (!task.distribution.empty()) item["distribution"] = task.distribution;
  if (!task.attributes.empty()) item["attributes"] = parse_ordered(task.attributes);
  return item;
}

OrderedJson to_json(const Constraint& constraint) {
  if (constraint.op.empty()) return OrderedJson::object();
  auto values = OrderedJson::array();
  for (const std::string& value : constraint.values) values.push_back(value);
  for (const Constraint& operand : constraint.operands) values.push_back(to_json(operand));
  return {{constraint.op, std::move(values)}};
}

OrderedJson seconds(double value) {
  if (value == std::floor(value) && value < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

// The environment; its names differ, so none is looked for among the others.
OrderedJson environment_of(const Jobspec& jobspec) {
  OrderedJson environment = OrderedJson::object();
  for (const auto& [name, value] : jobspec.environment) add_member(environment, name, value);
  for (const std::string& name : jobspec.unset_environment)
    if (!jobspec.environment.contains(name)) add_member(environment, name, nullptr);
  return environment;
}

OrderedJson attributes(const Jobspec& jobspec) {
  OrderedJson all = jobspec.other_attributes.empty() ? OrderedJson::object()
                                                     : parse_ordered(jobspec.other_attributes);
  OrderedJson& system = all["system"];
  if (system.is_null()) system = OrderedJson::object();
  system["duration"] = seconds(jobspec.duration_seconds);
  if (!jobspec.queue.empty()) system["queue"] = jobspec.queue;
  if (!jobspec.name.empty()) system["job"]["name"] = jobspec.name;
  if (!jobspec.cwd.empty()) system["cwd"] = jobspec.cwd;
  if (jobspec.empty_environment || !jobspec.environment.empty() ||
      !jobspec.unset_environment.empty())
    system["environment"] = environment_of(jobspec);
  if (!jobspec.constraints.op.empty()) system["constraints"] = to_json(jobspec.constraints);
  return all;
}

}  // namespace

std::string write_jobspec(const Jobspec& jobspec) {
  auto tasks = OrderedJson::array();
  for (const Task& task : jobspec.tasks) tasks.push_back(to_json(task));
  const OrderedJson top = {{"version", jobspec.version},
                           {"resources", to_json(jobspec.resources)},
                           {"tasks", std::move(tasks)},
                           {"attributes", attributes(jobspec)}};
  return top.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace holon::resource
