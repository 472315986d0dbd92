// What the users of a world ask for.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "msg/policy.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {
namespace {

constexpr std::int64_t kMostHosts = 3;  // of a child

}  // namespace

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
  if (has_machines_ && machine_.dice.one_in(8)) return change_nodes();
  if (has_batch_ && machine_.dice.one_in(15)) return change_provisions();
  if (machine_.edition >= 3 && machine_.dice.one_in(6)) return change_a_job(*instance);
  if (has_rivals_ && instance->is_root() && !machine_.dice.one_in(4))
    return machine_.dice.one_in(3) && people_.empty() ? submit_instance(*instance)
                                                      : crowd_an_elastic_child();
  if (machine_.edition >= 7 && machine_.dice.one_in(3)) return move_grant();
  if (!people_.empty() && machine_.dice.one_in(3)) return meddle();
  if (machine_.planted(Plant::early_idle) && !instance->user().empty() && machine_.dice.one_in(10))
    return end_as_idle(*instance);
  const auto choice = machine_.dice.between(1, 100);
  if (choice <= 60) return submit_work(*instance);
  if (choice <= 80)
    return depth(*instance) < 3 && (people_.empty() || has_own_instances_)
               ? submit_instance(*instance)
               : submit_work(*instance);
  if (choice <= 95) return cancel_some(*instance);
  if (instance->is_root()) {
    if (has_batch_ && machine_.dice.one_in(4)) instance->on_signal(SIGTERM);
    return;
  }
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
  Ask ask;
  ask.limit = limit;
  ask.count = static_cast<std::uint64_t>(dice.one_in(4) ? dice.between(2, 4) : 1);
  ask.tasks = dice.one_in(has_nodes_ || has_hosts_ ? 2 : 4) ? 2 : 1;
  ask.cores = dice.between(1, 3);
  ask.command = {"work", std::to_string(lasts), std::to_string(code), dice.one_in(8) ? "-1" : "0"};
  if (has_gpus_ && dice.one_in(3)) ask.gpus = 1;
  if (has_batch_) want_much(ask);
  if (machine_.edition >= 9 && has_hosts_ && dice.one_in(6)) want_nodes(ask);
  if (machine_.edition >= 2) wish_something(ask);
  if (!preempt_mode_.empty()) choose_queue(ask);
  if (!people_.empty()) ask.user = somebody().name;
  submit(instance, ask);
}

