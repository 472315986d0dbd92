#include "instance/provision/provisions.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hostlist.hpp"
#include "instance/text.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/json.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr const char* kProvisions = "provisions";        // in the journal
constexpr Duration kLookAtPlan = 1'000;                  // from one look at the plan to the next
constexpr Duration kKeyLasts = 30LL * 24 * 3600 * 1000;  // in the batch system's queue
// A command runs for a minute at most; one that was begun by a broker that is gone is over, too.
constexpr Duration kUnknownFor = 90'000;
constexpr Duration kFirstPause = 30'000, kLongestPause = 3'600'000;

batch::System system_called(const std::string& name) {
  return batch::system_of(name).value_or(batch::System::none);
}

Status write_anew(const std::string& name, const std::string& text, mode_t mode) {
  unlink(name.c_str());
  const transport::UniqueFd out(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!out || write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Errc::system, std::strerror(errno), name);
  return {};
}

Status check_provision(const msg::ProvisionRequest& how) {
  const auto system = system_called(how.system);
  if (!batch::can_submit(system))
    return fail(Errc::invalid_argument, "slurm, sge and pbs are accepted", how.system);
  if (how.walltime < 60'000 || how.walltime > 366LL * 24 * 3600 * 1000)
    return fail(Errc::invalid_argument, "from a minute to 366 days is accepted", "walltime");
  if (how.nodes_each == 0 || how.most_nodes < how.nodes_each || how.most_queued == 0)
    return fail(Errc::invalid_argument,
                "a batch job has at least one node and at most as many as there may be in all, and "
                "at least one may be queued",
                "nodes");
  if (how.nodes_each > 1 && system == batch::System::grid_engine)
    return fail(Errc::unsupported, "with Grid Engine a batch job is one node", "nodes_each");
  if (how.idle < 0 || how.patience < 0)
    return fail(Errc::invalid_argument, "a time is not negative", "idle");
  return {};
}

}  // namespace

Provisions::Provisions(const Uses& uses, Settings settings)
    : uses_(uses), settings_(std::move(settings)) {}

// ---- what is kept ----

Status Provisions::restore(bool fresh) {
  const auto kept = uses_.journal.meta(kProvisions);
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept || (**kept).empty()) return {};
  auto state = transport::from_json<msg::ProvisionsReply>(**kept);
  if (!state) {
    spdlog::error(
        "batch jobs that bring nodes are forgotten: the journal's text about them is "
        "damaged; their names begin with " +
        name_of(0).substr(0, name_of(0).rfind('-')));
    return {};
  }
  state_ = std::move(*state);
  keys_are_old_ = fresh;
  for (const auto& job : state_.batch_jobs) unlisted_.insert(job.system);
  return {};
}

void Provisions::keep() {
  uses_.journal.set_meta(kProvisions, transport::to_json(state_));
}

msg::Provision* Provisions::find(std::uint64_t number) {
  for (auto& provision : state_.provisions)
    if (provision.number == number) return &provision;
  return nullptr;
}

std::string Provisions::file(std::uint64_t number, const char* ending) const {
  return fmt::format("{}/{}{}", folder(), number, ending);
}

std::string Provisions::name_of(std::uint64_t number) const {
  constexpr std::size_t kDigits = 8;  // of 128 bits
  return fmt::format("holon-{}-{}", settings_.id.substr(0, kDigits), number);
}

// ---- what people ask ----

Result<msg::ProvisionReply> Provisions::add(const msg::ProvisionRequest& how) {
  if (!settings_.refusal.empty()) return fail(Errc::unsupported, settings_.refusal);
  if (auto sound = check_provision(how); !sound) return tl::unexpected(sound.error());
  msg::Provision provision;
  provision.how = how;
  if (auto node = node_like(provision); !node) return tl::unexpected(node.error());
  msg::ProvisionReply reply;
  if (how.dry_run) {
    provision.how.patience = 0;
    auto need = need_of(provision, uses_.clock.now());
    if (!need) return tl::unexpected(need.error());
    const std::uint64_t number = state_.last_batch_job + 1;
    reply.batch_jobs = need->batch_jobs;
    reply.command =
        batch::submit_command(system_called(how.system), request_for(provision, number));
    reply.script = script(provision, number);
    for (const JobId job : need->jobs) reply.jobs.push_back(job.value());
    return reply;
  }
  if (mkdir(folder().c_str(), 0700) != 0 && errno != EEXIST)
    return fail(Errc::system, std::strerror(errno), folder());
  reply.number = provision.number = ++state_.last_provision;
  state_.provisions.push_back(std::move(provision));
  next_look_ = 0;
  keep();
  uses_.jobs.resources_changed();  // what is too large for what is here may wait from now on
  return reply;
}

