// Throttling limits of every kind, as drawings, and against sums made the long way.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "qmanager/job.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Credential;
using qmanager::Limiter;
using qmanager::LimitsConfig;
using qmanager::SchedulerConfig;

void set_limit(LimitsConfig& limits, const char* whose, const char* key, const char* value) {
  const Status set = limits.set(whose, key, value, 1);
  ASSERT_TRUE(set) << to_string(set.error());
}

struct LimitsCase {
  const char* name;
  std::function<void(LimitsConfig&)> set;
  int nodes;
  const char* jobs;
  const char* want;
};

const LimitsCase kLimitsCases[] = {
    {"MAXNODE: nodes in use; a processor of a flat machine is one",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-node", "3"); }, 4, R"(
        A   0      2     2     2   user=ann
        B   0      2     2     2   user=ann
        C   0      1     2     2   user=ann)",
     R"(
      n0 |AABB|
      n1 |AABB|
      n2 |CC..|
      n3 |....|
)"},
    {"MAXWC: remaining limits are summed, however wide the jobs",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-wc", "8"); }, 4, R"(
        # A has 2 of its 6 left when B, of 6, may start
        A   0      3     6     6   user=ann
        B   0      1     6     6   user=ann)",
     R"(
      n0 |AAAAAA....|
      n1 |AAAAAA....|
      n2 |AAAAAA....|
      n3 |....BBBBBB|
)"},
    {"the default holds for what a name of its own leaves open",
     [](LimitsConfig& l) {
       set_limit(l, "user.default", "max-job", "1");
       set_limit(l, "user.ann", "max-proc", "3");
     },
     4, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=bob)",
     R"(
      n0 |AABB|
      n1 |CC..|
      n2 |....|
      n3 |....|
)"},
    {"class x user: MAXJOB[USER] holds for each user within the class alone",
     [](LimitsConfig& l) { set_limit(l, "queue.q1.user.default", "max-job", "1"); }, 4, R"(
        A   0      1     2     2   user=ann queue=q1
        B   0      1     2     2   user=ann queue=q1
        C   0      1     2     2   user=bob queue=q1
        D   0      1     2     2   user=ann queue=q2)",
     R"(
      n0 |AABB|
      n1 |CC..|
      n2 |DD..|
      n3 |....|
)"},
    {"class x user: MAXPROC[USER:steve] holds for steve alone, MAXNODE[USER] beside it",
     [](LimitsConfig& l) {
       set_limit(l, "queue.q1.user.steve", "max-proc", "2");
       set_limit(l, "queue.q1.user.default", "max-node", "3");
     },
     8, R"(
        A   0      2     2     2   user=steve queue=q1
        B   0      1     2     2   user=steve queue=q1
        C   0      2     2     2   user=ann queue=q1
        D   0      2     2     2   user=ann queue=q1
        E   0      1     2     2   user=ann queue=q1)",
     R"(
      n0 |AABB|
      n1 |AADD|
      n2 |CCDD|
      n3 |CC..|
      n4 |EE..|
      n5 |....|
      n6 |....|
      n7 |....|
)"},
    {"SYSTEMCFG: everybody together",
     [](LimitsConfig& l) { set_limit(l, "system", "max-job", "2"); }, 4, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=bob
        C   0      1     2     2)",
     R"(
      n0 |AACC|
      n1 |BB..|
      n2 |....|
      n3 |....|
)"},
    {"soft above hard: hard is raised to it, as Maui does",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-job", "2,1"); }, 3, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=ann)",
     R"(
      n0 |AACC|
      n1 |BB..|
      n2 |....|
)"},
    {"OMAXNODE: the QOS replaces the limits of user and class, each by itself",
     [](LimitsConfig& l) {
       set_limit(l, "user.ann", "max-node", "1");
       set_limit(l, "queue.q1", "max-node", "2");
       set_limit(l, "qos.hi", "omax-node", "3");
     },
     4, R"(
        A   0      1     2     2   user=ann queue=q1
        B   0      1     2     2   user=ann queue=q1
        C   0      2     2     2   user=ann queue=q1 qos=hi)",
     R"(
      n0 |AABB|
      n1 |CC..|
      n2 |CC..|
      n3 |....|
)"},
    {"MAXIPROC: those that do not fit beside the first are not considered",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-iproc", "3"); }, 4, R"(
        # ann's C would fit beside A; B is in front of it and takes up what may be considered
        A   0      2     4     4   user=bob
        B   0      3     2     2   user=ann
        C   0      1     4     4   user=ann
        D   0      1     4     4   user=bob)",
     R"(
      n0 |AAAABB..|
      n1 |AAAABB..|
      n2 |DDDDBB..|
      n3 |....CCCC|
)"},
    {"what is left over is had as soon as the hard limit gives way, whatever ends",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-wc", "10,20"); }, 2, R"(
        A   0      1     10    10  user=ann
        B   0      1     15    15  user=ann)",
     R"(
      n0 |AAAAAAAAAA..........|
      n1 |.....BBBBBBBBBBBBBBB|
)"},
    {"MAXIJOB: who has started waits no more, so that the next one is considered",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-ijob", "1"); }, 3, R"(
        A   0      1     4     4   user=ann
        B   0      1     4     4   user=ann
        C   1      1     4     4   user=ann)",
     R"(
      n0 |AAAA.|
      n1 |BBBB.|
      n2 |.CCCC|
)"},
};

