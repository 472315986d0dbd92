#include "world/world.hpp"

#include <csignal>
#include <filesystem>

#include "instance/journal/files.hpp"
#include "transport/codec/codec.hpp"

namespace holon::world {
namespace {

constexpr const char* kOneNode = "node=1/core=8";
constexpr const char* kTwoNodes = "node=2/core=4";
constexpr const char* kThreeHosts = "node=3/core=3";
constexpr std::uint32_t kHosts = 3;
constexpr Micros kEndPatience = 300 * kSecond;
constexpr std::uint64_t kStepsBetweenLooks = 150;  // at what costs more to look at

}  // namespace

Machine::Machine(std::uint64_t seed, Plant plant, std::string its_dir)
    : timeline(seed),
      dice(seed),
      history(timeline, its_dir),
      dir(std::move(its_dir)),
      wires(*this),
      tasks(*this),
      disk(*this),
      plant_(plant) {}

World::World(std::uint64_t seed, Plant plant, const std::string& dir)
    : machine_(seed, plant, dir), checks_(machine_) {
  has_faults_ = !machine_.dice.one_in(10);
  may_lose_power_ = machine_.dice.one_in(3);
  const auto kind = machine_.dice.between(1, 3);
  has_nodes_ = kind == 1;
  has_hosts_ = kind == 2;
  changes_policies_ = seed % 4 == 0;
  if (has_hosts_) choose_hosts();
  root_conf_ = conf();
  user_ = std::make_unique<User>(machine_);
}

void World::choose_hosts() {
  rejoin_timeout_ = machine_.dice.between(2, 8) * kSecond;
  checks_.rejoin_timeout(rejoin_timeout_);
  if (machine_.dice.one_in(2)) machine_.hosts.distance = machine_.dice.between(kMs, 200 * kMs);
}

World::~World() {
  ghosts_.clear();
  for (const auto& instance : instances_)
    if (!instance->over()) instance->vanish();
  instances_.clear();
  user_.reset();
}

void World::add(std::unique_ptr<Instance> instance) {
  instance->on_recovered = [this](Instance& again) {
    const auto before = held_.extract(again.path());
    if (before.empty()) return;
    const auto now = Checks::held_by(*again.core());
    if (now != before.mapped())
      machine_.history.violation("{}: it had \"{}\", and after a restart \"{}\"", again.path(),
                                 before.mapped(), now);
  };
  instances_.push_back(std::move(instance));
}

void World::begin_root() {
  machine_.tasks.kill_below("");
  Instance::Begin begin;
  begin.state_dir = machine_.dir + "/root";
  begin.conf = root_conf_;
  begin.resources = has_nodes_ ? kTwoNodes : kOneNode;
  begin.agents = has_nodes_ ? 2 : 1;
  if (has_hosts_) {
    begin.resources = kThreeHosts;
    begin.hosts = begin.agents = kHosts;
  }
  auto root = std::make_unique<Instance>(machine_, *this, std::move(begin));
  root_ = root.get();
  add(std::move(root));
}

// A root that has ended is started again on its state directory.
void World::keep_root() {
  for (const auto& instance : instances_)
    if (instance->over() && left_.insert(instance->uri()).second) user_->leave(instance->uri());
  if (root_ == nullptr || !root_->over()) return;
  root_ = nullptr;
  held_.clear();
  machine_.timeline.after(machine_.dice.between(20, 400) * kMs, [this] { begin_root(); });
}

Outcome World::run() {
  begin_root();
  act_later();
  list_later();
  if (has_faults_) fail_later();
  const Micros lasts = machine_.dice.between(6, has_hosts_ ? 30 : 20) * kSecond;
  run_until(lasts, [] { return false; });
  if (!machine_.history.failed()) end_all();
  Outcome outcome;
  outcome.violation = machine_.history.violation();
  outcome.history = machine_.history.lines();
  outcome.steps = steps_;
  outcome.messages = machine_.wires.messages();
  outcome.jobs = acked_.size();
  outcome.instances = instances_.size();
  return outcome;
}

bool World::run_until(Micros when, const std::function<bool()>& done) {
  while (!machine_.history.failed() && machine_.timeline.now() < when) {
    if (done()) return true;
    if (!machine_.timeline.step()) return done();
    keep_root();
    step_checks();
  }
  return false;
}

void World::step_checks() {
  checks_.what_runs(instances_);
  if (++steps_ % kStepsBetweenLooks != 0) return;
  for (const auto& instance : instances_) look_at(*instance);
}

void World::look_at(Instance& instance) {
  const auto* core = instance.over() ? nullptr : instance.core();
  // What could not be written is thrown away with its broker.
  if (core == nullptr || core->only_lists() || !core->journal.look()) return;
  checks_.plan_of(instance);
  if (const Instance* const parent = parent_of(instance)) checks_.lease_of(instance, *parent);
  const bool has_the_word = !is_disowned(instance);
  for (const auto& [path, job] : acked_) {
    const bool own = job.instance == instance.path();
    if (!own && !instance.is_root() && !path.starts_with(instance.path() + "/")) continue;
    const auto record = core->record(path);
    if (!record) {
      if (own) machine_.history.violation("{} has forgotten its job {}", instance.path(), path);
      continue;
    }
    checks_.record(instance.path(), *record);
    if (own && has_the_word) checks_.told_by_owner(*record);
  }
}

Instance* World::parent_of(const Instance& instance) const {
  if (instance.is_root()) return nullptr;
  const auto cut = instance.path().rfind('/');
  const std::string above = cut == 0 ? "/" : instance.path().substr(0, cut);
  for (const auto& other : instances_)
    if (other->path() == above && !other->over()) return other.get();
  return nullptr;
}

// An instance on a host that is cut off may go on when its job is over for the one above. What has
// become of its jobs is that one's word then.
bool World::is_disowned(const Instance& instance) const {
  if (!has_hosts_ || instance.is_root()) return false;
  const Instance* const parent = parent_of(instance);
  const auto* core = parent == nullptr ? nullptr : parent->core();
  if (core == nullptr || is_disowned(*parent)) return true;
  const auto id =
      std::strtoull(instance.path().c_str() + instance.path().rfind('/') + 1, nullptr, 10);
  const auto* job = core->jobs.find(JobId(id));
  return job == nullptr || !job->life.holds_resources;
}

void World::end_all() {
  calm_ = true;
  machine_.history.note("no more faults, no more work");
  machine_.wires.heal();
  machine_.hosts.heal();
  const Micros end = machine_.timeline.now() + kEndPatience;
  // Half of the worlds end by themselves as far as they do.
  if (machine_.dice.one_in(2))
    run_until(machine_.timeline.now() + 20 * kSecond, [] { return false; });
  const auto all_over = [this] {
    const auto* core = root_ == nullptr ? nullptr : root_->core();
    if (core == nullptr || core->only_lists() || !machine_.tasks.live().empty() ||
        !core->offline.none())
      return false;
    // What is not written yet, or could not be, is over in the memory of this broker only.
    if (core->journal.has_changes() || !core->journal.look()) return false;
    const auto counts = core->jobs.counts();
    return counts.pending + counts.running == 0;
  };
  bool over = false;
  while (!over && !machine_.history.failed() && machine_.timeline.now() < end) {
    if (root_ != nullptr && root_->ready()) {
      msg::CancelRequest ask;
      ask.all = true;
      user_->ask(root_->uri(), "cancel", transport::pack(ask), [](const Result<std::string>&) {});
    }
    over = run_until(machine_.timeline.now() + 5 * kSecond, all_over);
  }
  if (machine_.history.failed()) return;
  if (!over)
    return machine_.history.violation("not all has ended; still there: {}",
                                      machine_.tasks.example());
  check_end();
}

void World::check_end() {
  const auto* core = root_->core();
  const Time now = root_->broker()->reactor().now();
  if (core->store->available("core", now) != core->store->total("core"))
    machine_.history.violation("all is over, and {} of {} cores are free",
                               core->store->available("core", now), core->store->total("core"));
  for (const auto& [path, job] : acked_) checks_.final_record(path, core->record(path));
  const std::string state_dir = root_->state_dir();
  Instance* const root = root_;
  root->on_signal(SIGTERM);
  while (!machine_.history.failed() && !root->over() && machine_.timeline.step()) {
  }
  run_until(machine_.timeline.now() + kMs, [] { return false; });
  // What the disk says, when nobody is there any more.
  const auto journal = instance::Journal::open_frozen(instance::journal_file(state_dir));
  if (!journal)
    return machine_.history.violation("the journal cannot be read: {}", to_string(journal.error()));
  for (const auto& [path, job] : acked_) {
    const bool own = job.instance == "/";
    const auto record = own ? journal->inactive(JobId(job.id)) : journal->descendant(path);
    checks_.final_record(path, record ? *record : std::nullopt);
    if (own) checks_.events_of(*journal, path, job.id);
  }
}

Outcome run_seed(std::uint64_t seed, Plant plant, const std::string& dir) {
  std::signal(SIGPIPE, SIG_IGN);  // as in an agent
  std::filesystem::create_directories(dir);
  Outcome outcome;
  {
    World world(seed, plant, dir);
    outcome = world.run();
  }
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  return outcome;
}

}  // namespace holon::world