Status Provisions::change(const msg::ProvisionChange& what) {
  msg::Provision* const provision = find(what.number);
  if (provision == nullptr)
    return fail(Errc::not_found, fmt::format("there is no provision {}", what.number));
  if (what.action != "pause" && what.action != "resume" && what.action != "remove")
    return fail(Errc::invalid_argument, "pause, resume and remove are accepted", what.action);
  provision->paused = what.action != "resume";
  provision->not_before = 0;
  next_look_ = 0;
  waiting_.erase(what.number);
  if (what.action == "remove") {
    std::vector<std::uint64_t> queued;
    for (const auto& job : state_.batch_jobs) {
      if (job.provision != what.number) continue;
      if (is_queued(job)) queued.push_back(job.number);
      for (const std::uint32_t rank : ranks_of(job)) give_back(job, rank, uses_.clock.now());
    }
    take_back(queued);
    std::erase_if(state_.provisions, [&](const auto& p) { return p.number == what.number; });
  }
  keep();
  return {};
}

msg::ProvisionsReply Provisions::list() const {
  msg::ProvisionsReply shown = state_;
  for (auto& provision : shown.provisions) {
    provision.topology.clear();
    if (provision.not_before != 0) provision.not_before = uses_.clock.wall(provision.not_before);
  }
  const auto& graph = uses_.store.graph();
  for (auto& job : shown.batch_jobs) {
    job.asked = uses_.clock.wall(job.asked);
    if (job.queued != 0) job.queued = uses_.clock.wall(job.queued);
    Hostlist here;
    for (const std::uint32_t rank : ranks_of(job))
      for (const auto node : graph.by_type("node"))
        if (graph[node].rank == static_cast<std::int32_t>(rank)) here.append(graph.name(node));
    job.here = here.empty() ? "" : here.str();
  }
  return shown;
}

std::string Provisions::note_for(JobId job) const {
  for (const auto& [number, jobs] : waiting_) {
    if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) continue;
    for (const auto& provision : state_.provisions) {
      if (provision.number != number) continue;
      const char* const title = batch::title_of(system_called(provision.how.system));
      for (const auto& batch : state_.batch_jobs)
        if (batch.provision == number && !batch.came)
          return batch.id.empty() ? fmt::format("a batch job of {} was asked for", title)
                                  : fmt::format("{} job {}, which is {}, is to bring nodes", title,
                                                batch.id, batch.state);
      if (!provision.trouble.empty())
        return fmt::format("{} brings no nodes: {}", title, provision.trouble);
    }
  }
  return {};
}

std::string Provisions::awaited() const {
  if (state_.provisions.empty()) return {};
  const bool is_open = std::any_of(state_.provisions.begin(), state_.provisions.end(),
                                   [](const auto& provision) { return !provision.paused; });
  return is_open ? "batch jobs may bring nodes (holon provision)"
                 : "what would bring nodes is paused (holon provision resume)";
}

// ---- what is missing: provisions_need.cpp ----

void Provisions::look(msg::Provision& provision, Time now) {
  waiting_.erase(provision.number);
  if (provision.paused || unlisted_.contains(provision.how.system)) return;
  const auto need = need_of(provision, now);
  if (!need) {
    if (provision.not_before <= now) failed(provision.number, to_string(need.error()));
    return;
  }
  waiting_[provision.number] = need->jobs;
  const std::uint32_t coming = on_their_way(provision);
  take_back_surplus(provision, need->batch_jobs, now);
  if (provision.not_before > now || !uses_.agents.beside_broker().connected()) return;
  const std::uint32_t more =
      std::min(may_be_asked_for(provision), need->batch_jobs - std::min(need->batch_jobs, coming));
  for (std::uint32_t i = 0; i < more; ++i) submit(provision, now);
}

std::optional<Time> Provisions::turn(Time now) {
  if (state_.provisions.empty() && state_.batch_jobs.empty()) return std::nullopt;
  if (is_over_) return std::nullopt;
  if (std::exchange(keys_are_old_, false)) renew_keys();
  list_if_due(now);
  if (now >= next_look_) {
    next_look_ = now + kLookAtPlan;
    look_at_nodes(now);
    for (auto& provision : state_.provisions) look(provision, now);
  }
  if (state_.batch_jobs.empty()) return next_look_;
  return std::min(next_look_, std::max(next_list_, now + 1));
}

