// Users of a root that serves several of them: each submits under the name that the kernel proves,
// and tries what only others may do.
#include <fmt/core.h>
#include <pwd.h>

#include "msg/policy.hpp"
#include "msg/resource.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {

void World::begin_people() {
  for (const uid_t uid : kPeople) {
    const passwd* const entry = getpwuid(uid);
    if (entry == nullptr) return people_.clear();
    Person& one = people_.emplace_back();
    one.name = entry->pw_name;
    one.client = std::make_unique<User>(machine_, "user " + one.name);
    one.client->act_as(uid);
  }
  root_conf_.emplace_back("access.least-uid=1");
  if (machine_.edition >= 5 && machine_.dice.one_in(2)) begin_own_instances();
}

World::Person& World::somebody() {
  return people_[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(people_.size()) - 1))];
}

void World::meddle() {
  if (root_ == nullptr || !root_->ready()) return;
  Person& who = somebody();
  switch (machine_.dice.between(1, 5)) {
    case 1:
      return try_to_rule(who);
    case 2:
      return pretend(who);
    case 3:
      return list_own(who);
    case 4:
      return has_own_instances_ ? cancel_own_instance(who) : touch_another_ones_job(who);
    default:
      return touch_another_ones_job(who);
  }
}

void World::must_be_refused(Person& who, const std::string& topic, std::string payload,
                            const std::string& path) {
  who.client->ask(
      root_->uri(), topic, std::move(payload),
      [this, name = who.name, topic](const Result<std::string>& answer) {
        if (answer)
          machine_.history.violation("{} has asked for {}, and was not refused", name, topic);
        else if (answer.error().code == Errc::denied)
          machine_.history.note("{} is refused {}", name, topic);
      },
      path);
}

// Tries requests that are for the owner and for operators.
void World::try_to_rule(Person& who) {
  switch (machine_.dice.between(1, 3)) {
    case 1:
      return must_be_refused(who, "shutdown", transport::pack(msg::ShutdownRequest{"for fun"}));
    case 2:
      return must_be_refused(who, "policy.load",
                             transport::pack(msg::PolicyLoadRequest{"", "easy", ""}));
    default:
      return must_be_refused(who, "resource.drain",
                             transport::pack(msg::DrainRequest{"node[0-9]", true, "for fun"}));
  }
}

// Submits in the name of another user.
void World::pretend(Person& who) {
  Ask ask;
  ask.command = {"work", "10", "0", "0"};
  msg::SubmitRequest request;
  request.jobspec = jobspec_of(ask);
  for (const Person& other : people_)
    if (other.name != who.name) request.user = other.name;
  must_be_refused(who, "submit", transport::pack(request));
}

void World::touch_another_ones_job(Person& who) {
  std::vector<const Acked*> jobs;
  for (const auto& [path, job] : acked_)
    if (job.user != who.name) jobs.push_back(&job);
  if (jobs.empty()) return;
  const Acked& job = *jobs[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(jobs.size()) - 1))];
  const auto id = job.id;
  const std::string path = job.instance == "/" ? "" : job.instance;
  switch (machine_.dice.between(1, 3)) {
    case 1: {
      msg::CancelRequest cancel;
      cancel.ids = {id};
      return must_be_refused(who, "cancel", transport::pack(cancel), path);
    }
    case 2:
      return must_be_refused(who, "job.suspend", transport::pack(msg::SuspendRequest{{id}, true}),
                             path);
    default: {
      msg::UpdateRequest update;
      update.ids = {id};
      update.limit = 5'000;
      return must_be_refused(who, "job.update", transport::pack(update), path);
    }
  }
}

void World::list_own(Person& who) {
  msg::JobsRequest ask;
  ask.all = ask.recursive = true;
  who.client->ask(root_->uri(), "jobs", transport::pack(ask),
                  [this, name = who.name](const Result<std::string>& answer) {
                    if (!answer) return;
                    const auto reply = transport::unpack<msg::JobsReply>(*answer);
                    if (!reply)
                      return machine_.history.violation("a listing is answered with rubbish");
                    for (const auto& record : reply->jobs)
                      if (record.user != name)
                        machine_.history.violation("{} is shown job {}, which is {}'s", name,
                                                   record.path, record.user);
                  });
}

void World::check_people(const std::string& path, const Acked& job, const msg::JobRecord& record) {
  if (!job.user.empty() && record.user != job.user)
    machine_.history.violation("job {} is {}'s, and {} has submitted it", path, record.user,
                               job.user);
  if (!job.user.empty() && record.reason.find("it had nothing to do") != std::string::npos)
    machine_.history.violation("job {} was there, and its instance ended as idle", path);
}

}  // namespace holon::world
