#include "tests/qmanager/properties/history.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/layer.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "tests/qmanager/scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::BackfillOrder;
using qmanager::Scheduler;
using qmanager::SchedulerConfig;

constexpr int kNodes = 3;
constexpr int kCores = 4;  // of each

void weigh(SchedulerConfig& c, const char* key, const char* value) {
  ASSERT_TRUE(c.priority.set(key, value));
  c.priority.interval = 7;
  c.priority.ticks_per_second = 1;
}

const Setting kSettings[] = {
    {"fcfs", [](SchedulerConfig& c) { c.defaults.policy = "fcfs"; }},
    {"easy", [](SchedulerConfig& c) { c.defaults.policy = "easy"; }},
    {"hybrid", [](SchedulerConfig& c) { c.defaults.policy = "hybrid:3"; }},
    {"conservative", [](SchedulerConfig& c) { c.defaults.policy = "conservative"; }},
    {"conservative-rebuild",
     [](SchedulerConfig& c) { c.defaults.policy = "conservative-rebuild"; }},
    {"two kept reservations",
     [](SchedulerConfig& c) {
       c.defaults.policy = "hybrid:2";
       c.defaults.reservation_policy = qmanager::ReservationPolicy::highest;
     }},
    {"kept reservations for some",
     [](SchedulerConfig& c) {
       c.qos["lo"].no_reservation = true;
       c.defaults.policy = "conservative:3";
     }},
    {"a short queue depth", [](SchedulerConfig& c) { c.defaults.queue_depth = 3; }},
    {"firstfit", [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::first_fit; }},
    {"bestfit", [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::best_fit; }},
    {"greedy, a short queue depth",
     [](SchedulerConfig& c) {
       c.defaults.backfill = BackfillOrder::greedy;
       c.defaults.queue_depth = 4;
     }},
    {"waiting earns priority", [](SchedulerConfig& c) { weigh(c, "queuetime-weight", "60"); }},
    {"expansion factors, an idle limit",
     [](SchedulerConfig& c) {
       weigh(c, "xfactor-weight", "100");
       limit(c, "user", "default", "max-ijob", "1");
     }},
    {"waiting, an idle limit, in queue order",
     [](SchedulerConfig& c) {
       weigh(c, "queuetime-weight", "60");
       limit(c, "user", "default", "max-ijob", "1");
       c.defaults.backfill = BackfillOrder::queue_order;
     }},
    {"waiting counts under limits only",
     [](SchedulerConfig& c) {
       weigh(c, "queuetime-weight", "60");
       c.priority.accrual = qmanager::Accrual::full_policy;
       limit(c, "user", "ann", "max-job", "1,2");
     }},
    {"how often a job was passed",
     [](SchedulerConfig& c) {
       weigh(c, "bypass-weight", "10");
       c.defaults.policy = "hybrid:2";
     }},
    {"a threshold of being passed",
     [](SchedulerConfig& c) {
       c.defaults.policy = "hybrid:2";
       c.defaults.threshold = {qmanager::ReservationThreshold::Type::bypass, 1};
     }},
    {"soft limits, bestfit",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-proc", "3,8");
       limit(c, "user", "bob", "max-ps", "40");
       c.defaults.backfill = BackfillOrder::best_fit;
     }},
    {"chunks",
     [](SchedulerConfig& c) {
       c.defaults.chunk_size = 4;
       c.defaults.chunk_duration = 5;
     }},
    {"Grid Engine's reservations",
     [](SchedulerConfig& c) {
       c.defaults.max_reservation = 2;
       c.defaults.duration_offset = 2;
       c.defaults.default_duration = 15;
     }},
    {"licences", [](SchedulerConfig& c) { c.pools["l"] = 4; }},
    {"two licences, a short queue depth",
     [](SchedulerConfig& c) {
       c.pools = {{"l", 4}, {"m", 5}};
       c.defaults.policy = "hybrid:2";
       c.defaults.queue_depth = 2;
     }},
    {"two licences, a short queue depth, conservative",
     [](SchedulerConfig& c) {
       c.pools = {{"l", 4}, {"m", 5}};
       c.defaults.policy = "conservative:4";
       c.defaults.queue_depth = 3;
     }},
    {"two licences, a short queue depth, bestfit",
     [](SchedulerConfig& c) {
       c.pools = {{"l", 4}, {"m", 5}};
       c.defaults.backfill = BackfillOrder::best_fit;
       c.defaults.queue_depth = 2;
     }},
    {"two licences, a short queue depth, two queues in one order",
     [](SchedulerConfig& c) {
       c.pools = {{"l", 4}, {"m", 5}};
       c.defaults.queue_depth = 2;
       c.queues["default"] = c.queues["other"] = c.defaults;
       c.queues["other"].policy = "conservative";
       c.max_reservation = 3;
     }},
    {"two queues",
     [](SchedulerConfig& c) {
       c.queues["default"] = c.queues["other"] = c.defaults;
       c.queues["other"].policy = "conservative";
     }},
    {"hybrid beside conservative",
     [](SchedulerConfig& c) {
       c.defaults.policy = "hybrid:3";
       c.queues["default"] = c.queues["other"] = c.defaults;
       c.queues["other"].policy = "conservative";
     }},
    {"two conservative queues",
     [](SchedulerConfig& c) {
       c.defaults.policy = "conservative";
       c.queues["default"] = c.queues["other"] = c.defaults;
     }},
    {"kept reservations and others in one order",
     [](SchedulerConfig& c) {
       c.queues["default"] = c.queues["other"] = c.defaults;
       c.queues["other"].policy = "conservative";
       c.max_reservation = 4;
     }},
    {"two queues in one order",
     [](SchedulerConfig& c) {
       c.queues["default"] = c.queues["other"] = c.defaults;
       c.queues["other"].policy = "hybrid:2";
       c.max_reservation = 2;
     }},
    {"fairshare",
     [](SchedulerConfig& c) {
       weigh(c, "fsuser-weight", "100");
       ASSERT_TRUE(c.priority.set("user.ann.fstarget", "30"));
       c.priority.fairshare.interval = 20;
       c.defaults.policy = "hybrid:2";
     }},
    {"QOS",
     [](SchedulerConfig& c) {
       c.qos["hi"].reserve_always = true;
       c.qos["lo"].no_backfill = true;
       limit(c, "qos", "hi", "max-job", "2");
     }},
    {"buckets of QOS, conservative",
     [](SchedulerConfig& c) {
       c.qos["hi"].next_to_run = true;
       c.qos["lo"].no_reservation = true;
       c.defaults.buckets[0] = {.depth = 1, .qos = {"hi"}};
       c.defaults.buckets[1] = {.depth = 2, .qos = {}};
       c.defaults.policy = "conservative";
     }},
    {"ranges of slots, limits",
     [](SchedulerConfig& c) { limit(c, "user", "ann", "max-proc", "6"); }},
    {"parallel environments, slots and consumables of each host",
     [](SchedulerConfig& c) {
       using Kind = qmanager::AllocationRule::Kind;
       c.environments["fill"] = {.slots = 9, .rule = {Kind::fill_up, 0}};
       c.environments["rr"] = {.slots = 6, .rule = {Kind::round_robin, 0}};
       c.defaults.pools["l"] = 3;
       c.defaults.slots = 3;
       c.defaults.policy = "hybrid:3";
     }},
    {"advance reservations", [](SchedulerConfig&) {}, true},
    {"advance reservations, conservative",
     [](SchedulerConfig& c) { c.defaults.policy = "conservative"; }, true},
    {"advance reservations, a short queue depth, licences",
     [](SchedulerConfig& c) {
       c.defaults.policy = "hybrid:3";
       c.defaults.queue_depth = 4;
       c.pools["l"] = 4;
     },
     true},
};