// ---- asking for one ----

batch::BatchRequest Provisions::request_for(const msg::Provision& provision,
                                            std::uint64_t number) const {
  batch::BatchRequest request;
  request.name = name_of(number);
  request.script = file(number, ".sh");
  request.output = file(number, ".out");
  request.nodes = provision.how.nodes_each;
  request.walltime = provision.how.walltime / 1000;
  request.more = provision.how.options;
  return request;
}

// Where the batch system does not tell when it ends, its beginning and its walltime do.
std::string Provisions::script(const msg::Provision& provision, std::uint64_t number) const {
  return fmt::format(
      "#!/bin/sh\n# Made by holon: these nodes join the instance in {}.\n{}", settings_.state_dir,
      batch::script_for(system_called(provision.how.system),
                        {settings_.binary, "join", "--key", file(number, ".key"), "--until",
                         fmt::format("+{}s", provision.how.walltime / 1000)},
                        provision.how.nodes_each));
}

Status Provisions::write_files(std::uint64_t number) const {
  for (const auto& job : state_.batch_jobs) {
    if (job.number != number) continue;
    for (const auto& provision : state_.provisions)
      if (provision.number == job.provision)
        if (auto written = write_anew(file(number, ".sh"), script(provision, number), 0700);
            !written)
          return written;
  }
  const auto key = keys_.find(number);
  return key == keys_.end() ? Status() : write_anew(file(number, ".key"), key->second + "\n", 0600);
}

void Provisions::remove_files(std::uint64_t number) const {
  for (const char* ending : {".sh", ".key"}) unlink(file(number, ending).c_str());
}

void Provisions::submit(const msg::Provision& provision, Time now) {
  auto key = invite({kKeyLasts, provision.how.nodes_each});
  if (!key) return failed(provision.number, to_string(key.error()));
  msg::BatchJob job;
  job.number = ++state_.last_batch_job;
  job.provision = provision.number;
  job.system = provision.how.system;
  job.name = name_of(job.number);
  job.state = "asked";
  job.nodes = provision.how.nodes_each;
  job.asked = now;
  keys_[job.number] = std::move(*key);
  state_.batch_jobs.push_back(job);
  keep();
  uses_.after_commit.add([this, number = job.number] { send(number); });
}

// It is in the journal now.
void Provisions::send(std::uint64_t number) {
  const auto written = write_files(number);
  keys_.erase(number);
  if (!written) return hear_submitted(number, tl::unexpected(written.error()));
  for (const auto& job : state_.batch_jobs) {
    const msg::Provision* const provision = job.number == number ? find(job.provision) : nullptr;
    if (provision == nullptr) continue;
    ++commands_;
    return run(batch::submit_command(system_called(provision->how.system),
                                     request_for(*provision, number)),
               [this, number](const Result<std::string>& answer) {
                 --commands_;
                 hear_submitted(number, answer);
               });
  }
}

void Provisions::hear_submitted(std::uint64_t number, const Result<std::string>& answer) {
  const auto job = std::find_if(state_.batch_jobs.begin(), state_.batch_jobs.end(),
                                [&](const auto& one) { return one.number == number; });
  if (job == state_.batch_jobs.end() || !job->id.empty()) return;
  const auto id = answer ? batch::read_submitted(system_called(job->system), *answer) : answer;
  // The agent that has run the command is gone, or the command took too long: whether it was
  // submitted a listing tells.
  if (!id && (id.error().code == Errc::disconnected || id.error().code == Errc::timed_out)) return;
  if (!id) {
    const std::uint64_t whose = job->provision;
    remove_files(number);
    state_.batch_jobs.erase(job);
    return failed(whose, to_string(id.error()));
  }
  job->id = *id;
  job->state = "queued";
  job->queued = uses_.clock.now();
  // Meanwhile it has become of no use.
  if (is_over_ || find(job->provision) == nullptr) take_back({number});
  keep();
}