const LimitsCase kReserved[] = {
    {"MAXIJOB: who holds a reservation waits as well, also after others have ended",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-ijob", "1"); }, 2, R"(
        A   0      1     6     6   user=bob
        D   0      1     6     1   user=bob
        B   0      2     2     2   user=ann
        C   0      1     2     2   user=ann)",
     R"(
      n0 |AAAAAABBCC|
      n1 |D.....BB..|
)"},
    {"what was reserved and has come due waits for the hard limit, and no longer",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-wc", "10,20"); }, 3, R"(
        # C is over the soft limit and has what is left over; B, due at 10, is over the hard one
        # until C has 10 left
        X   0      2     10    10  user=bob
        B   0      2     10    10  user=ann
        C   2      1     20    20  user=ann)",
     R"(
      n0 |XXXXXXXXXX..BBBBBBBBBB|
      n1 |XXXXXXXXXX..BBBBBBBBBB|
      n2 |..CCCCCCCCCCCCCCCCCCCC|
)"},
    {"MAXPROC: a job of a range of slots gets no more of them where it has reserved at once, ...",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-proc", "2"); }, 4, R"(
        A   0      1     4     4   user=ann slots=1-4)",
     R"(
      n0 |AAAA|
      n1 |AAAA|
      n2 |....|
      n3 |....|
)"},
    {"... nor where it has reserved more than its user may have when it is due",
     [](LimitsConfig& l) { set_limit(l, "user.ann", "max-proc", "3"); }, 4, R"(
        X   0      3     4     4   user=bob
        A   0      2     4     4   user=ann slots=2-4)",
     R"(
      n0 |XXXXAAAA|
      n1 |XXXXAAAA|
      n2 |XXXXAAAA|
      n3 |........|
)"},
};

void expect_pictures(std::span<const LimitsCase> cases, const char* policy_name) {
  for (const LimitsCase& c : cases) {
    SCOPED_TRACE(c.name);
    SchedulerConfig config = policy(policy_name);
    config.queues = {
        {"default", config.defaults}, {"q1", config.defaults}, {"q2", config.defaults}};
    c.set(config.limits);
    EXPECT_EQ(gantt(run({.nodes = c.nodes, .jobs = parse_jobs(c.jobs), .config = config})), c.want);
  }
}

// A job that nothing which is up can serve stands aside, and waits no more.
TEST(Limits, WhoStandsAsideLetsTheNextOneBeConsideredAtOnce) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=2/core=1"), {});
  qmanager::SchedulerConfig config = policy("easy");
  limit(config, "user", "ann", "max-ijob", "1");
  auto scheduler = *qmanager::Scheduler::create(config, store);
  ASSERT_TRUE(store.set_status("/cluster0/node1", false));
  scheduler.resources_changed();
  for (const std::int64_t cores : {2, 1}) {
    qmanager::JobRequest request;
    request.id = JobId{cores == 2 ? 1U : 2U};
    request.user = "ann";
    request.limit = 10;
    resource::JobShape shape;
    shape.tasks = cores;
    shape.command = {"true"};
    request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    ASSERT_FALSE(scheduler.submit(request, 0)->has_value());
  }
  while (scheduler.step(0).more) {
  }
  EXPECT_EQ(scheduler.running(), 1U);
}

