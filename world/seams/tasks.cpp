#include "world/seams/tasks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "instance/request/placement.hpp"
#include "instance/tree/dead_child.hpp"
#include "transport/unique_fd.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"
#include "world/seams/process.hpp"

namespace holon::world {
namespace {

class WorldProcesses final : public launch::Processes {
 public:
  WorldProcesses(Tasks& tasks, Process& agent, Instance& owner)
      : tasks_(tasks), agent_(agent), owner_(owner) {}

  tl::expected<pid_t, launch::SpawnError> spawn(const launch::SpawnRequest& request) override {
    return tasks_.spawn(agent_, owner_, request);
  }
  std::uint64_t start_of(pid_t process) const override {
    const auto task = tasks_.find(process);
    return task ? task->start : 0;
  }
  Result<transport::Subscription> on_end(pid_t process,
                                         std::function<void(const transport::ChildExit&)> ended,
                                         std::function<void()> before_reap) override {
    const auto task = tasks_.find(process);
    if (!task) return fail(Errc::not_found, "no such process");
    task->ended = std::move(ended);
    task->before_reap = std::move(before_reap);
    return transport::Subscription([weak = std::weak_ptr<Task>(task)] {
      if (const auto watched = weak.lock()) watched->ended = nullptr;
    });
  }
  void signal_group(pid_t leader, int signal) override {
    if (agent_.has_effect()) tasks_.signal(leader, signal);
  }
  std::size_t kill_sessions(const std::vector<launch::msg::ProcessId>& leaders,
                            const std::string&) override {
    return agent_.has_effect() ? tasks_.kill_sessions(leaders) : 0;
  }
  Result<std::size_t> end_on_taken_units(const launch::Node&, const std::string&,
                                         const launch::TakenUnits& taken) override {
    const std::string above = owner_.path() == "/" ? "" : owner_.path();
    return tasks_.take(agent_, above + "/" + std::to_string(taken.job), taken);
  }
  // Tasks end with their instance, whose second look finds none: processes of the machine itself,
  // which come and go, are no part of a history.
  bool end_leftovers(launch::Leftovers&) override { return std::exchange(looked_, true); }