class Nothing : public qmanager::Layer {
 public:
  using Layer::Layer;
  std::unique_ptr<Machine> clone() const override { return std::make_unique<Nothing>(*this); }
};

class World {
 public:
  World(unsigned seed, const SchedulerConfig& config, const Setting& setting, Over over,
        Manner manner)
      : setting_(setting),
        over_(over),
        random_(seed),
        questions_(seed),
        manner_(manner),
        config_(config) {
    store_.emplace(*resource::ResourceStore::load(
        *resource::read_shape(fmt::format("node={}/core={}", kNodes, kCores)),
        {.match_policy = manner.match_policy}));
    scheduler_.emplace(*Scheduler::create(config, machine()));
    make_jobs();
  }

  Decided play() {
    for (now_ = 0; now_ < 150 || scheduler_->running() > 0; ++now_) {
      const bool due = wake_ && *wake_ <= now_;
      const bool happens = events();
      if (due || happens || manner_.every_tick) pass();
      if (manner_.asks && questions_() % 3 == 0) ask();
    }
    std::string starts;
    for (const auto& [when, job, line] : starts_) starts += line;
    return {std::move(log_), std::move(starts)};
  }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  std::unique_ptr<qmanager::Machine> machine() {
    std::unique_ptr<qmanager::Machine> made;
    if (over_ == Over::graph)
      made = std::make_unique<qmanager::StoreMachine>(*store_);
    else
      made = std::make_unique<qmanager::FlatMachine>(kNodes * kCores);
    if (manner_.layered) made = std::make_unique<Nothing>(std::move(made));
    return made;
  }