// `kept` jobs of ann, which her limit keeps back, and one of bob's behind them.
bool starts_behind(SchedulerConfig config, std::size_t kept) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=1/core=4"), {});
  config.defaults.queue_depth = 4;
  limit(config, "user", "ann", "max-job", "1");
  auto scheduler = *qmanager::Scheduler::create(config, store);
  const auto submit = [&](std::uint64_t id, const char* user) {
    qmanager::JobRequest request;
    request.id = JobId{id};
    request.user = user;
    request.limit = 100;
    resource::JobShape shape;
    shape.command = {"true"};
    request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    EXPECT_FALSE(scheduler.submit(request, 0)->has_value());
  };
  for (std::uint64_t id = 1; id <= 1 + kept; ++id) submit(id, "ann");
  submit(1000, "bob");
  bool started = false;
  for (bool more = true; more;) {
    auto pass = scheduler.step(0);
    for (const auto& decision : pass.decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        started = started || start->job == JobId{1000};
    more = pass.more;
  }
  return started;
}

TEST(Limits, WhoeverTheyKeepBackDoesNotCountAgainstTheDepthOfTheQueue) {
  for (const char* name : {"fcfs", "easy", "hybrid:2", "conservative", "conservative-rebuild"}) {
    SCOPED_TRACE(name);
    SchedulerConfig config = policy(name);
    EXPECT_TRUE(starts_behind(config, 20));
  }
}

TEST(Limits, Drawings) {
  expect_pictures(kLimitsCases, "easy");
}

TEST(Limits, OfReservedJobs) {
  expect_pictures(kReserved, "conservative");
}

qmanager::JobRequest with_memory(std::uint64_t id, std::int64_t cores, std::int64_t memory) {
  resource::JobShape shape;
  shape.cores_per_task = cores;
  shape.memory_per_task = memory;
  shape.command = {"true"};
  qmanager::JobRequest request;
  request.id = JobId{id};
  request.user = "ann";
  request.limit = 10;
  request.spec = std::make_shared<resource::Jobspec>(*resource::jobspec_for(shape));
  return request;
}

// 8 cores, 64 units of memory: a job with a core and half of the memory is worth 4 processors.
TEST(Limits, MemoryAndProcessorEquivalentsAreOfWhatTheJobspecAsksFor) {
  struct {
    const char* key;
    const char* value;
    std::size_t running;
  } const cases[] = {{"max-mem", "40", 1},
                     {"max-mem", "64", 2},
                     {"max-pe", "7", 1},
                     {"max-pe", "8", 2},
                     {"max-proc", "2", 2}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.key) + " " + c.value);
    auto store =
        *resource::ResourceStore::load(*resource::read_shape("node=1/core=8,memory=64"), {});
    SchedulerConfig config = policy("easy");
    set_limit(config.limits, "user.ann", c.key, c.value);
    auto scheduler = *qmanager::Scheduler::create(config, store);
    for (std::uint64_t id : {1, 2})
      ASSERT_FALSE(scheduler.submit(with_memory(id, 1, 32), 0).value().has_value());
    scheduler.step(0);
    EXPECT_EQ(scheduler.running(), c.running);
  }
}

qmanager::Job of_ann(std::int64_t procs, Time end) {
  qmanager::Job job;
  job.request.user = "ann";
  job.procs = procs;
  job.planned_end = end;
  return job;
}

// Nobody knows when a job without an end gives way; what is over when it has ended is what was so
// before.
TEST(Limits, AJobWithoutEndIsMoreThanAnyLimitOnTimeAndSwallowsNoOther) {
  constexpr Time kNow = 1'700'000'000'000;
  for (const auto& [key, small] :
       {std::pair{"max-ps", of_ann(2, kNow + 30)}, std::pair{"max-wc", of_ann(1, kNow + 60)}}) {
    SCOPED_TRACE(key);
    LimitsConfig config;
    set_limit(config, "user.ann", key, "100");
    Limiter limiter(config);
    const qmanager::Job endless = of_ann(1, kTimeMax);
    limiter.started(small);
    limiter.started(endless);
    auto over = limiter.over(small, kNow, 10, true);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->until, std::nullopt);
    limiter.ended(endless);
    const qmanager::Job asks = of_ann(1, 0);
    EXPECT_FALSE(limiter.over(asks, kNow, 40, true)) << "60 are held";
    over = limiter.over(asks, kNow, 41, true);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->until, kNow + 1);
    over = limiter.over(asks, kNow, kTimeMax, true);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->until, std::nullopt);
    const bool by_procs = key == std::string("max-ps");
    EXPECT_EQ(limiter.procs_left(asks, kNow, kTimeMax, true), by_procs ? 0 : qmanager::kNoLimit);
  }
}