 private:
  Tasks& tasks_;
  Process& agent_;
  Instance& owner_;
  bool looked_ = false;
};

std::string variable_in(const std::vector<std::string>& env, const std::string& name) {
  for (const auto& entry : env)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return "";
}

bool is_job_below(const std::string& path, const std::string& above) {
  return path.starts_with(above + "/");
}

JobId number_of(const std::string& path) {
  return JobId(std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10));
}

std::int64_t number_in(const std::vector<std::string>& argv, std::size_t at) {
  return at < argv.size() ? std::strtoll(argv[at].c_str(), nullptr, 10) : 0;
}

void add_units(Task::Units& cores, Task::Units& gpus,
               const std::vector<instance::PlacedNode>& nodes) {
  for (const auto& node : nodes) {
    for (const auto number : node.cores) cores.emplace(node.host, number);
    for (const auto number : node.gpus) gpus.emplace(node.host, number);
  }
}

// Adds what the instance has got beyond its own, by the word of the one above. False: nobody can
// say. For the one above an instance may be over that runs on, on a host that is cut off, which
// Checks::what_runs looks at.
bool add_extra(Task::Units& cores, Task::Units& gpus, const Instance& owner) {
  const Instance* const above = owner.above();
  const auto* core = above == nullptr ? nullptr : above->core();
  if (core == nullptr) return false;
  const auto* job = core->jobs.find(number_of(owner.path()));
  if (job == nullptr || !job->life.holds_resources) return false;
  const auto grants = core->jobs.grants().find(number_of(owner.path()));
  if (grants == core->jobs.grants().end()) return true;
  for (const JobId id : grants->second) {
    const auto* grant = core->jobs.find(id);
    if (grant != nullptr && grant->allocation)
      add_units(cores, gpus, instance::nodes_of(core->store->graph(), *grant->allocation));
  }
  return true;
}

// Does a child, of which this task is the broker or an agent, lend the unit, by the word of the one
// above? Nobody contradicts where that one is dead.
template <class Unit>
bool is_lent(const Task& task, const Unit& unit, const Instance& owner) {
  if (task.instance == nullptr && task.child_agent == nullptr) return false;
  const auto slash = task.path.rfind('/');
  const std::string above = slash == 0 ? "/" : task.path.substr(0, slash);
  const Instance* at = &owner;
  while (at != nullptr && at->path() != above) at = at->above();
  if (at == nullptr || at->core() == nullptr) return at != nullptr;
  const auto& graph = at->core()->store->graph();
  resource::Allocation lent;
  for (const auto& loan : at->core()->jobs.lent_by(number_of(task.path)))
    for (const auto v : loan.vertices) lent.shares.push_back({graph[v].uniq_id, 1, true});
  Task::Units cores, gpus;
  add_units(cores, gpus, instance::nodes_of(graph, lent));
  return cores.contains(unit) || gpus.contains(unit);
}

bool has_all(const Task::Units& outer, const Task::Units& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

}  // namespace

std::unique_ptr<launch::Processes> Tasks::processes_of(Process& agent, Instance& owner) {
  return std::make_unique<WorldProcesses>(*this, agent, owner);
}

std::shared_ptr<Task> Tasks::find(pid_t pid) const {
  const auto found = all_.find(pid);
  return found == all_.end() ? nullptr : found->second;
}

tl::expected<pid_t, launch::SpawnError> Tasks::spawn(Process& agent, Instance& owner,
                                                     const launch::SpawnRequest& request) {
  if (!agent.has_effect()) return tl::unexpected(launch::SpawnError{126, "it is dead"});
  if (BatchSystem::has_program(request.argv[0])) return begin_batch_command(agent, request);
  if (request.argv.size() > 1 && request.argv[1] == "remains") return begin_capture(agent, request);
  const auto task = add(agent, request);
  note_start(agent, *task, request, owner);
  const bool is_own =
      request.argv[0] == "holon" && request.argv.size() > 1 && request.argv[1] == "start";
  const bool is_instance = is_own || request.argv[0] == "instance";
  if (is_instance) take_grant(*task, owner);
  check_units(*task, owner);
  is_instance ? owner.begin_child(*task, request) : begin_work(task, request.argv);
  return task->pid;
}

bool is_of_grant(const instance::Lifecycle& job, int rank) {
  for (const auto& extra : job.extra)
    for (const std::uint32_t agent : extra.ranks)
      if (instance::place_of(job, agent) == static_cast<std::size_t>(rank)) return true;
  return false;
}

bool has_part(const instance::Lifecycle& job, int rank) {
  return std::any_of(job.parts.begin(), job.parts.end(), [&](const instance::Part& part) {
    return instance::place_of(job, part.rank) == static_cast<std::size_t>(rank);
  });
}

bool Tasks::is_on_granted_node(const Task& task, const Instance& owner) const {
  const auto* core = owner.core();
  const auto* job = core == nullptr ? nullptr : core->jobs.find(number_of(task.path));
  return job != nullptr && is_of_grant(job->life, task.rank);
}

bool Tasks::runs_already(const Task& task) const {
  return std::any_of(live_.begin(), live_.end(), [&](const auto& known) {
    const Task& other = *known.second;
    return &other != &task && other.path == task.path && other.rank == task.rank;
  });
}

void Tasks::note_start(const Process& agent, const Task& task, const launch::SpawnRequest& request,
                       const Instance& owner) {
  Truth& truth = truth_[task.path];
  truth.tasks = std::atoi(variable_in(request.env, "HOLON_NTASKS").c_str());
  truth.indices.insert(variable_in(request.env, "HOLON_ARRAY_INDEX"));
  Attempt& attempt = truth.attempts[task.attempt];
  attempt.agents.insert(agent.pid());
  if (attempt.began == 0) attempt.began = machine_.timeline.now();
  // A node that a grant has brought may come again. A start that was on its way to a host that was
  // cut off may arrive when the job is over.
  if (is_on_granted_node(task, owner)) attempt.on_granted_nodes.insert(task.rank);
  const bool may_come_again = attempt.on_granted_nodes.contains(task.rank) && !runs_already(task);
  if (!attempt.started.insert(task.rank).second && !may_come_again)
    machine_.history.violation("job {} is started a second time", task.path);
  const std::string again = task.attempt > 0 ? fmt::format(", retry {},", task.attempt) : "";
  machine_.history.note("{} starts job {} task {}{} on cores {}", agent.name(), task.path,
                        task.rank, again, variable_in(request.env, "HOLON_CORES"));
}

std::shared_ptr<Task> Tasks::add(Process& agent, const launch::SpawnRequest& request) {
  auto task = std::make_shared<Task>();
  task->pid = machine_.new_pid();
  task->start = ++last_start_;
  task->parent = agent.pid();
  task->host = agent.host();
  task->agent = &agent;
  task->path = variable_in(request.env, "HOLON_JOB_PATH");
  task->rank = std::atoi(variable_in(request.env, "HOLON_TASK_RANK").c_str());
  const auto announced = announced_.find({agent.pid(), task->path});
  task->attempt = announced == announced_.end() ? 0 : announced->second;
  const auto hosts = Hostlist::parse(variable_in(request.env, "HOLON_NODELIST"));
  const auto node = std::strtoul(variable_in(request.env, "HOLON_NODE_INDEX").c_str(), nullptr, 10);
  const auto names = hosts ? hosts->hosts() : std::vector<std::string>();
  const auto take = [&](const char* variable, Task::Units& units) {
    if (const auto numbers = Idset::parse(variable_in(request.env, variable)))
      for (const auto number : numbers->ids())
        units.emplace(node < names.size() ? names[node] : "", number);
  };
  take("HOLON_CORES", task->cores);
  take("HOLON_GPUS", task->gpus);
  adopt(task->pid, agent.pid());
  live_[task->pid] = all_[task->pid] = task;
  return task;
}

// Each process of a child stands for those nodes of the grant that its parent's agent stands for.
// The broker that could say which they are may be dead.
void Tasks::take_grant(Task& task, const Instance& owner) const {
  const auto* core = owner.core();
  const auto* job = core == nullptr ? nullptr : core->jobs.find(number_of(task.path));
  task.cores_known = job != nullptr && job->allocation;
  if (!task.cores_known) return;
  task.cores.clear();
  task.gpus.clear();
  const auto& graph = core->store->graph();
  auto nodes = instance::nodes_of(graph, *job->allocation);
  const auto& parts = job->life.parts;
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& one) {
    return instance::place_of(job->life, one.rank) == static_cast<std::size_t>(task.rank);
  });
  if (machine_.edition >= 2 && part != parts.end()) {
    const std::uint32_t rank = part->rank;
    for (const auto& extra : job->life.extra) {
      const auto* grant = core->jobs.find(JobId(extra.grant));
      const bool is_there = std::count(extra.ranks.begin(), extra.ranks.end(), rank) > 0;
      if (is_there && grant != nullptr && grant->allocation)
        nodes = instance::nodes_of(graph, *grant->allocation);
    }
    nodes = instance::part_for(core->nodes_of_agents, std::move(nodes), rank).nodes;
  }
  add_units(task.cores, task.gpus, nodes);
}

