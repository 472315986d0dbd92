// What the users of a world ask for.
#include <algorithm>

#include "msg/policy.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {

std::vector<Instance*> World::up() const {
  std::vector<Instance*> all;
  for (const auto& instance : instances_)
    if (instance->ready()) all.push_back(instance.get());
  return all;
}

Instance* World::some_instance(bool ready) {
  std::vector<Instance*> all;
  for (const auto& instance : instances_)
    if (ready ? instance->ready() : !instance->over()) all.push_back(instance.get());
  if (all.empty()) return nullptr;
  return all[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(all.size()) - 1))];
}

std::int64_t World::depth(const Instance& instance) {
  return instance.is_root() ? 1
                            : 1 + std::count(instance.path().begin(), instance.path().end(), '/');
}

void World::act_later() {
  machine_.timeline.after(machine_.dice.between(20, 500) * kMs, [this] {
    if (calm_) return;
    act();
    act_later();
  });
}

void World::act() {
  Instance* const instance = some_instance(true);
  if (instance == nullptr) return;
  if (changes_policies_ && instance->is_root() && machine_.dice.one_in(6))
    return change_policy(*instance);
  const auto choice = machine_.dice.between(1, 100);
  if (choice <= 60) return submit_work(*instance);
  if (choice <= 80)
    return depth(*instance) < 3 ? submit_instance(*instance) : submit_work(*instance);
  if (choice <= 95) return cancel_some(*instance);
  if (instance->is_root()) return;
  user_->ask(instance->uri(), "shutdown", transport::pack(msg::ShutdownRequest{"a user says so"}),
             [](const Result<std::string>&) {});
}

void World::change_policy(Instance& root) {
  static const std::vector<msg::PolicyLoadRequest> kPolicies = {
      {"", "last.lua", "base = 'easy'  function priority(job) return job.id end"},
      {"", "short.lua",
       "state.n = state.n or 0\n"
       "function on_event() state.n = state.n + 1 end\n"
       "function priority(job) return state.n % 7 - job.limit end"},
      {"", "conservative", ""},
  };
  const auto which = static_cast<std::size_t>(machine_.dice.between(0, 3));
  const bool loads = which < kPolicies.size();
  user_->ask(
      root.uri(), loads ? "policy.load" : "policy.disable",
      loads ? transport::pack(kPolicies[which]) : transport::pack(msg::PolicyDisableRequest{}),
      [this](const Result<std::string>& answer) {
        if (answer) machine_.history.note("another policy decides for /");
      });
}