  void make_jobs() {
    jobs_ = random_jobs(static_cast<unsigned>(random_()), 30, kNodes * kCores);
    for (ScenarioJob& job : jobs_) {
      job.request.user = chance(2) ? "ann" : "bob";
      if (chance(6)) job.request.limit = 0;
      if (config_.defaults.max_reservation) job.request.reserve = chance(2);
      if (!config_.pools.empty() && chance(2)) job.request.consumes = {{"l", 3, false}};
      if (config_.pools.contains("m")) ask_for_two(job.request);
      if (config_.queues.contains("other") && chance(2)) job.request.queue = "other";
      job.request.immediate = chance(15);
      if (!config_.qos.empty()) job.request.qos = chance(2) ? "hi" : chance(2) ? "lo" : "";
      const bool ranges = setting_.name == std::string("ranges of slots, limits");
      if (ranges && chance(2))
        job.request.slots =
            resource::Count{.min = job.trace.procs, .max = kNodes * kCores, .values = {}};
      if (!config_.environments.empty() && chance(2)) {
        job.request.environment = chance(2) ? "fill" : "*";
        if (chance(2)) job.request.consumes = {{"l", 1, chance(2)}};
      }
      const bool whole_nodes = chance(4) && job.request.environment.empty() && !job.request.slots;
      if (over_ == Over::graph) job.request.spec = spec_of(job.trace.procs, whole_nodes);
    }
    come_by_themselves_ = jobs_.size();
  }

  void ask_for_two(qmanager::JobRequest& request) {
    for (auto& use : request.consumes)
      use.amount = 1 + static_cast<resource::Amount>(random_() % 4);
    if (chance(3))
      request.consumes.push_back({"m", 1 + static_cast<resource::Amount>(random_() % 5), false});
  }

  static std::shared_ptr<const resource::Jobspec> spec_of(std::int64_t cores, bool whole_nodes) {
    resource::JobShape shape;
    shape.tasks = cores;
    if (whole_nodes) {
      shape.nodes = shape.tasks = (cores + kCores - 1) / kCores;
      shape.cores_per_task = kCores;
      shape.exclusive = true;
    }
    shape.command = {"true"};
    return std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  }