TEST(Limits, AVeryLongJobIsNoJobWithoutEnd) {
  LimitsConfig config;
  set_limit(config, "user.ann", "max-ps", "100");
  Limiter limiter(config);
  limiter.started(of_ann(3, kTimeMax - 1));
  const auto over = limiter.over(of_ann(1, 0), 5, 100, true);
  ASSERT_TRUE(over);
  EXPECT_TRUE(!over->until || *over->until > kTimeMax / 2) << *over->until;
}

TEST(Limits, WhereThereIsNoHardLimitAJobWithoutEndMayRun) {
  LimitsConfig config;
  set_limit(config, "user.ann", "max-ps", "5,9223372036854775807");
  EXPECT_FALSE(Limiter(config).over(of_ann(2, 0), 0, kTimeMax, true));
}

// A limit that was set after the job had been started: it came with a restart.
TEST(Limits, AJobWithoutEndWakesNobodyEveryTick) {
  SchedulerConfig config = policy("easy");
  set_limit(config.limits, "user.ann", "max-ps", "100");
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  const auto jobs = parse_jobs("A 0 1 0 9 user=ann\nB 0 1 10 9 user=ann");
  ASSERT_TRUE(scheduler.recover(jobs[0].request,
                                {JobId{1}, {0, kTimeMax}, {{.uniq_id = 0, .amount = 1}}, {}}));
  ASSERT_FALSE(scheduler.submit(jobs[1].request, 1000)->has_value());
  EXPECT_EQ(scheduler.step(1000).wake, std::nullopt);
  EXPECT_EQ(scheduler.running(), 1u);
}

TEST(Limits, ASingleJobMayBeTooLarge) {
  SchedulerConfig config = policy("easy");
  set_limit(config.limits, "system", "max-proc-per-job", "6");
  set_limit(config.limits, "system", "max-procsecond-per-job", "100");
  set_limit(config.limits, "system", "max-job-walltime", "50");
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(8));
  struct {
    std::int64_t procs;
    Duration limit;
    const char* why;
  } const cases[] = {
      {6, 16, ""},
      {7, 1, "asks for 7 processors; a job may have 6 at most"},
      {1, 51, "its time limit is longer than a single job's may be"},
      {6, 17, "asks for more processor-time than a single job may have"},
      {1, 0, "asks for no time limit, and there is a bound on that of a single job"},
  };
  std::uint64_t id = 0;
  for (const auto& c : cases) {
    qmanager::JobRequest job;
    job.id = JobId{++id};
    job.procs = c.procs;
    job.limit = c.limit;
    const auto refused = scheduler.submit(job, 0);
    ASSERT_TRUE(refused);
    EXPECT_EQ(*refused ? (*refused)->reason : "", c.why);
  }
  EXPECT_EQ(scheduler.pending(), 1u);
  EXPECT_FALSE(LimitsConfig{}.refuses(2, kTimeMax));
}

TEST(Limits, MistakesAreToldWithWhatIsAccepted) {
  LimitsConfig limits;
  for (const auto& [whose, key, value] :
       {std::tuple{"planet.ann", "max-job", "1"}, std::tuple{"user", "max-job", "1"},
        std::tuple{"user.ann", "max-fun", "1"}, std::tuple{"user.ann", "omax-job", "1"},
        std::tuple{"user.ann", "max-job", "many"}, std::tuple{"user.ann", "max-job", "1,2,3"},
        std::tuple{"user.ann", "max-proc-per-job", "1"}}) {
    const Status set = limits.set(whose, key, value, 1);
    ASSERT_FALSE(set) << whose << " " << key << " " << value;
    EXPECT_EQ(set.error().code, Errc::invalid_argument);
  }
  EXPECT_EQ(limits, LimitsConfig{});
}

// ---- the same the long way ----

using Settings = std::map<std::pair<std::string, std::string>, std::int64_t>;  // whose, key

struct Sum {
  std::function<bool(const qmanager::Job&)> of;
  std::vector<std::string> whose;  // the first that has the limit counts
  bool is_qos = false;
};

std::vector<Sum> sums_for(const qmanager::Job& job) {
  std::vector<Sum> all;
  const auto add = [&](const std::string& kind, auto name) {
    const std::string own = name(job);
    const std::string queue = job.request.queue;
    all.push_back({[=](const qmanager::Job& j) { return name(j) == own; },
                   {kind + "." + own, kind + ".default"},
                   kind == "qos"});
    if (kind == "queue") return;
    const std::string within = "." + kind + ".";
    all.push_back(
        {[=](const qmanager::Job& j) { return name(j) == own && j.request.queue == queue; },
         {"queue." + queue + within + own, "queue." + queue + within + "default",
          "queue.default" + within + own, "queue.default" + within + "default"},
         kind == "qos"});
  };
  add("user", [](const qmanager::Job& j) { return j.request.user; });
  add("qos", [](const qmanager::Job& j) { return j.request.qos; });
  add("queue", [](const qmanager::Job& j) { return j.request.queue; });
  all.push_back({[](const qmanager::Job&) { return true; }, {"system"}});
  return all;
}

