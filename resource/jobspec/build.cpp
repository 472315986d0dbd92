// build.cpp - the jobspec of a command line.
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

Request request(std::string type, std::int64_t count) {
  Request made;
  made.type = std::move(type);
  made.count.min = made.count.max = count;
  return made;
}

Status check_shape(const JobShape& shape) {
  const auto below = [](const char* option, std::int64_t value, std::int64_t least) {
    return fail(Errc::invalid_argument,
                std::to_string(value) + " is not accepted, at least " + std::to_string(least) +
                    " and at most 4294967295 are",
                option);
  };
  const auto bad = [](std::int64_t value, std::int64_t least) {
    return value < least || value > kMaxCount;
  };
  if (bad(shape.nodes, 0)) return below("nodes", shape.nodes, 0);
  if (bad(shape.tasks, 1)) return below("tasks", shape.tasks, 1);
  if (bad(shape.cores_per_task, 1)) return below("cores_per_task", shape.cores_per_task, 1);
  if (bad(shape.gpus_per_task, 0)) return below("gpus_per_task", shape.gpus_per_task, 0);
  if (bad(shape.memory_per_task, 0)) return below("memory_per_task", shape.memory_per_task, 0);
  if (shape.nodes > shape.tasks)
    return fail(Errc::invalid_argument,
                std::to_string(shape.nodes) + " nodes for " + std::to_string(shape.tasks) +
                    " tasks: every node needs a task",
                "nodes");
  if (shape.exclusive && shape.nodes == 0)
    return fail(Errc::invalid_argument, "whole nodes need the number of nodes", "exclusive");
  if (!(shape.duration_seconds >= 0))
    return fail(Errc::invalid_argument, "a duration must not be negative", "duration_seconds");
  return {};
}

}  // namespace

std::int64_t spare_slots(const Jobspec& jobspec) {
  const auto is_fixed = [](const Count& count) {
    return count.values.empty() && count.min == count.max;
  };
  if (jobspec.resources.size() != 1 || jobspec.tasks.size() != 1) return 0;
  const Request& node = jobspec.resources.front();
  if (node.type != "node" || node.with.size() != 1 || !is_fixed(node.count)) return 0;
  const Request& slot = node.with.front();
  if (slot.type != "slot" || !is_fixed(slot.count) || slot.count.min < 2) return 0;
  if (slot.count.min > INT64_MAX / node.count.min) return 0;
  const std::int64_t all = node.count.min * slot.count.min;
  const std::int64_t tasks = jobspec.tasks.front().total;
  return tasks > 0 && tasks < all && all - tasks < node.count.min ? all - tasks : 0;
}

Result<Jobspec> jobspec_for(JobShape shape) {
  if (auto ok = check_shape(shape); !ok) return tl::unexpected(ok.error());
  const bool spread = shape.nodes > 0;
  Request slot =
      request("slot", spread ? (shape.tasks + shape.nodes - 1) / shape.nodes : shape.tasks);
  slot.label = "task";
  slot.with.push_back(request("core", shape.cores_per_task));
  if (shape.gpus_per_task > 0) slot.with.push_back(request("gpu", shape.gpus_per_task));
  if (shape.memory_per_task > 0) slot.with.push_back(request("memory", shape.memory_per_task));

  Jobspec jobspec;
  Task task;
  task.command = std::move(shape.command);
  task.slot = "task";
  if (spread && shape.tasks % shape.nodes != 0)
    task.total = shape.tasks;  // some nodes do without one of their slots
  else
    task.per_slot = 1;
  jobspec.tasks.push_back(std::move(task));
  if (spread) {
    Request node = request("node", shape.nodes);
    if (shape.exclusive) node.exclusive = true;
    node.with.push_back(std::move(slot));
    jobspec.resources.push_back(std::move(node));
  } else {
    jobspec.resources.push_back(std::move(slot));
  }
  jobspec.duration_seconds = shape.duration_seconds;
  jobspec.queue = std::move(shape.queue);
  jobspec.name = std::move(shape.name);
  jobspec.cwd = std::move(shape.cwd);
  jobspec.empty_environment = !shape.inherit_environment && shape.environment.empty();
  jobspec.environment = std::move(shape.environment);
  jobspec.constraints = std::move(shape.constraints);
  return jobspec;
}

}  // namespace holon::resource