void Tasks::check_units(const Task& task, const Instance& owner) {
  for (const auto& [pid, other] : live_) {
    if (other.get() == &task || other->path == task.path || is_job_below(task.path, other->path) ||
        is_job_below(other->path, task.path))
      continue;
    for (const auto& [what, its, others] : {std::tuple("core", &task.cores, &other->cores),
                                            std::tuple("GPU", &task.gpus, &other->gpus)})
      for (const auto& unit : *its)
        if (others->contains(unit) && !is_lent(task, unit, owner) && !is_lent(*other, unit, owner))
          return machine_.history.violation("{} {} of {} is used by {} and by {}", what,
                                            unit.second, unit.first, other->path, task.path);
  }
  check_grant(task, owner);
}

void Tasks::check_grant(const Task& task, const Instance& owner) {
  const auto cut = task.path.rfind('/');
  if (cut == 0) return;
  const std::string above = task.path.substr(0, cut);
  bool lives = false, all_known = task.cores_known;
  Task::Units cores, gpus;
  for (const auto& [pid, other] : live_) {
    if (other->path != above) continue;
    lives = true;
    all_known &= other->cores_known;
    cores.insert(other->cores.begin(), other->cores.end());
    gpus.insert(other->gpus.begin(), other->gpus.end());
  }
  if (!lives)
    return machine_.history.violation("{} starts, and its instance does not live", task.path);
  if (all_known && add_extra(cores, gpus, owner) &&
      !(has_all(cores, task.cores) && has_all(gpus, task.gpus)))
    machine_.history.violation("{} uses cores or GPUs that {} was not granted", task.path, above);
}

