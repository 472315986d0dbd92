#include "world/seams/batch_system.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "world/machine.hpp"

namespace holon::world {
namespace {

BatchSystem::Answer error_of(const std::string& what) {
  return {1, "", what + "\n"};
}

// The rest of the word that begins with this; "": no word does.
std::string behind(const std::vector<std::string>& argv, const std::string& option) {
  for (const auto& word : argv)
    if (word.starts_with(option)) return word.substr(option.size());
  return "";
}

std::string clock_text(Micros left) {
  const auto seconds = std::max<Micros>(0, left) / kSecond;
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

}  // namespace

bool BatchSystem::has_program(const std::string& name) {
  return name == "sbatch" || name == "scancel" || name == "squeue";
}

Micros BatchSystem::next_takes() {
  constexpr Micros kNeverMind = 65 * kSecond;  // clients give up after a minute
  auto& dice = machine_.dice;
  if (is_calm_) return 20 * kMs;
  if (dice.one_in(25)) return kNeverMind;
  return dice.one_in(4) ? dice.between(500, 4'000) * kMs : dice.between(5, 300) * kMs;
}

BatchSystem::Answer BatchSystem::run(const std::vector<std::string>& argv) {
  if (refuses()) return error_of("Unable to contact slurm controller (connect failure)");
  if (argv.front() == "sbatch") return submit(argv);
  if (argv.front() == "scancel") return cancel(argv);
  const auto job = std::find(argv.begin(), argv.end(), "-j");
  return job == argv.end() ? list() : time_left(*std::next(job));
}

bool BatchSystem::refuses() {
  if (is_calm_) return false;
  return machine_.timeline.now() < down_until_ || machine_.dice.one_in(15);
}

BatchSystem::Answer BatchSystem::submit(const std::vector<std::string>& argv) {
  auto& dice = machine_.dice;
  std::ifstream script(argv.back());
  if (!script) return error_of("sbatch: error: Unable to open file " + argv.back());
  BatchJob job;
  job.id = std::to_string(++last_);
  job.name = behind(argv, "--job-name=");
  job.script.assign(std::istreambuf_iterator<char>(script), {});
  job.nodes = static_cast<std::uint32_t>(std::stoul(behind(argv, "--nodes=")));
  job.limit = std::stoll(behind(argv, "--time=")) * 60 * kSecond;
  machine_.history.note("batch job {} is submitted: {}", job.id, job.name);
  if (!names_.insert(job.name).second)
    machine_.history.violation("batch job {} is submitted a second time", job.name);
  const std::string id = job.id;
  jobs_[id] = std::move(job);
  const Micros waits =
      dice.one_in(3) ? dice.between(30, 150) * kSecond : dice.between(200, 8'000) * kMs;
  machine_.timeline.after(waits, [this, id] { try_to_begin(id); });
  return {0, id + "\n", ""};
}

BatchSystem::Answer BatchSystem::cancel(const std::vector<std::string>& argv) {
  if (machine_.planted(Plant::lost_cancel)) {
    machine_.history.note("PLANT: batch jobs are said to be taken back");
    return {};
  }
  Answer answer;
  for (auto id = std::next(argv.begin()); id != argv.end(); ++id) {
    BatchJob* const job = find(*id);
    if (job == nullptr && machine_.dice.one_in(2))
      answer = error_of("scancel: error: Kill job error on job id " + *id + ": Invalid job id");
    if (job != nullptr) end(*job, "is taken back");
  }
  return answer;
}

BatchSystem::Answer BatchSystem::list() {
  Answer answer;
  for (const auto& [id, job] : jobs_) {
    const bool is_queued = job.state == BatchJob::State::queued;
    if (is_queued && machine_.planted(Plant::empty_listing) && machine_.dice.one_in(2)) continue;
    const char* const state = is_queued ? "PD" : job.state == BatchJob::State::ending ? "CG" : "R";
    answer.output += fmt::format("{}|{}|{}\n", id, state, job.name);
  }
  return answer;
}

BatchSystem::Answer BatchSystem::time_left(const std::string& id) {
  const BatchJob* const job = find(id);
  if (job == nullptr || job->state != BatchJob::State::running)
    return error_of("slurm_load_jobs error: Invalid job id specified");
  const bool is_long = machine_.planted(Plant::long_walltime);
  const Micros left = is_long ? job->limit : job->end - machine_.timeline.now();
  return {0, clock_text(left) + "\n", "", [this, told = *job] { on_told(told); }};
}

BatchJob* BatchSystem::find(const std::string& id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool BatchSystem::uses(int host) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const auto& one) { return one.second.hosts.contains(host); });
}

void BatchSystem::try_to_begin(const std::string& id) {
  BatchJob* const job = find(id);
  if (job == nullptr || job->state != BatchJob::State::queued) return;
  std::set<int> hosts;
  for (int host = kFirstHost; host < kFirstHost + kHosts && hosts.size() < job->nodes; ++host)
    if (!uses(host) && machine_.hosts.is_up(host) && is_free(host)) hosts.insert(host);
  if (hosts.size() < job->nodes)
    return machine_.timeline.after(kSecond, [this, id] { try_to_begin(id); });
  machine_.history.note("batch job {} begins", id);
  job->state = BatchJob::State::running;
  job->end = machine_.timeline.now() + job->limit;
  job->hosts = hosts;
  machine_.timeline.at(job->end, [this, id] { end_when_due(id); });
  if (machine_.planted(Plant::long_walltime) || machine_.dice.one_in(2))
    machine_.timeline.after(machine_.dice.between(1, 8) * kSecond, [this, id] { shorten(id); });
  for (const int host : hosts)
    if (const BatchJob* const there = find(id)) on_begin(*there, host);
}

void BatchSystem::end_when_due(const std::string& id) {
  BatchJob* const job = find(id);
  if (job != nullptr && job->state == BatchJob::State::running &&
      job->end <= machine_.timeline.now())
    end(*job, "has had its time");
}

void BatchSystem::end(BatchJob& job, const std::string& why) {
  if (job.state == BatchJob::State::ending) return;
  machine_.history.note("batch job {} {}", job.id, why);
  if (job.state == BatchJob::State::queued) {
    jobs_.erase(job.id);
    return;
  }
  job.state = BatchJob::State::ending;
  for (const int host : std::set(job.hosts)) on_end(job, host);
}

void BatchSystem::ended_on(const std::string& id, int host) {
  BatchJob* const job = find(id);
  if (job == nullptr || job->hosts.erase(host) == 0 || !job->hosts.empty()) return;
  machine_.history.note("batch job {} is over", id);
  jobs_.erase(id);
}

void BatchSystem::be_down(Micros duration) {
  machine_.history.note("the batch system is down for {} ms", duration / kMs);
  down_until_ = machine_.timeline.now() + duration;
}

BatchJob* BatchSystem::some() {
  if (jobs_.empty()) return nullptr;
  return &std::next(jobs_.begin(),
                    machine_.dice.between(0, static_cast<std::int64_t>(jobs_.size()) - 1))
              ->second;
}

void BatchSystem::lose_one() {
  if (BatchJob* const job = some()) end(*job, "is ended by an operator");
}

void BatchSystem::shorten_one() {
  if (const BatchJob* const job = some()) shorten(job->id);
}

void BatchSystem::shorten(const std::string& id) {
  BatchJob* const job = find(id);
  if (job == nullptr || job->state != BatchJob::State::running) return;
  const Micros left = job->end - machine_.timeline.now();
  job->end = machine_.timeline.now() + std::min(left, machine_.dice.between(20, 45) * kSecond);
  machine_.history.note("batch job {} is to end in {} ms", id,
                        (job->end - machine_.timeline.now()) / kMs);
  machine_.timeline.at(job->end, [this, id] { end_when_due(id); });
}

void BatchSystem::calm() {
  is_calm_ = true;
  down_until_ = 0;
}

}  // namespace holon::world
