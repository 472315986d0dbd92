// check.cpp - which jobspecs may be submitted, and which are V1 (RFC 25).
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

tl::unexpected<Error> wrong(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

// All slots of a request, of which only one is allowed: its tasks stand in it.
struct OneSlot {
  const Request* slot = nullptr;
  std::string where;
  std::string around;  // where the slot stands that is looked into; empty: outside of it

  Status look_into(const std::vector<Request>& requests, const std::string& place) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Request& request = requests[i];
      const std::string here = place + "/" + std::to_string(i);
      if (request.type == "xor_slot")
        return wrong("slots to choose from are not offered: name the one slot (\"slot\")", here);
      const bool is_slot = request.type == "slot";
      if (is_slot)
        if (auto ok = take(request, here); !ok) return ok;
      if (is_slot) around = here;
      if (auto ok = look_into(request.with, here + "/with"); !ok) return ok;
      if (is_slot) around.clear();
    }
    return {};
  }

 private:
  Status take(const Request& request, const std::string& here) {
    if (!around.empty())
      return wrong("a slot in a slot is not offered: the slot around it is " + around, here);
    if (slot != nullptr) return wrong("one slot is offered, and it stands at " + where, here);
    if (request.label.empty()) return wrong("a slot needs a label", here);
    if (request.with.empty()) return wrong("a slot needs something in it (\"with\")", here);
    slot = &request;
    where = here;
    return {};
  }
};

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

Status check_runnable(const Jobspec& jobspec) {
  if (jobspec.resources.empty()) return wrong("no resources asked for", "/resources");
  if (jobspec.tasks.empty()) return wrong("no task to run", "/tasks");
  if (jobspec.tasks.front().command.empty())
    return wrong("the command is empty", "/tasks/0/command");
  return {};
}

Status check_submittable(const Jobspec& jobspec) {
  if (auto sound = check_runnable(jobspec); !sound) return sound;
  if (jobspec.tasks.size() > 1)
    return wrong(
        "one task is offered, which may run in several slots; a job for each command is "
        "another way",
        "/tasks/1");
  OneSlot found;
  if (auto ok = found.look_into(jobspec.resources, "/resources"); !ok) return ok;
  const Task& task = jobspec.tasks.front();
  if (found.slot == nullptr || found.slot->label != task.slot)
    return wrong("no slot has the label \"" + task.slot + "\"", "/tasks/0/slot");
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