// argv: "work", ms that it runs, exit code, ms from SIGTERM to the end (negative: it is ignored),
// the number of attempts with that exit code (the others have 0; none given: all have it).
void Tasks::begin_work(const std::shared_ptr<Task>& task, const std::vector<std::string>& argv) {
  task->ignores = number_in(argv, 3) < 0;
  task->survives = machine_.dice.one_in(3);
  const Micros lasts = number_in(argv, 1) * kMs;
  const bool succeeds = argv.size() > 4 && task->attempt >= number_in(argv, 4);
  const int code = succeeds ? 0 : static_cast<int>(number_in(argv, 2));
  machine_.timeline.after(lasts, [this, task, code] { end_of_itself(task, code); });
}

void Tasks::end_of_itself(const std::shared_ptr<Task>& task, int code) {
  if (!task->running || task->agent == nullptr) return;
  if (task->stopped) {
    task->owed = [this, weak = std::weak_ptr<Task>(task), code] {
      if (const auto it = weak.lock()) end_of_itself(it, code);
    };
    return;
  }
  const int status = code << 8;
  Attempt& attempt = truth_[task->path].attempts[task->attempt];
  attempt.ended.insert(task->rank);
  attempt.last_end = machine_.timeline.now();
  if (code == 0) attempt.ran_to_end.insert(task->rank);
  if (code != 0) attempt.codes.insert(code);
  if (machine_.planted(Plant::early_end) && machine_.dice.one_in(6)) {
    machine_.history.note("PLANT: the end of job {} is told too soon", task->path);
    task->status = status;
    tell(task);
    return machine_.timeline.after(5 * kSecond, [this, task] { finish(task, task->status); });
  }
  finish(task, status);
}

// Tasks that are told before another job takes their place: some save their work and leave, some
// are just done, and some do not care.
void Tasks::save(const std::shared_ptr<Task>& task) {
  if (++task->saves > 1)
    return machine_.history.violation("job {} task {} is told to save a second time", task->path,
                                      task->rank);
  machine_.history.note("job {} task {} is told to save", task->path, task->rank);
  const auto choice = machine_.dice.between(1, 3);
  if (choice == 3) return;
  machine_.timeline.after(machine_.dice.between(kMs, 800 * kMs),
                          [this, task, choice] { end_of_itself(task, choice == 1 ? 75 : 0); });
}

void Tasks::go_on(Task& task) {
  if (!std::exchange(task.stopped, false)) return;
  if (const auto owed = std::exchange(task.owed, nullptr)) owed();
}

// A command that is no task of a job.
std::shared_ptr<Task> Tasks::add_command(Process& agent) {
  auto task = std::make_shared<Task>();
  task->pid = machine_.new_pid();
  task->agent = &agent;
  all_[task->pid] = task;
  return task;
}

// Begins a batch command: the batch system acts some time before it answers, and perhaps also where
// nobody waits for the answer any more.
pid_t Tasks::begin_batch_command(Process& agent, const launch::SpawnRequest& request) {
  const auto task = add_command(agent);
  auto out = std::make_shared<transport::UniqueFd>(fcntl(request.out, F_DUPFD_CLOEXEC, 3));
  auto err = std::make_shared<transport::UniqueFd>(fcntl(request.err, F_DUPFD_CLOEXEC, 3));
  const auto answer = std::make_shared<BatchSystem::Answer>();
  const Micros takes = machine_.batch.next_takes();
  const bool is_asked_again = request.argv[0] == "sbatch" &&
                              machine_.planted(Plant::submitted_again) && machine_.dice.one_in(4);
  const auto ask = [this, task, answer, argv = request.argv] {
    if (task->running || machine_.dice.one_in(2)) *answer = machine_.batch.run(argv);
  };
  machine_.timeline.after(machine_.dice.between(0, std::min(takes, 3 * kSecond)), ask);
  if (is_asked_again) machine_.timeline.after(takes, ask);
  machine_.timeline.after(takes, [this, task, answer, out, err] {
    if (!task->running) return;
    for (const auto& [fd, text] : {std::pair(out, answer->output), std::pair(err, answer->error)}) {
      const ssize_t written = ::write(fd->get(), text.data(), text.size());
      if (written != static_cast<ssize_t>(text.size()) && errno != EPIPE)
        machine_.history.violation("the answer of the batch system does not fit into a pipe");
      fd->reset();
    }
    answer->when_read();
    finish(task, answer->code << 8);
  });
  return task->pid;
}

