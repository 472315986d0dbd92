// Users who have an instance each, made by the first submission: they submit there, and it ends
// when it has had nothing to do.
#include <fmt/core.h>

#include "instance/journal/files.hpp"
#include "msg/users.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {
namespace {

// An idle instance ends within this time: it is looked at every five seconds at most, by a broker
// that may stand still.
constexpr Micros kIdlePatience = 15 * kSecond;

std::string first_of(const std::string& path) {
  return path.substr(0, path.find('/', 1));
}

}  // namespace

void World::begin_own_instances() {
  auto& dice = machine_.dice;
  has_own_instances_ = true;
  own_conf_ = conf();
  own_idle_ = dice.between(1'000, 5'000);
  root_conf_.push_back(fmt::format("per-user.cores={}", dice.between(3, 6)));
  root_conf_.push_back(fmt::format("per-user.idle={}ms", own_idle_));
  if (dice.one_in(3)) root_conf_.push_back(fmt::format("per-user.limit={}s", dice.between(4, 12)));
}

World::Person* World::owner_of(const std::string& path) {
  const auto owner = owners_.find(first_of(path));
  for (Person& person : people_)
    if (owner != owners_.end() && person.name == owner->second) return &person;
  return nullptr;
}

// Submits like holon::client: it asks which instance is the user's, and then asks that one.
void World::submit_to_own(Person& who, const Ask& ask) {
  if (root_ == nullptr || !root_->ready()) return;
  const msg::OwnInstanceRequest own{true, machine_.dice.between(500, 7'000)};
  who.client->ask(root_->uri(), "user.instance", transport::pack(own),
                  [this, &who, ask, uri = root_->uri()](const Result<std::string>& answer) {
                    if (!answer && answer.error().code == Errc::denied)
                      return machine_.history.violation("{} is to have no instance: {}", who.name,
                                                        answer.error().what);
                    if (!answer || root_ == nullptr || root_->uri() != uri) return;
                    const auto told = transport::unpack<msg::OwnInstanceReply>(*answer);
                    if (!told || told->path.empty())
                      return machine_.history.violation("{} is told of no instance", who.name);
                    if (owners_.try_emplace(told->path, who.name).second)
                      machine_.history.note("{} is the instance of {}", told->path, who.name);
                    submit_there(who, told->path, ask);
                  });
}

void World::submit_there(Person& who, const std::string& path, const Ask& ask) {
  if (root_ == nullptr) return;
  Ask own = ask;
  own.user = who.name;
  who.client->ask(
      root_->uri(), "submit", transport::pack(request_for(own)),
      [this, path, own](const Result<std::string>& answer) {
        if (answer) return acknowledged(path, own, *answer);
        if (answer.error().code == Errc::denied)
          machine_.history.violation("{} may not submit to {}, which was made for this user: {}",
                                     own.user, path, answer.error().what);
      },
      path);
}

// Cancels the user's instance with all that it has.
void World::cancel_own_instance(Person& who) {
  const auto* core = root_->core();
  if (core == nullptr) return;
  msg::CancelRequest cancel;
  for (const auto& [id, job] : core->jobs.active())
    if (job.life.user == who.name) cancel.ids = {id.value()};
  if (cancel.ids.empty()) return;
  const std::string below = fmt::format("/{}/", cancel.ids.front());
  for (const auto& [path, job] : acked_)
    if (path.starts_with(below)) checks_.may_be_cancelled(path);
  who.client->ask(root_->uri(), "cancel", transport::pack(cancel),
                  [this, below](const Result<std::string>& answer) {
                    if (answer) machine_.history.note("all of {} is cancelled", below);
                  });
}

// Ends an instance for a plant.
void World::end_as_idle(Instance& instance) {
  machine_.history.note("PLANT: {} ends as if it were idle", instance.path());
  const msg::ShutdownRequest end{"it had nothing to do for a while (instance.idle-timeout)"};
  user_->ask(instance.uri(), "shutdown", transport::pack(end), [](const Result<std::string>&) {});
}

// No user has two instances that live: one that is about to end, by its own word or by the root's,
// may have a successor.
void World::check_own_instances() {
  const auto* root = root_ == nullptr ? nullptr : root_->core();
  if (root == nullptr || root->read_only()) return;
  std::map<std::string, std::string> living;  // paths, by user
  for (const auto& instance : instances_) {
    const auto* core = instance->ready() && !instance->user().empty() ? instance->core() : nullptr;
    if (core == nullptr || core->ending || core->read_only()) continue;
    check_idle_end(*instance);
    const JobId id(std::strtoull(instance->path().c_str() + 1, nullptr, 10));
    const auto* job = root->jobs.find(id);
    if (job == nullptr || job->life.state > instance::JobState::run) continue;
    if (job->life.user != instance->user())
      machine_.history.violation("{} runs as {}, and is {}'s", instance->path(), instance->user(),
                                 job->life.user);
    const auto [other, is_first] = living.try_emplace(instance->user(), instance->path());
    if (!is_first)
      machine_.history.violation("{} has two instances, {} and {}", instance->user(), other->second,
                                 instance->path());
  }
}

// The root does not read the files of a user's instance: what the instance had not told it by its
// end is lost, and the rest is not.
void World::note_untold() {
  for (const auto& instance : instances_) {
    const bool is_buried = instance->over() && instance->broker() == nullptr;
    if (!is_buried || instance->is_root() || !buried_.insert(instance->uri()).second) continue;
    const auto journal =
        instance::Journal::open_frozen(instance::journal_file(instance->state_dir()));
    const auto paths = journal ? journal->outbox() : tl::unexpected(journal.error());
    if (!paths) continue;
    for (const auto& path : *paths) {
      machine_.history.note("{} has not told how {} is", instance->path(), path);
      untold_.insert(path);
    }
  }
}

void World::check_idle_end(const Instance& instance) {
  const auto* core = instance.core();
  const pid_t broker = instance.broker()->pid();
  const auto next = core->jobs.next_id().value();
  Idle& idle = idle_[instance.uri()];
  if (!core->jobs.active().empty() || !core->journal.look() || idle.broker != broker ||
      idle.next_job != next)
    idle = {machine_.timeline.now(), next, broker};
  if (machine_.timeline.now() - idle.since > own_idle_ * kMs + kIdlePatience)
    machine_.history.violation("{} has had nothing to do for {} ms, and is to end after {} ms",
                               instance.path(), (machine_.timeline.now() - idle.since) / kMs,
                               own_idle_);
}

}  // namespace holon::world