void World::submit_work(Instance& instance) {
  auto& dice = machine_.dice;
  const auto lasts = dice.one_in(8) ? dice.between(5'000, 60'000) : dice.between(10, 2'500);
  const auto code = dice.one_in(5) ? dice.between(1, 3) : 0;
  const double limit = dice.one_in(2) ? 0 : static_cast<double>(dice.between(1, 4));
  submit(instance,
         {"work", std::to_string(lasts), std::to_string(code), dice.one_in(8) ? "-1" : "0"},
         dice.between(1, 3), dice.one_in(has_nodes_ || has_hosts_ ? 2 : 4) ? 2 : 1, limit,
         static_cast<std::uint64_t>(dice.one_in(4) ? dice.between(2, 4) : 1), false);
}

std::vector<std::string> World::conf() {
  static const std::vector<std::string> kPolicies = {"fcfs", "easy", "conservative", "hybrid"};
  auto& dice = machine_.dice;
  const auto rejoin = has_hosts_ ? rejoin_timeout_ / kSecond : 120;
  return {"instance.heartbeat=1s",
          "instance.peer-timeout=4s",
          "instance.rejoin-timeout=" + std::to_string(rejoin) + "s",
          "instance.shutdown-timeout=6s",
          "instance.orphan-timeout=40s",
          "instance.record-interval=" + std::to_string(dice.between(10, 400)) + "ms",
          "job.grace=1s",
          "journal.sync=" + std::string(may_lose_power_ ? "full" : "normal"),
          "queue.policy=" + kPolicies[static_cast<std::size_t>(dice.between(0, 3))]};
}

void World::submit_instance(Instance& instance) {
  auto& dice = machine_.dice;
  std::vector<std::string> command = {"instance", std::to_string(dice.between(1'000, 12'000)),
                                      has_nodes_ && dice.one_in(2) ? "2" : "1"};
  for (auto& item : conf()) command.push_back(std::move(item));
  const double limit = dice.one_in(2) ? 0 : static_cast<double>(dice.between(3, 12));
  submit(instance, std::move(command),
         has_nodes_ || has_hosts_ ? dice.between(1, 3)
         : depth(instance) == 1   ? dice.between(3, 5)
                                  : dice.between(1, 3),
         has_nodes_ ? dice.between(1, 2) : 1, limit, 1, true);
}

void World::submit(Instance& instance, std::vector<std::string> command, std::int64_t cores,
                   std::int64_t tasks, double limit, std::uint64_t count, bool is_instance) {
  resource::JobShape shape;
  shape.cores_per_task = cores;
  shape.tasks = tasks;
  shape.duration_seconds = limit;
  shape.command = std::move(command);
  shape.cwd = "/";
  shape.environment = {{"HOME", "/"}};
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(std::move(shape)));
  ask.count = count;
  ask.user = "ada";
  ask.is_instance = is_instance;
  user_->ask(instance.uri(), "submit", transport::pack(ask),
             [this, whose = instance.path(), is_instance](const Result<std::string>& answer) {
               if (!answer) return;
               const auto reply = transport::unpack<msg::SubmitReply>(*answer);
               if (!reply) return machine_.history.violation("a submit is answered with rubbish");
               for (std::uint64_t i = 0; i < reply->count; ++i) {
                 const auto id = reply->first_id + i;
                 const auto path = (whose == "/" ? "" : whose) + "/" + std::to_string(id);
                 machine_.history.note("job {} is acknowledged", path);
                 if (!acked_.emplace(path, Acked{whose, id, is_instance}).second)
                   machine_.history.violation("the number of job {} is given twice", path);
               }
             });
}

void World::cancel_some(Instance& instance) {
  std::vector<std::uint64_t> ids;
  for (const auto& [path, job] : acked_)
    if (job.instance == instance.path()) ids.push_back(job.id);
  if (ids.empty()) return;
  msg::CancelRequest ask;
  ask.ids = {ids[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(ids.size()) - 1))]};
  ask.reason = "a user says so";
  user_->ask(instance.uri(), "cancel", transport::pack(ask), [](const Result<std::string>&) {});
}

// All jobs below whichever instance, again and again: of the root half of the time.
void World::list() {
  Instance* const some = machine_.dice.one_in(2) ? root_ : some_instance(true);
  if (some == nullptr) return;
  msg::JobsRequest ask;
  ask.all = ask.recursive = true;
  const auto before = checks_.answers_read();
  user_->ask(some->uri(), "jobs", transport::pack(ask),
             [this, path = some->path(), before](const Result<std::string>& answer) {
               if (!answer) return;
               const auto reply = transport::unpack<msg::JobsReply>(*answer);
               if (!reply) return machine_.history.violation("a listing is answered with rubbish");
               if (speaks_for_nobody(path)) return;
               checks_.read_by_client(path, reply->jobs, before);
             });
}

// What is read of an instance that is over, or that nobody counts on any more, need not agree with
// what others say.
bool World::speaks_for_nobody(const std::string& path) const {
  if (!has_hosts_) return false;
  for (const auto& instance : instances_)
    if (instance->path() == path && !instance->over()) return is_disowned(*instance);
  return true;
}

void World::list_later() {
  machine_.timeline.after(machine_.dice.between(100, 700) * kMs, [this] {
    if (calm_) return;
    list();
    list_later();
  });
}

}  // namespace holon::world
