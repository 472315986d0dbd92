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
#include "instance/basics/text.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/json.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr const char* kProvisions = "provisions";        // in the journal
constexpr Duration kLookAtPlan = 1'000;                  // between two looks at the plan
constexpr Duration kKeyLasts = 30LL * 24 * 3600 * 1000;  // in the batch system's queue
constexpr Duration kFirstPause = 30'000, kLongestPause = 3'600'000;

Status write_anew(const std::string& name, const std::string& text, mode_t mode) {
  unlink(name.c_str());
  const transport::UniqueFd out(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!out || write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Errc::system, std::strerror(errno), name);
  return {};
}

Status check_provision(const msg::ProvisionRequest& how) {
  const auto system = batch::system_of(how.system).value_or(batch::System::none);
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

batch::System Provisions::system_called(const std::string& name) {
  return batch::system_of(name).value_or(batch::System::none);
}

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

msg::BatchJob* Provisions::batch_job(std::uint64_t number) {
  for (auto& job : state_.batch_jobs)
    if (job.number == number) return &job;
  return nullptr;
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
  uses_.jobs.resources_changed();  // jobs too large for the present nodes may wait from now on
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
      if (is_queued(job) && !is_here(job)) queued.push_back(job.number);
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
        if (batch.provision == number && !batch.came && !is_leaving(batch))
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
  if (is_over_) return go_on_ending(), std::nullopt;
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

// If the batch system does not tell the job's end, its beginning and its walltime do.
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

// Submits a batch job that is in the journal now, unless it has become useless meanwhile.
void Provisions::send(std::uint64_t number) {
  const msg::BatchJob* const job = batch_job(number);
  const msg::Provision* const provision = job == nullptr ? nullptr : find(job->provision);
  if (provision == nullptr || is_leaving(*job)) {
    keys_.erase(number);
    return forget(number);
  }
  const auto written = write_files(number);
  keys_.erase(number);
  if (!written) return hear_submitted(number, tl::unexpected(written.error()));
  in_hand_.insert(number);
  run(batch::submit_command(system_called(job->system), request_for(*provision, number)),
      [this, number](const Result<std::string>& answer) {
        in_hand_.erase(number);
        hear_submitted(number, answer);
      });
}

void Provisions::hear_submitted(std::uint64_t number, const Result<std::string>& answer) {
  msg::BatchJob* const job = batch_job(number);
  if (job == nullptr) return;
  // A listing came first: nothing could be cancelled while the submission was under way.
  if (!job->id.empty()) return is_leaving(*job) ? cancel_after_commit({number}) : void();
  const auto id = answer ? batch::read_submitted(system_called(job->system), *answer) : answer;
  // The agent that ran the command is gone, or the command took too long: a listing tells whether
  // the batch job was submitted.
  if (!id && (id.error().code == Errc::disconnected || id.error().code == Errc::timed_out))
    return is_over_ ? list(job->system) : void();
  if (!id) {
    const std::uint64_t whose = job->provision;
    forget(number);
    return failed(whose, to_string(id.error()));
  }
  job->id = *id;
  job->queued = uses_.clock.now();
  if (is_leaving(*job))  // it has become useless meanwhile
    cancel_after_commit({number});
  else
    job->state = "queued";
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

// Lets batch jobs of an earlier run that still wait in a queue join this run.
void Provisions::renew_keys() {
  for (const auto& job : state_.batch_jobs) {
    if (job.came || is_leaving(job) || find(job.provision) == nullptr) continue;
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

// ---- their nodes ----

std::vector<std::uint32_t> Provisions::ranks_of(const msg::BatchJob& job) const {
  return job.id.empty() ? std::vector<std::uint32_t>() : uses_.node_ends.ranks_in(job.id);
}

void Provisions::agent_came(const launch::msg::Hello& hello) {
  if (hello.batch_job.empty()) return;
  for (auto& job : state_.batch_jobs) {
    if (job.id != hello.batch_job) continue;
    msg::Provision* const provision = find(job.provision);
    // An agent with a known topology sends only its digest.
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
      if (is_leaving(job)) job.provision = 0;  // nobody's: its nodes go once nothing runs there
      job.state = "running";
      if (provision != nullptr) provision->failures = 0, provision->trouble.clear();
      keep();
    }
    // For the plan, nodes whose end is not known yet are still on their way.
    const auto ready = std::count_if(ranks.begin(), ranks.end(), [this](std::uint32_t rank) {
      return uses_.node_ends.is_known(rank);
    });
    if (const auto arrival = arrivals_.find(job.number); arrival != arrivals_.end())
      arrival->second.nodes = std::max(arrival->second.nodes, static_cast<std::uint32_t>(ready));
    for (const std::uint32_t rank : ranks) {
      if (!uses_.leaving_nodes.is_idle(rank)) continue;
      idle.insert(rank);
      const Time since = idle_since_.try_emplace(rank, now).first->second;
      if (provision == nullptr || now - since >= provision->how.idle) give_back(job, rank, now);
    }
  }
  std::erase_if(idle_since_, [&](const auto& one) { return !idle.contains(one.first); });
}

void Provisions::give_back(const msg::BatchJob& job, std::uint32_t rank, Time now) {
  uses_.leaving_nodes.send_away(rank, {fmt::format("batch job {} is given back", job.id), kTimeMax},
                                uses_.clock.wall(now), now);
}

void Provisions::end() {
  if (!std::exchange(is_over_, true)) take_back_queued();
}

// An answer that was cut off is missed only if something is left to cancel.
bool Provisions::is_cut_off() const {
  return cut_off_ && std::any_of(state_.batch_jobs.begin(), state_.batch_jobs.end(),
                                 [this](const auto& job) { return only_waits(job); });
}

// The supervisor starts another agent if the broker asks for one.
void Provisions::go_on_ending() {
  if (cut_off_ && uses_.agents.beside_broker().connected()) take_back_queued();
}

void Provisions::take_back_queued() {
  cut_off_ = false;
  std::vector<std::uint64_t> queued;
  std::set<std::string> unknown;  // systems that may have taken batch jobs without an answer
  for (const auto& job : state_.batch_jobs) {
    if (!only_waits(job)) continue;
    queued.push_back(job.number);
    // A cancel that hangs is not waited for: a second one does no harm.
    if (!job.id.empty()) in_hand_.erase(job.number);
    if (job.id.empty() && !in_hand_.contains(job.number)) unknown.insert(job.system);
  }
  take_back(queued);
  for (const auto& system : unknown) list(system);
}

}  // namespace holon::instance
