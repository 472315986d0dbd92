#include "world/world.hpp"

#include <csignal>
#include <filesystem>

#include "instance/journal/files.hpp"
#include "transport/codec/codec.hpp"

namespace holon::world {
namespace {

constexpr const char* kOneNode = "node=1/core=8";
constexpr const char* kTwoNodes = "node=2/core=4";
constexpr const char* kOneNodeWithGpus = "node=1/core=8,gpu=3";
constexpr const char* kTwoNodesWithGpus = "node=2/core=4,gpu=2";
constexpr const char* kThreeHosts = "node=3/core=3";
constexpr int kHosts = 3;
constexpr Micros kEndPatience = 300 * kSecond;
constexpr Micros kQuiet = 20 * kSecond;
constexpr Micros kLongQuiet = 90 * kSecond;        // nodes of batch jobs come, are used, and idle
constexpr std::uint64_t kStepsBetweenLooks = 150;  // at what costs more to look at

}  // namespace

Machine::Machine(std::uint64_t seed, Plant plant, int its_edition, std::string its_dir)
    : edition(its_edition),
      timeline(seed),
      dice(seed),
      history(timeline, its_dir),
      dir(std::move(its_dir)),
      wires(*this),
      tasks(*this),
      disk(*this),
      batch(*this),
      plant_(plant) {
  if (plant == Plant::one_clock) timeline.step_together();
}

World::World(std::uint64_t seed, Plant plant, int edition, const std::string& dir)
    : machine_(seed, plant, edition, dir), checks_(machine_) {
  has_faults_ = !machine_.dice.one_in(10);
  may_lose_power_ = machine_.dice.one_in(3);
  const auto kind = machine_.dice.between(1, 3);
  has_nodes_ = kind == 1;
  has_hosts_ = kind == 2;
  changes_policies_ = seed % 4 == 0;
  has_rivals_ = edition >= 8 && seed % 4 == 1;
  hold_ = static_cast<std::int64_t>(seed % 5) * 400;
  if (edition >= 10) fence_ = static_cast<std::int64_t>(seed / 4 % 4) * 1'000;
  if (has_hosts_) choose_hosts();
  has_machines_ = has_hosts_ && edition >= 2 && machine_.dice.one_in(2);
  if (has_machines_) begin_machines();
  if (edition >= 3 && machine_.dice.one_in(2))
    preempt_mode_ = machine_.dice.one_in(3) ? "cancel" : "requeue";
  checks_.runs_again_when_preempted(preempt_mode_ == "requeue");
  checks_.has_faults(has_faults_);
  root_conf_ = conf();
  if (has_machines_) {
    root_conf_.push_back(fmt::format("instance.quorum={}", quorum_));
    root_conf_.push_back(fmt::format("instance.gather-timeout={}s", gather_timeout_ / kSecond));
  }
  if (has_machines_ && edition >= 5 && machine_.dice.one_in(2)) begin_batch_system();
  user_ = std::make_unique<User>(machine_);
  if (edition >= 4 && kind == 3 && machine_.dice.one_in(2)) begin_people();
  has_gpus_ = edition >= 7 && !has_hosts_ && machine_.dice.one_in(2);
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
  loose_.clear();
  instances_.clear();
  people_.clear();
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
  instance->on_place = [this](int host) { checks_.added(host, 0); };
  instance->on_ready = [this](const Instance& ready) { check_quorum(ready); };
  instance->on_ending = [this](const Instance& ended) { checks_.ends(ended.path()); };
  instances_.push_back(std::move(instance));
}

Instance* World::find(const std::string& path) const {
  for (const auto& instance : instances_)
    if (instance->path() == path && !instance->over()) return instance.get();
  return nullptr;
}

void World::begin_root() {
  machine_.tasks.kill_below(0);
  for (const auto& agent : loose_) agent->kill("with the run before this one");
  Instance::Begin begin;
  begin.state_dir = machine_.dir + "/root";
  begin.conf = root_conf_;
  begin.resources = has_gpus_ ? (has_nodes_ ? kTwoNodesWithGpus : kOneNodeWithGpus)
                              : (has_nodes_ ? kTwoNodes : kOneNode);
  begin.agents = has_nodes_ ? 2 : 1;
  begin.system = !people_.empty();
  begin.own_conf = own_conf_;
  if (has_hosts_) {
    begin.resources = kThreeHosts;
    begin.agents = kHosts;
    for (int host = 0; host < kHosts; ++host) begin.hosts.push_back(Hosts::name_of(host));
  }
  if (has_machines_) {
    begin.resources = "";
    begin.late = 15 * kSecond;
  }
  checks_.all_begins();
  auto root = std::make_unique<Instance>(machine_, *this, std::move(begin));
  root_ = root.get();
  last_root_uri_ = root_->uri();
  add(std::move(root));
}

// Starts a root that has ended again on its state directory.
void World::keep_root() {
  for (const auto& instance : instances_)
    if (instance->over() && left_.insert(instance->uri()).second) {
      user_->leave(instance->uri());
      for (const Person& person : people_) person.client->leave(instance->uri());
    }
  if (root_ == nullptr || !root_->over() || is_over_for_good_) return;
  root_ = nullptr;
  held_.clear();
  machine_.timeline.after(machine_.dice.between(20, 400) * kMs, [this] { begin_root(); });
}

Outcome World::run() {
  begin_root();
  act_later();
  list_later();
  if (has_faults_) fail_later();
  const Micros lasts = has_batch_ ? machine_.dice.between(30, 75) * kSecond
                                  : machine_.dice.between(6, has_hosts_ ? 30 : 20) * kSecond;
  run_until(lasts, [] { return false; });
  if (!machine_.history.failed()) end_all();
  Outcome outcome;
  outcome.violation = machine_.history.violation();
  outcome.history = machine_.history.lines();
  outcome.steps = steps_;
  outcome.messages = machine_.wires.messages();
  outcome.jobs = acked_.size();
  outcome.instances = instances_.size();
  for (const auto& [path, job] : acked_) outcome.indices += job.wish.index.empty() ? 0 : 1;
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
  if (has_own_instances_) note_untold();
  if (++steps_ % kStepsBetweenLooks != 0) return;
  if (has_own_instances_) check_own_instances();
  if (has_batch_) check_batch_jobs();
  for (const auto& instance : instances_) look_at(*instance);
}

void World::look_at(Instance& instance) {
  const auto* core = instance.over() ? nullptr : instance.core();
  // Changes that could not be written are thrown away with their broker.
  if (core == nullptr || core->read_only() || !core->journal.look()) return;
  checks_.plan_of(instance);
  if (instance.is_root()) checks_.ends_of_nodes(instance);
  checks_.counts_of(instance);
  const bool has_the_word = !is_disowned(instance);
  if (const Instance* const parent = parent_of(instance)) {
    checks_.lease_of(instance, *parent);
    if (has_the_word) checks_.books_of(instance, *parent);
    checks_.graph_of(instance);
  }
  for (const auto& [path, job] : acked_) {
    const bool own = job.instance == instance.path();
    if (!own && !instance.is_root() && !path.starts_with(instance.path() + "/")) continue;
    const auto record = core->records.find(path);
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
  return find(cut == 0 ? "/" : instance.path().substr(0, cut));
}

// An instance on a cut-off host may go on after its job is over for the one above. What has become
// of its jobs is then the word of the one above.
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
  if (has_batch_) calm_batch_system();
  // Half of the worlds end by themselves as far as they do.
  if (machine_.dice.one_in(2)) {
    const bool brings_nodes = has_batch_ && machine_.edition >= 6;
    if (brings_nodes) want_nodes_once_more();
    run_until(machine_.timeline.now() + (brings_nodes ? kLongQuiet : kQuiet), [] { return false; });
  }
  const auto all_over = [this] {
    const auto* core = root_ == nullptr ? nullptr : root_->core();
    if (core == nullptr || core->read_only() || !machine_.tasks.live().empty() ||
        !core->offline.none() || !core->drains.here().empty())
      return false;
    // An end that is not written yet, or could not be, is known to this broker's memory only.
    if (core->journal.has_changes() || !core->journal.look()) return false;
    if (has_batch_ && !is_batch_settled(*core)) return false;
    const auto counts = core->jobs.counts();
    return counts.pending + counts.running == 0;
  };
  checks_.calm();
  const Micros end = machine_.timeline.now() + kEndPatience;
  bool over = false;
  while (!over && !machine_.history.failed() && machine_.timeline.now() < end) {
    if (root_ != nullptr && root_->ready()) {
      msg::CancelRequest ask;
      ask.all = true;
      user_->ask(root_->uri(), "cancel", transport::pack(ask), [](const Result<std::string>&) {});
    }
    if (has_batch_) remove_provisions();
    bring_nodes_back();
    over = run_until(machine_.timeline.now() + 5 * kSecond, all_over);
  }
  if (machine_.history.failed()) return;
  if (!over) return machine_.history.violation("not all has ended: {}", what_is_left());
  check_end();
}

std::string World::what_is_left() const {
  const auto* core = root_ == nullptr ? nullptr : root_->core();
  if (core == nullptr) return "there is no root";
  std::string text = core->offline.reasons();
  for (const auto& [host, drain] : core->drains.here()) text += "; " + host + ": " + drain.reason;
  if (!machine_.tasks.live().empty()) text += "; " + machine_.tasks.example() + " runs";
  for (const auto& [id, job] : core->jobs.active())
    text += fmt::format("; {} is in {}", id.value(), instance::name_of(job.life.state));
  return text;
}

void World::check_end() {
  const auto* core = root_->core();
  const Time now = root_->broker()->reactor().now();
  for (const char* type : {"core", "gpu"})
    if (core->store->available(type, now) != core->store->total(type))
      machine_.history.violation("all is over, and {} of {} {}s are free",
                                 core->store->available(type, now), core->store->total(type), type);
  for (const auto& [path, job] : acked_) {
    if (may_be_lost(path)) continue;
    const auto record = core->records.find(path);
    checks_.final_record(path, record);
    if (record) check_people(path, job, *record);
    // An array's tasks, not the array, were granted something.
    if (!machine_.history.failed() && record->tasks == 0) checks_.granted(*record, job.wish);
  }
  const std::string state_dir = root_->state_dir();
  Instance* const root = root_;
  is_over_for_good_ = has_batch_;
  root->on_signal(SIGTERM);
  while (!machine_.history.failed() && !root->over() && machine_.timeline.step()) {
  }
  run_until(machine_.timeline.now() + kMs, [] { return false; });
  if (has_batch_) check_no_batch_jobs();
  // Checks what the disk says when all processes are gone.
  checks_.journals_of_tree(state_dir);
  const auto journal = instance::Journal::open_frozen(instance::journal_file(state_dir));
  if (!journal)
    return machine_.history.violation("the journal cannot be read: {}", to_string(journal.error()));
  for (const auto& [path, job] : acked_) {
    const bool own = job.instance == "/";
    if (may_be_lost(path)) continue;
    if (job.is_task) {
      checks_.task_at_end(*journal, path, job.id);
      continue;
    }
    const auto record = own ? journal->inactive(JobId(job.id)) : journal->descendant(path);
    checks_.final_record(path, record ? *record : std::nullopt);
    if (own) checks_.events_of(*journal, path, job.id);
  }
}

Outcome run_seed(std::uint64_t seed, Plant plant, const std::string& dir, int edition) {
  std::signal(SIGPIPE, SIG_IGN);  // as in an agent
  std::filesystem::create_directories(dir);
  Outcome outcome;
  {
    World world(seed, plant, edition, dir);
    outcome = world.run();
  }
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  return outcome;
}

}  // namespace holon::world