// Runs `holon remains`: the real function, in this process.
pid_t Tasks::begin_capture(Process& agent, const launch::SpawnRequest& request) {
  const auto task = add_command(agent);
  auto out = std::make_shared<transport::UniqueFd>(fcntl(request.out, F_DUPFD_CLOEXEC, 3));
  auto err = std::make_shared<transport::UniqueFd>(fcntl(request.err, F_DUPFD_CLOEXEC, 3));
  fcntl(out->get(), F_SETPIPE_SZ, 1 << 20);
  instance::DeadChildOptions what{request.argv[2], request.argv[3], request.argv.back()};
  // The broker that has the journal open is in this thread, and could not close it while this
  // waits.
  what.patience = std::chrono::milliseconds(0);
  task->running = true;
  machine_.timeline.after(machine_.dice.between(kMs, 40 * kMs), [this, task, what, out, err] {
    if (!task->running) return;
    auto from = what;
    if (machine_.planted(Plant::stale_remains))
      from.state_dir = machine_.disk.snapshot_of(from.state_dir);
    if (machine_.planted(Plant::lost_remains)) from.state_dir = machine_.dir;
    std::ostringstream text;
    const int code = instance::dead_child_main(from, text);
    const std::string bytes = text.str();
    const ssize_t written = ::write(out->get(), bytes.data(), bytes.size());
    if (written != static_cast<ssize_t>(bytes.size()) && errno != EPIPE)
      machine_.history.violation("the remains of {} do not fit into a pipe", what.path);
    out->reset();
    err->reset();
    machine_.history.note("the remains of {} from \"{}\" are read: {} bytes", what.path, what.from,
                          bytes.size());
    finish(task, code << 8);
  });
  return task->pid;
}

void Tasks::finish(const std::shared_ptr<Task>& task, int status) {
  if (!std::exchange(task->running, false)) return;
  live_.erase(task->pid);
  task->status = status;
  task->owed = nullptr;
  if (const auto truth = truth_.find(task->path); truth != truth_.end())
    truth->second.attempts[task->attempt].over = machine_.timeline.now();
  if (AgentProcess* const agent = std::exchange(task->child_agent, nullptr)) {
    kill_below(task->pid);  // swept by the agent that has started it, before that says its end
    agent->kill("with its job");
  }
  if (!task->path.empty())
    machine_.history.note("job {} task {} ends with status {}", task->path, task->rank, status);
  if (machine_.planted(Plant::lost_exit) && !task->path.empty() && machine_.dice.one_in(12)) {
    machine_.history.note("PLANT: nobody notices that");
    return;
  }
  tell(task);
}

void Tasks::tell(const std::shared_ptr<Task>& task) {
  if (std::exchange(task->told, true) || task->agent == nullptr) return;
  task->agent->deliver([task] {
    if (task->agent == nullptr || !task->ended) return;
    if (task->before_reap) task->before_reap();
    const auto ended = std::exchange(task->ended, nullptr);
    transport::ChildExit exit;
    exit.pid = task->pid;
    exit.status = task->status;
    ended(exit);
  });
}

void Tasks::end(pid_t pid, int status) {
  if (const auto task = find(pid)) finish(task, status);
}

void Tasks::signal(pid_t pid, int number) {
  const auto task = find(pid);
  if (!task || !task->running) return;
  if (number == SIGCONT) return go_on(*task);
  if (number == SIGSTOP) task->stopped = true;
  if (number == SIGUSR1) return save(task);
  if (number != SIGTERM && number != SIGKILL) return;
  if (task->instance != nullptr) return task->instance->on_signal(number);
  if (task->child_agent != nullptr && number == SIGTERM) return task->child_agent->terminate();
  if (number == SIGTERM && task->ignores) return;
  const Micros heeds =
      number == SIGKILL ? machine_.dice.between(50, 3 * kMs) : machine_.dice.between(50, 400 * kMs);
  machine_.timeline.after(heeds, [this, task, number] { finish(task, number); });
}

// Ends what the agent has started, as the kernel does when it ends. What tasks have started stays
// until the next agent sweeps its host.
void Tasks::agent_is_gone(Process& agent) {
  for (const auto& [pid, task] : std::map(all_)) {
    if (task->agent != &agent) continue;
    task->agent = nullptr;
    task->ended = nullptr;
    task->before_reap = nullptr;
    if (!task->running || task->path.empty()) continue;
    if (task->instance != nullptr) {
      task->instance->on_signal(SIGKILL);
    } else if (!task->survives) {
      machine_.timeline.after(machine_.dice.between(50, 2 * kMs),
                              [this, held = task] { finish(held, SIGKILL); });
    }
  }
}