  // One after the other, in the same turn.
  bool events() {
    bool any = false;
    for (; next_ < come_by_themselves_ && jobs_[next_].trace.submit <= now_; ++next_) {
      wonder();
      const auto refused = scheduler_->submit(jobs_[next_].request, now_);
      EXPECT_TRUE(refused) << to_string(refused.error());
      if (!*refused) waiting_.insert(jobs_[next_].request.id);
      any = true;
    }
    for (auto at = ends_.begin(); at != ends_.end() && at->first <= now_; at = ends_.erase(at)) {
      wonder();
      EXPECT_TRUE(scheduler_->finish(at->second, now_));
      any = true;
    }
    // What is cancelled, or urgent, does not depend on who starts.
    if (now_ < 100 && chance(20)) {
      const JobId id{random_() % jobs_.size() + 1};
      const bool cancels = chance(2);
      wonder();
      if (waiting_.contains(id)) {
        any = true;
        EXPECT_TRUE(cancels ? scheduler_->cancel(id, now_) : scheduler_->set_urgency(id, 20));
        if (cancels) waiting_.erase(id);
      }
    }
    wonder();
    if (!ends_.empty() && chance(30)) {
      const auto job = std::next(ends_.begin(), static_cast<int>(random_() % ends_.size()));
      static_cast<void>(
          scheduler_->set_end(job->second, now_ + static_cast<Time>(random_() % 20), now_));
      wonder();
      any = true;
    }
    if (setting_.reserves_ahead && now_ < 100) any = reservations() || any;
    if (now_ < 100 && chance(40)) {
      open_ = !open_;
      EXPECT_TRUE(scheduler_->start_queue("default", open_));
      any = true;
    }
    if (now_ == 100) {
      EXPECT_TRUE(scheduler_->start_queue("default", true));
      any = true;
    }
    wonder();
    if (over_ == Over::graph && chance(25)) {
      down_ = !down_;
      EXPECT_TRUE(store_->set_status("/cluster0/node1", !down_));
      scheduler_->resources_changed();
      wonder();
      any = true;
    }
    return any;
  }

  bool reservations() {
    if (chance(60)) {
      const auto advances = scheduler_->advances();
      if (!advances.empty())
        static_cast<void>(scheduler_->cancel_advance(advances[0].request.resources.id, now_));
      return true;
    }
    if (!chance(8)) return false;
    qmanager::AdvanceRequest request = reservation(1 + random_() % 6, now_ + random_() % 12);
    const JobId id = request.resources.id = JobId{1000 + ++last_reservation_};
    request.when.end += random_() % 15;
    const auto made = scheduler_->reserve_ahead(request, now_);
    EXPECT_TRUE(made) << to_string(made.error());
    record(made->decisions);
    log_ += fmt::format("{} reservation {}\n", now_, made->refused ? made->refused->reason : "");
    wonder();
    for (int n = 0; n < 3; ++n) {
      ScenarioJob job = jobs_[random_() % jobs_.size()];
      job.trace.id = jobs_.size() + 1;
      job.request.id = JobId{jobs_.size() + 1};
      job.request.advance = id;
      job.request.user = "ann";
      job.trace.submit = now_;
      const auto refused = scheduler_->submit(job.request, now_);
      EXPECT_TRUE(refused) << to_string(refused.error());
      if (!*refused) waiting_.insert(job.request.id);
      jobs_.push_back(job);
    }
    return true;
  }

  qmanager::AdvanceRequest reservation(std::int64_t cores, Time begin) const {
    qmanager::AdvanceRequest request;
    request.resources.user = "ann";
    request.resources.procs = cores;
    if (over_ == Over::graph) request.resources.spec = spec_of(cores, false);
    request.when = {begin, begin + 1};
    return request;
  }

  // There is no room for it, so that to ask is all there is to it.
  void ask_for_all_of_it() {
    if (scheduler_->running() == 0) return;
    qmanager::AdvanceRequest request = reservation(kNodes * kCores, now_);
    request.resources.id = JobId{9999};
    const auto made = scheduler_->reserve_ahead(request, now_);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_TRUE(made->refused);
  }

  void wonder() {
    if (manner_.asks && questions_() % 2 == 0) ask();
  }