void Provisions::failed(std::uint64_t number, const std::string& why) {
  msg::Provision* const provision = find(number);
  if (provision != nullptr) {
    const Duration back_off = kFirstPause << std::min<std::uint32_t>(provision->failures, 16);
    ++provision->failures;
    provision->not_before = uses_.clock.now() + std::min(back_off, kLongestPause);
    provision->trouble = why;
    spdlog::warn(fmt::format("provision {}: {}; nothing is submitted for {}", number, why,
                             duration_text(std::min(back_off, kLongestPause))));
  }
  keep();
}

// Batch jobs of an earlier run that wait in a queue join this one.
void Provisions::renew_keys() {
  for (const auto& job : state_.batch_jobs) {
    if (job.came || find(job.provision) == nullptr) continue;
    auto key = invite({kKeyLasts, job.nodes});
    if (!key) continue;
    keys_[job.number] = std::move(*key);
    uses_.after_commit.add([this, number = job.number] {
      if (auto written = write_files(number); !written)
        spdlog::error("a batch job will not find this instance: " + to_string(written.error()));
      keys_.erase(number);
    });
  }
}

// ---- what became of them ----

void Provisions::run(std::vector<std::string> command,
                     std::function<void(const Result<std::string>&)> done) {
  if (!uses_.agents.beside_broker().connected())
    return done(fail(Errc::disconnected, "the agent is being started again"));
  const std::string program = command.front();
  uses_.agents.beside_broker().capture(
      std::move(command),
      [done = std::move(done), program](const Result<launch::msg::CaptureReply>& reply) {
        done(output_of(reply, program));
      });
}

void Provisions::list_if_due(Time now) {
  if (is_listing_ || now < next_list_ || state_.batch_jobs.empty()) return;
  next_list_ = now + settings_.interval;
  std::set<std::string> systems;
  for (const auto& job : state_.batch_jobs) systems.insert(job.system);
  for (const auto& system : systems) {
    is_listing_ = true;
    run(batch::list_command(system_called(system), settings_.user),
        [this, system, now](const Result<std::string>& answer) {
          is_listing_ = false;
          hear_listed(system, now, answer);
        });
  }
}

void Provisions::hear_listed(const std::string& system, Time asked,
                             const Result<std::string>& answer) {
  const auto listed = answer ? batch::read_listed(system_called(system), *answer)
                             : Listed(tl::unexpected(answer.error()));
  if (!listed) {
    if (listed.error().code != Errc::disconnected)
      spdlog::warn("batch jobs cannot be listed: " + to_string(listed.error()));
    return;
  }
  unlisted_.erase(system);
  const auto before = state_.batch_jobs;
  for (const auto& known : before) {
    if (known.system != system) continue;
    const auto its = std::find_if(listed->begin(), listed->end(),
                                  [&](const auto& one) { return one.name == known.name; });
    const auto job = std::find_if(state_.batch_jobs.begin(), state_.batch_jobs.end(),
                                  [&](const auto& one) { return one.number == known.number; });
    if (job != state_.batch_jobs.end()) settle(*job, its == listed->end() ? nullptr : &*its, asked);
  }
  keep();
}

// `asked`: when the list was; what was submitted after that is not on it.
void Provisions::settle(msg::BatchJob& job, const batch::ListedJob* listed, Time asked) {
  if (listed != nullptr) {
    if (job.id.empty()) job.queued = uses_.clock.now();
    job.id = listed->id;
    job.state = listed->state == batch::ListedJob::State::running ? "running" : "queued";
    if (find(job.provision) == nullptr && is_queued(job)) take_back({job.number});
    return;
  }
  const bool may_be_submitted = job.id.empty() && uses_.clock.now() - job.asked < kUnknownFor;
  if (may_be_submitted || (!job.id.empty() && job.queued >= asked)) return;
  over(job);
}

void Provisions::over(const msg::BatchJob& job) {
  const std::uint64_t number = job.number, whose = job.provision;
  const bool came = job.came;
  arrivals_.erase(number);
  const std::string id = job.id.empty() ? "a batch job that was asked for is not there"
                                        : fmt::format(
                                              "batch job {} ended before it had joined; {} "
                                              "has what it wrote",
                                              job.id, file(number, ".out"));
  remove_files(number);
  std::erase_if(state_.batch_jobs, [&](const auto& one) { return one.number == number; });
  if (!came && find(whose) != nullptr) failed(whose, id);
}