void Tasks::host_died(int host) {
  for (const auto& [pid, task] : std::map(live_)) {
    if (task->host != host) continue;
    if (task->instance != nullptr) task->instance->vanish();
    task->told = true;
    finish(task, SIGKILL);
  }
}

void Tasks::clear_left_by(pid_t agent) {
  for (const auto& [pid, task] : std::map(live_))
    if (task->parent == agent && task->agent == nullptr && task->instance == nullptr)
      finish(task, SIGKILL);
}

void Tasks::clear_unknown_left_by(pid_t agent, const instance::Instance& core, std::uint32_t rank) {
  std::set<std::int64_t> known;
  if (const auto orphans = core.journal.orphans(rank))
    for (const auto& process : *orphans) known.insert(process.pid);
  for (const auto& [id, job] : core.jobs.active())
    for (const auto& process : instance::processes_of(job.life)) known.insert(process.pid);
  for (const auto& [pid, task] : std::map(live_))
    if (task->parent == agent && task->agent == nullptr && task->instance == nullptr &&
        !known.contains(pid))
      finish(task, SIGKILL);
}

void Tasks::kill_below(pid_t instance) {
  for (const auto& [pid, task] : std::map(live_))
    if (pid != instance && is_below(pid, instance)) {
      if (task->instance != nullptr) task->instance->vanish();
      finish(task, SIGKILL);
    }
}

bool Tasks::is_below(pid_t process, pid_t above) const {
  while (process != above && process != 0) {
    const auto parent = parents_.find(process);
    process = parent == parents_.end() ? 0 : parent->second;
  }
  return process == above;
}

std::size_t Tasks::kill_sessions(const std::vector<launch::msg::ProcessId>& leaders) {
  std::size_t alive = 0;
  for (const auto& leader : leaders) {
    const auto task = find(static_cast<pid_t>(leader.pid));
    if (!task || !task->running || task->start != leader.start) continue;
    ++alive;
    if (task->instance != nullptr)
      task->instance->on_signal(SIGKILL);
    else
      machine_.timeline.after(machine_.dice.between(50, 3 * kMs),
                              [this, task] { finish(task, SIGKILL); });
  }
  return alive;
}

std::size_t Tasks::take(const Process& agent, const std::string& child,
                        const launch::TakenUnits& taken) {
  if (!agent.alive()) return 1;
  if (fenced_.insert(child).second) machine_.history.note("units are taken from {}", child);
  if (machine_.planted(Plant::unproved_fence)) return 0;
  const auto is_there = [&](const Task::Units& units, bool are_cores) {
    return std::any_of(units.begin(), units.end(), [&](const auto& unit) {
      return std::any_of(taken.nodes.begin(), taken.nodes.end(), [&](const auto& node) {
        return node.node == unit.first && (are_cores ? node.cores : node.gpus)
                                              .contains(static_cast<std::uint64_t>(unit.second));
      });
    });
  };
  std::size_t found = 0;
  for (const auto& [pid, task] : std::map(live_)) {
    if (task->host != agent.host() || !is_job_below(task->path, child)) continue;
    if (!is_there(task->cores, true) && !is_there(task->gpus, false)) continue;
    ++found;
    if (task->instance != nullptr)
      task->instance->on_signal(SIGKILL);
    else
      machine_.timeline.after(machine_.dice.between(50, 3 * kMs),
                              [this, held = task] { finish(held, SIGKILL); });
  }
  return found;
}

bool Tasks::belongs_to(std::int64_t pid,
                       const std::vector<instance::event::Process>& ancestors) const {
  if (machine_.planted(Plant::stranger)) return true;
  for (pid_t at = static_cast<pid_t>(pid); at != 0;) {
    const auto task = find(at);
    for (const auto& ancestor : ancestors)
      if (task && ancestor.pid == at && ancestor.start == task->start) return true;
    const auto above = parents_.find(at);
    at = above == parents_.end() ? 0 : above->second;
  }
  return false;
}

std::string Tasks::example() const {
  return live_.empty() ? "" : live_.begin()->second->path;
}

}  // namespace holon::world