  void ask() {
    const JobId job{questions_() % jobs_.size() + 1};
    switch (questions_() % 7) {
      case 0:
        scheduler_->plan(now_);
        break;
      case 1:
        scheduler_->windows(now_);
        scheduler_->closed_queues(now_);
        break;
      case 2:
        ask_for_all_of_it();
        break;
      case 3:
        static_cast<void>(scheduler_->outlook(job));
        break;
      case 4:
        static_cast<void>(scheduler_->queues());
        static_cast<void>(scheduler_->advances());
        static_cast<void>(scheduler_->priority(job, now_));
        break;
      default:
        static_cast<void>(scheduler_->explain(job, now_));
    }
    scheduler_->check_invariants();
  }

  void pass() {
    qmanager::StepResult step;
    do {
      step = scheduler_->step(now_);
      record(step.decisions);
      scheduler_->check_invariants();
      wonder();
    } while (step.more);
    wake_ = step.wake;
    log_ += fmt::format("{} wakes at {}{}\n", now_, wake_.value_or(-1),
                        step.only_ages ? ", to age" : "");
  }

  void record(const std::vector<qmanager::Decision>& decisions) {
    for (const qmanager::Decision& decision : decisions) record(decision);
  }

  void record(const qmanager::Decision& decision) {
    if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) waiting_.erase(reject->job);
    if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) {
      const std::string line =
          fmt::format("{} {} refused: {}\n", now_, reject->job.value(), reject->reason);
      log_ += line;
      starts_.emplace(now_, reject->job.value(), line);
    }
    if (const auto* wait = std::get_if<qmanager::Wait>(&decision))
      log_ += fmt::format("{} {} waits: {}\n", now_, wait->job.value(), wait->reason);
    if (const auto* reserve = std::get_if<qmanager::Reserve>(&decision))
      log_ += fmt::format("{} {} is planned for {}\n", now_, reserve->job.value(), reserve->when);
    const auto* start = std::get_if<qmanager::Start>(&decision);
    if (start == nullptr) return;
    waiting_.erase(start->job);
    const ScenarioJob& job = jobs_[start->job.value() - 1];
    // Some run over their limits.
    const bool late = job.request.limit > 0 && job.trace.id % 7 == 0;
    ends_.emplace(now_ + (late ? job.request.limit + 3 : job.trace.run), start->job);
    std::string where;
    for (const resource::Share& share : start->allocation.shares)
      where += fmt::format(" {}x{}", share.amount, share.uniq_id);
    log_ += fmt::format("{} {} starts, {}:{}\n", now_, start->job.value(),
                        static_cast<int>(start->selection), where);
    starts_.emplace(now_, start->job.value(),
                    fmt::format("{} {} starts\n", now_, start->job.value()));
  }

  const Setting& setting_;
  Over over_;
  std::mt19937 random_;
  std::mt19937 questions_;
  Manner manner_;
  SchedulerConfig config_;
  std::vector<ScenarioJob> jobs_;
  std::optional<resource::ResourceStore> store_;
  std::optional<Scheduler> scheduler_;
  std::size_t next_ = 0;
  std::size_t come_by_themselves_ = 0;  // the others come with an advance reservation
  std::uint64_t last_reservation_ = 0;
  bool down_ = false;
  bool open_ = true;
  std::multimap<Time, JobId> ends_;
  std::set<JobId> waiting_;
  std::optional<Time> wake_;
  Time now_ = 0;
  std::string log_;
  std::set<std::tuple<Time, std::uint64_t, std::string>> starts_;
};

}  // namespace

std::span<const Setting> all_settings() {
  return kSettings;
}

unsigned histories(unsigned in_suite) {
  const char* const said = std::getenv("HOLON_HISTORIES");
  return said == nullptr ? in_suite : static_cast<unsigned>(std::strtoul(said, nullptr, 10));
}

std::string to_string(Over over) {
  return over == Over::numbers ? "numbers" : "a graph";
}

Decided play(unsigned seed, const Setting& setting, Over over, Manner manner) {
  SchedulerConfig config = policy("easy");
  setting.set(config);
  config.shortcuts = manner.shortcuts;
  return World(seed, config, setting, over, manner).play();
}

}  // namespace holon::tests
