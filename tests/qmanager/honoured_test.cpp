// An advance reservation that was granted is honoured whatever happens: random jobs on a graph that
// end early or run over their limits, nodes that go down and come back, reservations and jobs that
// are cancelled. What really uses each core is tallied here, beside the scheduler.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "qmanager/scheduler.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AdvanceRequest;
using qmanager::Scheduler;

using Cores = std::set<std::int64_t>;  // uniq_ids

constexpr int kHonouredNodes = 3;
constexpr int kCoresEach = 3;

std::shared_ptr<const resource::Jobspec> cores_of(int count, bool whole_nodes) {
  resource::JobShape shape;
  shape.tasks = count;
  if (whole_nodes) {
    shape.nodes = shape.tasks = (count + kCoresEach - 1) / kCoresEach;
    shape.cores_per_task = kCoresEach;
    shape.exclusive = true;
  }
  shape.command = {"true"};
  return std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
}

class HonouredWorld {
 public:
  HonouredWorld(unsigned seed, const std::string& policy_name, bool drains)
      : random_(seed),
        questions_(seed),
        drains_(drains),
        store_(*resource::ResourceStore::load(
            *resource::read_shape("node=" + std::to_string(kHonouredNodes) +
                                  "/core=" + std::to_string(kCoresEach)),
            {})),
        scheduler_(*Scheduler::create(config(policy_name, seed), store_)) {}