// Asks for more than there is, for a while: nodes of batch jobs are for jobs with a limit.
void World::want_much(Ask& ask) {
  auto& dice = machine_.dice;
  if (dice.one_in(4)) return;
  const bool is_long = machine_.planted(Plant::long_walltime) || dice.one_in(3);
  ask.limit = static_cast<double>(is_long ? dice.between(30, 90) : dice.between(3, 45));
  ask.tasks = dice.between(1, 3);
  ask.command[1] = std::to_string(dice.between(500, 12'000));
}

// Chooses the queue; most preemptible jobs last, so that other jobs may find them in the way.
void World::choose_queue(Ask& ask) {
  auto& dice = machine_.dice;
  ask.is_urgent = dice.one_in(4);
  ask.preemptible = dice.one_in(ask.is_urgent ? 8 : 2);
  ask.checkpoints = dice.one_in(2);
  if (ask.preemptible && dice.one_in(2))
    ask.command[1] = std::to_string(dice.between(3'000, 9'000));
}

// Lets some jobs run again after failures, with success after some attempts; some are an array.
void World::wish_something(Ask& ask) {
  auto& dice = machine_.dice;
  if (dice.one_in(3)) {
    ask.requeue = static_cast<std::uint32_t>(dice.between(1, 3));
    if (dice.one_in(2)) ask.command[2] = std::to_string(dice.between(1, 3));
    if (dice.one_in(2)) ask.command.push_back(std::to_string(dice.between(1, 3)));
    if (!dice.one_in(4)) ask.retry_on = dice.one_in(2) ? std::set{1, 2} : std::set{1, 2, 3};
  }
  if (!dice.one_in(3)) return;
  ask.count = static_cast<std::uint64_t>(dice.between(1, 5));
  ask.first = dice.between(0, 20);
  ask.step = dice.between(1, 4);
}

// Stops a job, lets it go on, or gives it another limit.
void World::change_a_job(Instance& instance) {
  auto& dice = machine_.dice;
  std::vector<const Acked*> jobs;
  for (const auto& [path, job] : acked_)
    if (job.instance == instance.path()) jobs.push_back(&job);
  if (jobs.empty()) return;
  const auto last = static_cast<std::int64_t>(jobs.size()) - 1;
  const auto id =
      jobs[static_cast<std::size_t>(std::max(dice.between(0, last), dice.between(0, last)))]->id;
  const auto what = dice.between(1, 5);
  if (what <= 4) {
    const bool stops = what <= 2;
    return user_->ask(
        instance.uri(), "job.suspend", transport::pack(msg::SuspendRequest{{id}, stops}),
        [this, id, stops](const Result<std::string>& answer) {
          if (answer) machine_.history.note("job {} {}", id, stops ? "is suspended" : "goes on");
        });
  }
  msg::UpdateRequest update;
  update.ids = {id};
  if (machine_.edition >= 9 && dice.one_in(3)) {
    update.elastic = dice.between(0, 6);
    return user_->ask(instance.uri(), "job.update", transport::pack(update),
                      [this, id, most = update.elastic](const Result<std::string>& answer) {
                        if (answer) machine_.history.note("job {} has up to {} cores", id, most);
                      });
  }
  update.limit = dice.between(4'000, 12'000);
  const auto path = (instance.is_root() ? "" : instance.path()) + "/" + std::to_string(id);
  checks_.may_have_limit(path);
  user_->ask(instance.uri(), "job.update", transport::pack(update),
             [this, path, limit = update.limit](const Result<std::string>& answer) {
               if (!answer) return;
               machine_.history.note("job {} has the limit {} ms", path, limit);
               checks_.has_limit(path, limit * kMs);
             });
}

std::vector<std::string> World::conf() {
  static const std::vector<std::string> kPolicies = {"fcfs", "easy", "conservative", "hybrid"};
  auto& dice = machine_.dice;
  const auto rejoin = has_hosts_ ? rejoin_timeout_ / kSecond : 120;
  std::vector<std::string> all = {
      "instance.heartbeat=1s",
      "instance.peer-timeout=4s",
      "instance.rejoin-timeout=" + std::to_string(rejoin) + "s",
      "instance.shutdown-timeout=6s",
      "instance.orphan-timeout=40s",
      "instance.record-interval=" + std::to_string(dice.between(10, 400)) + "ms",
      "job.grace=1s",
      "journal.sync=" + std::string(may_lose_power_ ? "full" : "normal"),
      "queue.policy=" + kPolicies[static_cast<std::size_t>(dice.between(0, 3))]};
  if (machine_.edition >= 8) all.push_back(fmt::format("grant.hold={}ms", hold_));
  if (fence_ > 0) all.push_back(fmt::format("grant.fence-timeout={}ms", fence_));
  if (preempt_mode_.empty()) return all;
  const bool forgets = machine_.planted(Plant::forgotten_rerun);
  all.insert(all.end(), {"queue.default=batch", "queues.batch.preemptible=false",
                         "queues.urgent.preempt.mode=" + (forgets ? "cancel" : preempt_mode_),
                         fmt::format("queues.urgent.preempt.grace={}ms", dice.between(0, 3'000))});
  return all;
}

void World::want_nodes(Ask& ask) {
  ask.nodes = machine_.dice.between(1, kMostHosts - 1);
  ask.tasks = ask.nodes;
  ask.cores = 1;
}

void World::submit_instance(Instance& instance) {
  auto& dice = machine_.dice;
  Ask ask;
  ask.is_instance = true;
  ask.command = {"instance", std::to_string(dice.between(1'000, 12'000)),
                 has_nodes_ && dice.one_in(2) ? "2" : "1"};
  for (auto& item : conf()) ask.command.push_back(std::move(item));
  ask.limit = dice.one_in(2) ? 0 : static_cast<double>(dice.between(3, 12));
  if (has_nodes_) ask.tasks = dice.between(1, 2);
  if (has_hosts_ && machine_.edition >= 2) ask.tasks = dice.between(1, kMostHosts);
  if (has_hosts_ && machine_.edition >= 9 && dice.one_in(2)) ask.tasks = 1;  // and may get others
  ask.cores = has_nodes_ || has_hosts_ ? dice.between(1, 3)
              : depth(instance) == 1   ? dice.between(3, 5)
                                       : dice.between(1, 3);
  if (has_rivals_) {  // small ones, that live long
    ask.command[1] = std::to_string(dice.between(6'000, 15'000));
    ask.limit = 0;
    ask.cores = 1;
  }
  if (has_gpus_ && dice.one_in(2)) ask.gpus = 1;
  if (machine_.edition >= 7 && (dice.one_in(3) || has_rivals_)) be_elastic(ask);
  submit(instance, ask);
}

// It asks for more by itself, and gives back what is idle.
void World::be_elastic(Ask& ask) {
  auto& dice = machine_.dice;
  const auto most = ask.cores * std::max<std::int64_t>(1, ask.tasks) +
                    (has_rivals_ ? dice.between(3, 6) : dice.between(1, 3));
  ask.command.push_back(fmt::format("grant.max={}", most));
  ask.command.push_back(fmt::format("grant.idle={}ms", dice.between(100, 3'000)));
}

// It gets more jobs than it has cores, and keeps what comes for them while others wait.
void World::crowd_an_elastic_child() {
  auto& dice = machine_.dice;
  std::vector<Instance*> elastic;
  for (Instance* const instance : up())
    if (!instance->is_root() && instance->core() != nullptr &&
        instance->core()->config.grant_max > 0)
      elastic.push_back(instance);
  if (elastic.empty()) return;
  const auto which = dice.between(0, static_cast<std::int64_t>(elastic.size()) - 1);
  Ask ask;
  ask.count = static_cast<std::uint64_t>(dice.between(3, 7));
  ask.command = {"work", std::to_string(dice.between(1'000, 6'000)), "0", "0"};
  if (!preempt_mode_.empty()) choose_queue(ask);
  submit(*elastic[static_cast<std::size_t>(which)], ask);
}

std::string World::jobspec_of(const Ask& ask) const {
  resource::JobShape shape;
  shape.cores_per_task = ask.cores;
  shape.gpus_per_task = ask.gpus;
  shape.tasks = std::max(ask.tasks, ask.nodes);
  shape.nodes = ask.nodes;
  shape.exclusive = ask.is_whole;
  shape.duration_seconds = ask.limit;
  shape.command = ask.command;
  shape.cwd = "/";
  shape.environment = {{"HOME", "/"}};
  if (ask.is_urgent) shape.queue = "urgent";
  std::string text = resource::write_jobspec(*resource::jobspec_for(std::move(shape)));
  nlohmann::json wishes = nlohmann::json::object();
  if (ask.requeue > 0) wishes["requeue"] = ask.requeue;
  if (!ask.retry_on.empty()) wishes["retry_on"] = fmt::format("1-{}", *ask.retry_on.rbegin());
  if (ask.first >= 0) wishes["array"] = {{"first", ask.first}, {"step", ask.step}};
  if (ask.preemptible) wishes["preemptible"] = true;
  if (ask.checkpoints) wishes["checkpoint_signal"] = SIGUSR1;
  if (ask.is_immediate) wishes["immediate"] = true;
  if (machine_.planted(Plant::forgotten_wish)) wishes.erase("requeue"), wishes.erase("retry_on");
  if (wishes.empty()) return text;
  auto jobspec = nlohmann::json::parse(text);
  jobspec["attributes"]["system"]["holon"] = std::move(wishes);
  return jobspec.dump();
}

msg::SubmitRequest World::request_for(const Ask& ask) const {
  msg::SubmitRequest request;
  request.jobspec = jobspec_of(ask);
  request.count = ask.count;
  request.user = people_.empty() ? "ada" : "";
  request.is_instance = ask.is_instance;
  return request;
}

void World::submit(Instance& instance, const Ask& ask) {
  if (has_own_instances_) {
    Person* const owner = owner_of(instance.path());
    return owner == nullptr ? submit_to_own(somebody(), ask)
                            : submit_there(*owner, instance.path(), ask);
  }
  const auto request = request_for(ask);
  User* from = user_.get();
  for (const Person& person : people_)
    if (person.name == ask.user) from = person.client.get();
  from->ask(instance.uri(), "submit", transport::pack(request),
            [this, whose = instance.path(), ask](const Result<std::string>& answer) {
              if (answer) acknowledged(whose, ask, *answer);
            });
}

void World::acknowledged(const std::string& whose, const Ask& ask, const std::string& answer) {
  const auto reply = transport::unpack<msg::SubmitReply>(answer);
  if (!reply) return machine_.history.violation("a submit is answered with rubbish");
  const auto keep = [&](std::uint64_t id, const std::string& index, const char* what) {
    const auto path = (whose == "/" ? "" : whose) + "/" + std::to_string(id);
    Acked job{whose, id, {ask.requeue, ask.retry_on, index, ask.preemptible}};
    job.user = ask.user;
    job.is_task = !index.empty();
    if (job.is_task) job.array = reply->first_id;
    if (!acked_.emplace(path, std::move(job)).second)
      machine_.history.violation("the number of {} {} is given twice", what, path);
    return path;
  };
  for (std::uint64_t i = 0; i < reply->count; ++i)
    machine_.history.note("job {} is acknowledged", keep(reply->first_id + i, "", "job"));
  // Instances above the array's own hear of the array as a whole.
  for (std::uint64_t i = 0; whose == "/" && i < reply->tasks; ++i)
    keep(reply->first_id + 1 + i,
         std::to_string(ask.first + static_cast<std::int64_t>(i) * ask.step), "task");
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
  for (const auto& [path, job] : acked_)
    if (job.instance == instance.path() &&
        (job.id == ask.ids.front() || job.array == ask.ids.front()))
      checks_.may_be_cancelled(path);
  user_->ask(instance.uri(), "cancel", transport::pack(ask),
             [this, whose = instance.path()](const Result<std::string>& answer) {
               if (answer) hear_cancelled(whose, *answer);
             });
}

void World::hear_cancelled(const std::string& whose, const std::string& answer) {
  const auto reply = transport::unpack<msg::CancelReply>(answer);
  if (!reply) return machine_.history.violation("a cancel is answered with rubbish");
  const Instance* const instance = find(whose);
  const auto* core = instance == nullptr ? nullptr : instance->core();
  if (core == nullptr) return;
  for (const auto id : reply->cancelled)
    if (const auto* job = core->jobs.find(JobId(id)))
      checks_.cancelled(core->jobs.path_of(JobId(id)), job->life.retries);
}

// Lists all jobs below some instance, again and again: half of the time the root.
void World::list() {
  Instance* const some = machine_.dice.one_in(2) ? root_ : some_instance(true);
  if (some == nullptr) return;
  msg::JobsRequest ask;
  ask.all = ask.recursive = true;
  const auto before = checks_.answers_read();
  user_->ask(some->uri(), "jobs", transport::pack(ask),
             [this, path = some->path(), before](const Result<std::string>& answer) {
               if (!answer) return;
               auto reply = transport::unpack<msg::JobsReply>(*answer);
               if (!reply) return machine_.history.violation("a listing is answered with rubbish");
               if (speaks_for_nobody(path)) return;
               std::erase_if(reply->jobs,
                             [this](const auto& job) { return may_be_lost(job.path); });
               checks_.read_by_client(path, reply->jobs, before);
             });
}

// An instance that is over, or on a host that its root has given up, may be read, but need not
// agree with the others.
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
