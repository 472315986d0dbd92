#include "policy/rehearsal.hpp"

#include <fmt/format.h>

#include "qmanager/job.hpp"
#include "qmanager/policy/hooks.hpp"

namespace holon::policy {

namespace {

using qmanager::Hook;

constexpr std::int64_t kSecond = 1000;  // ticks
constexpr Time kNow = 1'700'000'000 * kSecond;
constexpr Duration kWaited = 60 * kSecond, kLimit = 600 * kSecond;
constexpr std::int64_t kCores = 4, kMachine = 64;

class MadeUpQueue final : public qmanager::QueueView {
 public:
  const std::string& name() const override { return name_; }
  Time now() const override { return kNow; }
  Time wall_time(Time when) const override { return when; }
  std::int64_t second_of_day() const override { return 12 * 3600; }
  std::int64_t ticks_per_second() const override { return kSecond; }
  std::int64_t procs() const override { return kMachine; }
  std::int64_t free_procs() const override { return 0; }
  std::int64_t pending() const override { return 1; }
  std::int64_t reserved() const override { return 0; }
  qmanager::UserUse user(const std::string&) const override { return {1, kMachine, 3600}; }
  qmanager::Window window() const override { return {}; }
  Time grant_ends() const override { return kTimeMax; }

 private:
  std::string name_ = "default";
};

class MadeUpPlace final : public qmanager::PlaceView {
 public:
  const std::string& name() const override { return name_; }
  const std::string& within() const override { return within_; }
  std::int64_t procs() const override { return kMachine; }
  std::int64_t free_procs() const override { return kCores; }
  std::int64_t running(const std::string&, const std::string&) const override { return 0; }
  std::int64_t near(const std::string&, const std::string&) const override { return 0; }

 private:
  std::string name_ = "node0", within_ = "/cluster0";
};

qmanager::Job made_up_job() {
  qmanager::JobRequest request;
  request.id = JobId{1};
  request.user = "ann";
  request.group = "users";
  request.queue = "default";
  request.submitted = kNow - kWaited;
  request.limit = kLimit;
  request.procs = kCores;
  qmanager::Job job(0, std::move(request));
  job.procs = kCores;
  return job;
}

std::string with_reason(std::string answer, const std::string& reason) {
  return reason.empty() ? answer : answer + ", " + reason;
}

std::string number_text(std::optional<double> number) {
  return number ? fmt::format("{}", *number) : "nothing; the base decides";
}

// The answer of one function, in words.
std::string ask_once(qmanager::PolicyHooks& hooks, std::string_view name,
                     const qmanager::JobView& job) {
  const MadeUpQueue queue;
  if (name == "priority") {
    const auto rank = hooks.rank(job, queue);
    return with_reason(number_text(rank.priority), rank.reason);
  }
  if (name == "score") return number_text(hooks.score(job, MadeUpPlace(), queue));
  if (name == "on_event") {
    hooks.on_event("submit", job, queue);
    return "told of a submission";
  }
  const Hook hook = name == "admit"         ? Hook::admit
                    : name == "may_reserve" ? Hook::may_reserve
                                            : Hook::may_backfill;
  const auto opinion = hooks.ask(hook, job, queue);
  return with_reason(opinion.yes ? (*opinion.yes ? "true" : "false") : "nothing; the base decides",
                     opinion.reason);
}

}  // namespace

std::vector<Rehearsed> rehearse(const qmanager::PolicyProgram& program,
                                const Description& description) {
  std::vector<Rehearsed> all;
  const auto job = made_up_job();
  const qmanager::JobView view{job, kLimit, kNow, kSecond};
  for (const auto& function : description.functions) {
    Rehearsed one{function.name, function.line, {}, {}};
    // Each function has hooks of its own, so that none is given up for what another one did.
    const auto hooks = program.hooks();
    if (hooks == nullptr) {
      one.trouble = "it needs more memory than a policy has";
    } else {
      hooks->begin_pass(kNow, 1);
      one.answer = ask_once(*hooks, function.name, view);
      one.trouble = hooks->status().trouble;
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace holon::policy
