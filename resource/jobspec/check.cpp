// check.cpp - which jobspecs may be submitted, and which are V1 (RFC 25).
#include <algorithm>
#include <set>

#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

tl::unexpected<Error> wrong(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

Status collect_slots(const std::vector<Request>& requests, const std::string& where,
                     std::set<std::string>& labels) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    const std::string here = where + "/" + std::to_string(i);
    if (request.type == "slot" || request.type == "xor_slot") {
      if (request.label.empty()) return wrong("a slot needs a label", here);
      if (request.with.empty()) return wrong("a slot needs something in it (\"with\")", here);
      labels.insert(request.label);
    }
    if (auto ok = collect_slots(request.with, here + "/with", labels); !ok) return ok;
  }
  return {};
}

bool is_number(const Count& count) {
  return count.values.empty() && count.min == count.max;
}

Status check_v1_slot(const Request& slot, const std::string& where) {
  if (slot.type != "slot") return wrong("V1 has a slot here, found " + slot.type, where);
  if (slot.with.empty() || slot.with.size() > 2 || slot.with.front().type != "core")
    return wrong("a V1 slot holds core, or core and gpu", where + "/with");
  if (slot.with.size() == 2 && slot.with[1].type != "gpu")
    return wrong("a V1 slot holds core and gpu, found " + slot.with[1].type, where + "/with/1");
  for (const Request& leaf : slot.with)
    if (!leaf.with.empty()) return wrong("V1 has nothing below " + leaf.type, where + "/with");
  return {};
}

Status check_v1_counts(const Request& request, const std::string& where) {
  if (!is_number(request.count)) return wrong("a V1 count is a whole number", where + "/count");
  for (std::size_t i = 0; i < request.with.size(); ++i)
    if (auto ok = check_v1_counts(request.with[i], where + "/with/" + std::to_string(i)); !ok)
      return ok;
  return {};
}

}  // namespace

Status check_submittable(const Jobspec& jobspec) {
  if (jobspec.resources.empty()) return wrong("no resources asked for", "/resources");
  if (jobspec.tasks.empty()) return wrong("no task to run", "/tasks");
  std::set<std::string> labels;
  if (auto ok = collect_slots(jobspec.resources, "/resources", labels); !ok) return ok;
  for (std::size_t i = 0; i < jobspec.tasks.size(); ++i) {
    const std::string where = "/tasks/" + std::to_string(i);
    if (jobspec.tasks[i].command.empty()) return wrong("the command is empty", where + "/command");
    if (!labels.contains(jobspec.tasks[i].slot))
      return wrong("no slot has the label \"" + jobspec.tasks[i].slot + "\"", where + "/slot");
  }
  return {};
}

Status check_v1(const Jobspec& jobspec) {
  if (jobspec.version != 1) return wrong("V1 has version 1", "/version");
  if (jobspec.resources.size() != 1) return wrong("V1 asks for exactly one resource", "/resources");
  if (jobspec.tasks.size() != 1) return wrong("V1 has exactly one task", "/tasks");
  const Request& top = jobspec.resources.front();
  if (auto ok = check_v1_counts(top, "/resources/0"); !ok) return ok;
  if (top.type == "node") {
    if (top.with.size() != 1) return wrong("a V1 node holds exactly one slot", "/resources/0/with");
    if (auto ok = check_v1_slot(top.with.front(), "/resources/0/with/0"); !ok) return ok;
  } else if (auto ok = check_v1_slot(top, "/resources/0"); !ok) {
    return ok;
  }
  const Task& task = jobspec.tasks.front();
  if (task.per_slot != 1 && task.total < 1)
    return wrong("a V1 task count is per_slot: 1 or total: N", "/tasks/0/count");
  return check_submittable(jobspec);
}

}  // namespace holon::resource