void Provisions::take_back(const std::vector<std::uint64_t>& numbers) {
  std::map<std::string, std::vector<msg::BatchJob>> gone;  // by system
  std::erase_if(state_.batch_jobs, [&](const auto& job) {
    const bool goes =
        std::find(numbers.begin(), numbers.end(), job.number) != numbers.end() && !job.id.empty();
    if (!goes) return false;
    remove_files(job.number);
    gone[job.system].push_back(job);
    return true;
  });
  for (auto& [system, jobs] : gone) {
    std::vector<std::string> ids;
    for (const auto& job : jobs) ids.push_back(job.id);
    ++commands_;
    run(batch::cancel_command(system_called(system), ids),
        [this, jobs = std::move(jobs)](const Result<std::string>& answer) {
          --commands_;
          if (!answer) return stay(jobs, answer.error());
          next_list_ = 0;
        });
  }
}

// They are nobody's, and taken back when a listing shows them again.
void Provisions::stay(const std::vector<msg::BatchJob>& jobs, const Error& why) {
  spdlog::warn("batch jobs cannot be taken back: " + to_string(why));
  for (const auto& job : jobs) {
    state_.batch_jobs.push_back(job);
    state_.batch_jobs.back().provision = 0;
  }
  keep();
}

// What waits in the batch system's queue for longer than nodes may be idle, and would have nothing
// to do, is taken back, the last first.
void Provisions::take_back_surplus(const msg::Provision& provision, std::uint32_t needed,
                                   Time now) {
  const std::uint32_t coming = on_their_way(provision);
  if (needed >= coming) {
    surplus_since_.erase(provision.number);
    return;
  }
  const Time since = surplus_since_.try_emplace(provision.number, now).first->second;
  if (now - since < provision.how.idle) return;
  std::vector<std::uint64_t> numbers;
  for (auto job = state_.batch_jobs.rbegin(); job != state_.batch_jobs.rend(); ++job)
    if (job->provision == provision.number && job->state == "queued" &&
        numbers.size() < coming - needed)
      numbers.push_back(job->number);
  surplus_since_.erase(provision.number);
  if (numbers.empty()) return;
  take_back(numbers);
  keep();
}

// ---- their nodes ----

std::vector<std::uint32_t> Provisions::ranks_of(const msg::BatchJob& job) const {
  return job.id.empty() ? std::vector<std::uint32_t>() : uses_.node_ends.ranks_in(job.id);
}

void Provisions::agent_came(const launch::msg::Hello& hello) {
  if (hello.batch_job.empty()) return;
  for (auto& job : state_.batch_jobs) {
    if (job.id != hello.batch_job) continue;
    msg::Provision* const provision = find(job.provision);
    // An agent whose topology is known already sends a digest of it only.
    if (provision == nullptr || hello.topology.empty() || provision->topology == hello.topology)
      continue;
    provision->topology = hello.topology;
    keep();
  }
}

void Provisions::look_at_nodes(Time now) {
  std::set<std::uint32_t> idle;
  for (auto& job : state_.batch_jobs) {
    const auto ranks = ranks_of(job);
    msg::Provision* const provision = find(job.provision);
    if (!ranks.empty() && !job.came) {
      job.came = true;
      arrivals_[job.number].since = now;
      job.state = "running";
      if (provision != nullptr) provision->failures = 0, provision->trouble.clear();
      keep();
    }
    if (const auto arrival = arrivals_.find(job.number); arrival != arrivals_.end())
      arrival->second.nodes =
          std::max(arrival->second.nodes, static_cast<std::uint32_t>(ranks.size()));
    for (const std::uint32_t rank : ranks) {
      if (!uses_.departures.is_idle(rank)) continue;
      idle.insert(rank);
      const Time since = idle_since_.try_emplace(rank, now).first->second;
      if (provision == nullptr || now - since >= provision->how.idle) give_back(job, rank, now);
    }
  }
  std::erase_if(idle_since_, [&](const auto& one) { return !idle.contains(one.first); });
}

void Provisions::give_back(const msg::BatchJob& job, std::uint32_t rank, Time now) {
  uses_.departures.send_away(rank, {fmt::format("batch job {} is given back", job.id), kTimeMax},
                             uses_.clock.wall(now), now);
}

void Provisions::end() {
  if (std::exchange(is_over_, true)) return;
  std::vector<std::uint64_t> queued;
  for (const auto& job : state_.batch_jobs)
    if (is_queued(job)) queued.push_back(job.number);
  if (queued.empty()) return;
  take_back(queued);
  keep();
}

}  // namespace holon::instance
