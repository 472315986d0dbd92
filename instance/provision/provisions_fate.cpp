// What became of batch jobs, as the batch system lists them, and how they are cancelled.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/provision/provisions.hpp"

namespace holon::instance {
namespace {

// A command runs for a minute at most; one from a broker that is gone is over, too.
constexpr Duration kUnknownFor = 90'000;

}  // namespace

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
  if (listings_ > 0 || now < next_list_ || state_.batch_jobs.empty()) return;
  next_list_ = now + settings_.interval;
  std::set<std::string> systems;
  for (const auto& job : state_.batch_jobs) systems.insert(job.system);
  for (const auto& system : systems) list(system);
}

void Provisions::list(const std::string& system) {
  ++listings_;
  run(batch::list_command(system_called(system), settings_.user),
      [this, system, asked = uses_.clock.now()](const Result<std::string>& answer) {
        --listings_;
        hear_listed(system, asked, answer);
      });
}

void Provisions::hear_listed(const std::string& system, Time asked,
                             const Result<std::string>& answer) {
  const auto listed = answer ? batch::read_listed(system_called(system), *answer)
                             : Listed(tl::unexpected(answer.error()));
  if (!listed) {
    if (is_over_ && listed.error().code == Errc::disconnected) cut_off_ = true;
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

// `asked`: when the list was requested; batch jobs submitted after that are not in it.
void Provisions::settle(msg::BatchJob& job, const batch::ListedJob* listed, Time asked) {
  if (listed != nullptr) {
    if (job.id.empty()) job.queued = uses_.clock.now();
    job.id = listed->id;
    const bool is_of_no_use = is_leaving(job) || (is_queued(job) && find(job.provision) == nullptr);
    if (is_of_no_use) return is_here(job) ? void() : take_back({job.number});
    job.state = listed->state == batch::ListedJob::State::running ? "running" : "queued";
    return;
  }
  const bool may_be_submitted = job.id.empty() && uses_.clock.now() - job.asked < kUnknownFor;
  if (may_be_submitted || (!job.id.empty() && job.queued >= asked)) return;
  over(job);
}

void Provisions::over(const msg::BatchJob& job) {
  const std::uint64_t whose = job.provision;
  const bool has_failed = !job.came && !is_leaving(job) && find(whose) != nullptr;
  const std::string why =
      job.id.empty() ? "a batch job that was asked for is not there"
                     : fmt::format("batch job {} ended before it had joined; {} has what it wrote",
                                   job.id, file(job.number, ".out"));
  forget(job.number);
  if (has_failed) failed(whose, why);
}

void Provisions::forget(std::uint64_t number) {
  arrivals_.erase(number);
  remove_files(number);
  std::erase_if(state_.batch_jobs, [number](const auto& one) { return one.number == number; });
  keep();
}

// ---- taking them back ----

// A batch job counts as leaving until the batch system has accepted its cancel, or does not list it
// any more: a broker that dies in between is followed by one that asks again. For a batch job that
// is being submitted the id comes with the answer, or with a listing.
void Provisions::take_back(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::uint64_t> known;
  for (const std::uint64_t number : numbers) {
    msg::BatchJob* const job = batch_job(number);
    if (job == nullptr) continue;
    job->state = kLeaves;
    if (!job->id.empty()) known.push_back(number);
  }
  keep();
  cancel_after_commit(known);
}

void Provisions::cancel_after_commit(const std::vector<std::uint64_t>& numbers) {
  std::map<std::string, std::vector<std::uint64_t>> leaving;  // by system
  for (const std::uint64_t number : numbers)
    if (in_hand_.insert(number).second) leaving[batch_job(number)->system].push_back(number);
  for (auto& [system, of_it] : leaving) {
    auto cancel_them = [this, system = system, of_it = std::move(of_it)] { cancel(system, of_it); };
    uses_.after_commit.add(std::move(cancel_them));
  }
}

void Provisions::cancel(const std::string& system, const std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> ids;
  for (const std::uint64_t number : numbers)
    if (const msg::BatchJob* const job = batch_job(number); job != nullptr && is_leaving(*job))
      ids.push_back(job->id);
  if (ids.empty()) return hear_cancelled(numbers, "");
  run(batch::cancel_command(system_called(system), ids),
      [this, numbers](const Result<std::string>& answer) { hear_cancelled(numbers, answer); });
}

// Batch jobs whose cancel was refused are cancelled again when a listing shows them.
void Provisions::hear_cancelled(const std::vector<std::uint64_t>& numbers,
                                const Result<std::string>& answer) {
  if (!answer) spdlog::warn("batch jobs cannot be taken back: " + to_string(answer.error()));
  if (is_over_ && !answer && answer.error().code == Errc::disconnected) cut_off_ = true;
  for (const std::uint64_t number : numbers) {
    in_hand_.erase(number);
    const msg::BatchJob* const job = batch_job(number);
    if (answer && job != nullptr && is_leaving(*job)) forget(number);
  }
}

// Cancels batch jobs, the last first, that have waited in the batch system's queue for longer than
// nodes may be idle and would have nothing to do.
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
  if (!numbers.empty()) take_back(numbers);
}

}  // namespace holon::instance