  void play() {
    for (; now_ < 120; ++now_) {
      end_jobs();
      if (drains_ && chance(12)) toggle_a_node();
      wonder();
      if (now_ < 80) ask();
      if (chance(25) && !advances_.empty()) cancel_an_advance();
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    // Whoever still runs is ended, so that everything else can.
    for (int node = 0; node < kHonouredNodes; ++node) set_node(node, true);
    for (; scheduler_.running() + scheduler_.pending() > 0 && now_ < 1000; ++now_) {
      end_jobs();
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(scheduler_.running() + scheduler_.pending(), 0u);
    EXPECT_TRUE(users_.empty());
  }

  int granted = 0, honoured = 0, intrusions = 0, beside = 0;

 private:
  struct Running {
    Cores cores;
    Time started = 0;
    Time ends = 0;  // really
    JobId advance;
  };
  struct Waiting {
    Duration limit = 0;
    Duration run = 0;
    JobId advance;
    bool all_of_it = false;  // needs every core of its reservation
  };
  struct Advance {
    Interval when;
    Cores cores;
    bool cancelled = false;
  };

  static qmanager::SchedulerConfig config(const std::string& name, unsigned seed) {
    qmanager::SchedulerConfig config = policy(name);
    config.defaults.reservation_retry = seed % 3 * 4;
    return config;
  }
  bool chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  int up_to(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  Cores cores_in(const resource::Allocation& allocation) const {
    Cores cores;
    const auto& graph = store_.graph();
    const auto core = graph.words().types.find("core");
    for (const auto& share : allocation.shares) {
      const auto v = graph.find_uniq(share.uniq_id);
      if (v && graph[*v].type == *core && share.amount > 0) cores.insert(share.uniq_id);
    }
    return cores;
  }

  void end_jobs() {
    std::vector<JobId> over;
    for (const auto& [id, job] : running_)
      if (job.ends <= now_) over.push_back(id);
    for (const JobId id : over) {
      ASSERT_TRUE(scheduler_.finish(id, now_));
      for (const std::int64_t core : running_.at(id).cores) users_.erase(core);
      running_.erase(id);
    }
  }

  void submit(int count, bool whole_nodes, Waiting job) {
    qmanager::JobRequest request;
    request.id = JobId{++last_id_};
    request.user = "ann";
    request.limit = job.limit;
    request.submitted = now_;
    request.advance = job.advance;
    request.spec = cores_of(count, whole_nodes);
    const auto refused = scheduler_.submit(request, now_);
    ASSERT_TRUE(refused) << to_string(refused.error());
    if (!*refused) waiting_.emplace(request.id, job);
  }

  void ask() {
    if (chance(2)) {
      const Duration limit = 1 + up_to(9);
      const Duration run = chance(4) ? limit + 1 + up_to(8) : 1 + up_to(static_cast<int>(limit));
      submit(1 + up_to(kHonouredNodes * kCoresEach - 2), chance(3), {limit, run, {}, false});
    }
    if (chance(7)) reserve();
    if (chance(4) && !waiting_.empty()) {
      const auto at = std::next(waiting_.begin(), up_to(static_cast<int>(waiting_.size())));
      if (at->second.all_of_it || up_to(3) != 0) return;
      ASSERT_TRUE(scheduler_.cancel(at->first, now_));
      waiting_.erase(at);
    }
  }

  void reserve() {
    AdvanceRequest request;
    const JobId id{++last_id_};
    request.resources.id = id;
    request.resources.user = "ann";
    request.resources.spec = cores_of(1 + up_to(5), chance(3));
    const Time begin = now_ + up_to(12);
    request.when = {begin, begin + 2 + up_to(10)};
    const auto made = scheduler_.reserve_ahead(request, now_);
    ASSERT_TRUE(made) << to_string(made.error());
    happen(made->decisions);
    if (made->refused) return;
    ++granted;
    Advance advance{request.when, {}, false};
    for (const auto& status : scheduler_.advances())
      if (status.request.resources.id == id) advance.cores = cores_in(status.allocation);
    ASSERT_FALSE(advance.cores.empty());
    advances_.emplace(id, advance);
    const int all = static_cast<int>(advance.cores.size());
    submit(all, false, {request.when.length(), request.when.length(), id, true});
    if (chance(2)) submit(1, false, {1, 1 + up_to(4), id, false});
  }

  // Questions between what happened and the pass that sees it change nothing for anybody.
  void wonder() {
    switch (questions_() % 8) {
      case 0:
        scheduler_.plan(now_);
        break;
      case 1:
        scheduler_.windows(now_);
        break;
      case 2:
        if (!waiting_.empty()) static_cast<void>(scheduler_.explain(waiting_.begin()->first, now_));
        break;
      default:
        return;
    }
    scheduler_.check_invariants();
  }

  void cancel_an_advance() {
    const auto at = std::next(advances_.begin(), up_to(static_cast<int>(advances_.size())));
    if (at->second.cancelled || now_ >= at->second.when.end) return;
    if (scheduler_.cancel_advance(at->first, now_)) at->second.cancelled = true;
  }

  void set_node(int node, bool up) {
    ASSERT_TRUE(store_.set_status("/cluster0/node" + std::to_string(node), up));
    down_[node] = !up;
    scheduler_.resources_changed();
  }
  void toggle_a_node() {
    const int node = up_to(kHonouredNodes);
    set_node(node, down_[node]);
  }

  void step() {
    const auto step = scheduler_.step(now_);
    scheduler_.check_invariants();
    store_.check_invariants();
    ASSERT_FALSE(step.more);
    happen(step.decisions);
    expect_honoured();
  }

  void happen(const std::vector<qmanager::Decision>& decisions) {
    for (const auto& decision : decisions) {
      if (const auto* start = std::get_if<qmanager::Start>(&decision)) started(*start);
      if (const auto* reject = std::get_if<qmanager::Reject>(&decision))
        waiting_.erase(reject->job);
    }
  }

  void started(const qmanager::Start& start) {
    const Waiting job = waiting_.at(start.job);
    waiting_.erase(start.job);
    const Cores cores = cores_in(start.allocation);
    for (const std::int64_t core : cores) {
      EXPECT_FALSE(users_.contains(core))
          << "at " << now_ << " job " << start.job.value() << " gets core " << core << " of job "
          << users_[core].value();
      EXPECT_TRUE(is_up(core)) << "at " << now_ << " job " << start.job.value();
      users_[core] = start.job;
    }
    expect_apart(start.job, job, cores);
    if (!intruded_.empty() && job.advance.value() == 0) ++beside;
    running_.emplace(start.job, Running{cores, now_, now_ + job.run, job.advance});
  }

  // Within its reservation, or on nothing that is reserved for one before its limit would end.
  void expect_apart(JobId id, const Waiting& job, const Cores& cores) {
    for (const auto& [number, advance] : advances_) {
      const bool inside = number == job.advance;
      const Interval limit{now_, now_ + job.limit};
      const bool meet = limit.begin < advance.when.end && advance.when.begin < limit.end;
      if (!inside && (advance.cancelled || !meet)) continue;
      if (inside) {
        EXPECT_TRUE(advance.when.contains(now_)) << "job " << id.value() << " at " << now_;
      }
      for (const std::int64_t core : cores)
        EXPECT_EQ(advance.cores.contains(core), inside)
            << "at " << now_ << " job " << id.value() << ", reservation " << number.value();
    }
  }

  bool is_up(std::int64_t core) const {
    const auto& graph = store_.graph();
    for (auto v = *graph.find_uniq(core); v != resource::kNoVertex; v = graph.parent(v))
      if (!graph[v].schedulable()) return false;
    return true;
  }

  // The job that needs all of a reservation starts as soon as all of it is there and free.
  void expect_honoured() {
    intruded_.clear();
    for (const auto& [number, advance] : advances_) {
      if (!advance.when.contains(now_) || advance.cancelled) continue;
      bool free = true;
      for (const std::int64_t core : advance.cores) {
        const auto user = users_.find(core);
        free = free && user == users_.end() && is_up(core);
        if (user != users_.end() && running_.at(user->second).advance != number) {
          EXPECT_LT(running_.at(user->second).started, advance.when.begin);
          intruded_.insert(number);
          ++intrusions;
        }
      }
      for (const auto& [id, job] : waiting_) {
        if (!job.all_of_it || job.advance != number || !free) continue;
        EXPECT_GT(now_ + job.limit, advance.when.end)
            << "at " << now_ << " all of reservation " << number.value() << " is free, and job "
            << id.value() << " waits: " << scheduler_.outlook(id)->reason;
      }
      for (const auto& [id, job] : running_)
        if (job.advance == number && job.started == now_ && now_ == advance.when.begin) ++honoured;
    }
  }

  std::mt19937 random_;
  std::mt19937 questions_;
  bool drains_;
  resource::ResourceStore store_;
  Scheduler scheduler_;
  Time now_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<JobId, Running> running_;
  std::map<JobId, Waiting> waiting_;
  std::map<JobId, Advance> advances_;
  std::map<std::int64_t, JobId> users_;  // of cores
  std::set<JobId> intruded_;             // reservations that somebody else is on
  std::map<int, bool> down_;
};

TEST(Honoured, WhateverHappens) {
  const char* const policies[] = {"fcfs", "easy", "conservative", "hybrid:3",
                                  "conservative-rebuild"};
  int granted = 0, honoured = 0, intrusions = 0, beside = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HonouredWorld world(seed, policies[seed % 5], seed % 3 == 0);
    world.play();
    if (HasFailure()) return;
    granted += world.granted;
    honoured += world.honoured;
    intrusions += world.intrusions;
    beside += world.beside;
  }
  EXPECT_GT(granted, 2000);
  EXPECT_GT(honoured, 1500);
  EXPECT_GT(intrusions, 2000);
  EXPECT_GT(beside, 200) << "jobs of others that start while somebody intrudes";
}

}  // namespace
}  // namespace holon::tests