double amount(const qmanager::Job& job, const std::string& measure, Time now) {
  const auto left = static_cast<double>(job.planned_end - now);
  if (measure == "job") return 1;
  if (measure == "proc") return static_cast<double>(job.procs);
  if (measure == "node") return static_cast<double>(job.demand.nodes);
  if (measure == "ps") return static_cast<double>(job.procs) * left;
  if (measure == "wc") return left;
  return measure == "pe" ? job.demand.equivalents : static_cast<double>(job.demand.memory);
}

std::optional<std::int64_t> bound(const Settings& settings, const qmanager::Job& job,
                                  const Sum& sum, const std::string& measure) {
  for (const std::string& whose : sum.whose) {
    const auto own = settings.find({whose, "max-" + measure});
    if (own == settings.end()) continue;
    // A QOS of its own name has no limits from the default beside it here: one override at a time.
    const std::string qos = settings.contains({"qos." + job.request.qos, ""})
                                ? "qos." + job.request.qos
                                : "qos.default";
    const auto instead = settings.find({qos, "omax-" + measure});
    if (sum.is_qos || whose == "system" || instead == settings.end()) return own->second;
    return instead->second;
  }
  return std::nullopt;
}

bool over_the_long_way(const Settings& settings, const std::vector<qmanager::Job>& running,
                       const qmanager::Job& job, Time now) {
  for (const Sum& sum : sums_for(job))
    for (const char* measure : qmanager::kMeasureNames) {
      const auto most = bound(settings, job, sum, measure);
      double all = amount(job, measure, now);
      for (const qmanager::Job& other : running)
        if (sum.of(other)) all += amount(other, measure, now);
      if (most && all > static_cast<double>(*most)) return true;
    }
  return false;
}

TEST(Limits, AreTheSameAsSumsMadeTheLongWay) {
  int kept_back = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
    const std::array<std::string, 11> everybody = {"user.ann",
                                                   "user.default",
                                                   "qos.hi",
                                                   "qos.lo",
                                                   "queue.q1",
                                                   "queue.default",
                                                   "system",
                                                   "queue.q1.user.ann",
                                                   "queue.q1.user.default",
                                                   "queue.q2.qos.hi",
                                                   "queue.default.user.default"};
    Settings settings;
    LimitsConfig config;
    for (int i = 0; i < 6; ++i) {
      const std::string whose = pick(everybody);
      const std::string measure = pick(qmanager::kMeasureNames);
      const bool instead = whose.starts_with("qos.") && random() % 2 == 0;
      const std::string key = (instead ? "omax-" : "max-") + measure;
      const auto value = static_cast<std::int64_t>(random() % 12) + (measure == "ps" ? 40 : 4);
      set_limit(config, whose.c_str(), key.c_str(), std::to_string(value).c_str());
      settings[{whose, key}] = value;
      settings[{whose, ""}] = 0;
    }
    Limiter limiter(config);
    std::vector<qmanager::Job> running;
    for (Time now = 0; now < 20; ++now) {
      qmanager::Job job;
      job.request.user = pick(std::array{"ann", "bob"});
      job.request.qos = pick(std::array{"hi", "lo"});
      job.request.queue = pick(std::array{"q1", "q2"});
      job.procs = 1 + static_cast<std::int64_t>(random() % 4);
      job.demand = {.nodes = 1 + static_cast<std::int64_t>(random() % 2),
                    .memory = static_cast<std::int64_t>(random() % 5),
                    .equivalents = static_cast<double>(job.procs)};
      const Duration length = 1 + static_cast<Duration>(random() % 9);
      job.planned_end = now + length;
      const bool over = limiter.over(job, now, length, true).has_value();
      ASSERT_EQ(over, over_the_long_way(settings, running, job, now))
          << "seed " << seed << ", at " << now;
      kept_back += over;
      if (!over) limiter.started(job), running.push_back(job);
      std::erase_if(running, [&](const qmanager::Job& other) {
        const bool ends = other.planned_end <= now + 1;
        if (ends) limiter.ended(other);
        return ends;
      });
    }
  }
  EXPECT_GT(kept_back, 1000);
}

}  // namespace
}  // namespace holon::tests
