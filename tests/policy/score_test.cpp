// Policies that say where jobs are placed: on the nodes they like best, as long as nothing is in
// the way; and nobody's units or reservations are touched by that.
#include <fstream>
#include <map>
#include <set>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "sim/graph_machine.hpp"
#include "sim/simulate.hpp"
#include "tests/policy/asked.hpp"

namespace holon::policy {
namespace {

using Attributes = std::map<std::string, std::string>;

resource::ResourceStore store_of(const char* shape, const char* match_policy = "first") {
  resource::StoreOptions options;
  options.match_policy = match_policy;
  return std::move(*resource::ResourceStore::load(*resource::read_shape(shape), options));
}

// A scheduler on a graph, and where its jobs are.
class Cluster {
 public:
  Cluster(const std::string& text, const char* shape, const char* match_policy = "first")
      : store_(store_of(shape, match_policy)),
        scheduler_(*qmanager::Scheduler::create(config_with(text), store_)) {}

  void submit(std::uint64_t id, const resource::JobShape& shape, const Attributes& attributes = {},
              Duration limit = 1000) {
    qmanager::JobRequest request;
    request.id = JobId{id};
    request.limit = limit;
    resource::JobShape with_command = shape;
    with_command.command = {"true"};
    request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(with_command));
    request.attributes = std::make_shared<const Attributes>(attributes);
    const auto taken = scheduler_.submit(request, now_);
    ASSERT_TRUE(taken && !*taken);
  }
  void step(Time now) {
    now_ = now;
    for (bool more = true; more;) {
      const auto result = scheduler_.step(now);
      more = result.more;
      for (const auto& decision : result.decisions) {
        const auto* const start = std::get_if<qmanager::Start>(&decision);
        if (start == nullptr) continue;
        EXPECT_EQ(start->allocation.shares, store_.find(start->job)->shares);
        started_.insert(start->job);
      }
    }
    scheduler_.check_invariants();
    store_.check_invariants();
  }
  void finish(std::uint64_t id, Time now) {
    now_ = now;
    EXPECT_TRUE(scheduler_.finish(JobId{id}, now));
  }
  // "node0 node2"; "": it waits.
  std::string nodes(std::uint64_t id) const {
    const resource::Allocation* held =
        started_.contains(JobId{id}) ? store_.find(JobId{id}) : nullptr;
    const auto& graph = store_.graph();
    std::set<std::string> names;
    if (held != nullptr)
      for (const auto& share : held->shares) {
        const auto v = *graph.find_uniq(share.uniq_id);
        const auto node = graph.ancestor_of_type(v, *graph.words().types.find("node"));
        if (node != resource::kNoVertex) names.insert(graph.name(node));
      }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }
  std::int64_t calls() const { return scheduler_.queues().at(0).hooks->calls; }
  std::string trouble() const { return scheduler_.queues().at(0).hooks->trouble; }

 private:
  resource::ResourceStore store_;
  qmanager::Scheduler scheduler_;
  std::set<JobId> started_;
  Time now_ = 0;
};

resource::JobShape cores(std::int64_t n) {
  resource::JobShape shape;
  shape.cores_per_task = n;
  return shape;
}

constexpr const char* kByName = R"lua(
local order = {node2 = 4, node0 = 3, node3 = 2, node1 = 1}
function score(job, place) return order[place.name] end)lua";

TEST(Score, TheNodesThatThePolicyLikesAreFilledFirst) {
  for (const char* match_policy : {"first", "low", "high", "lonode", "locality"}) {
    Cluster cluster(kByName, "rack=2/node=2/core=4", match_policy);
    for (std::uint64_t id = 1; id <= 5; ++id) cluster.submit(id, cores(2));
    resource::JobShape wide = cores(1);
    wide.tasks = 5;
    cluster.submit(6, wide);
    cluster.step(0);
    EXPECT_EQ(cluster.nodes(1) + cluster.nodes(2), "node2node2") << match_policy;
    EXPECT_EQ(cluster.nodes(3) + cluster.nodes(4), "node0node0") << match_policy;
    EXPECT_EQ(cluster.nodes(5), "node3") << match_policy;
    EXPECT_EQ(cluster.nodes(6), "node1 node3") << match_policy;
    EXPECT_EQ(cluster.trouble(), "");
  }
}

// A loop that is shorter than what is looked at at once counts as well: of each call.
TEST(Score, ATurnTakesABoundedNumberOfSteps) {
  constexpr std::int64_t kJobs = 30;
  constexpr std::int64_t kTurn = kPassSteps + kPassStepsEach * kJobs + kScoreSteps * kPassScores;
  struct Case {
    const char* body;
    std::int64_t steps;  // at least
  };
  for (const Case& one : {Case{"for i = 1, 350 do end", 350},
                          Case{"local x = 1.5 for i = 1, 75 do local s = x .. '' end", 75 * 40},
                          Case{"for i = 1, 50 do tostring(i) end", 50 * 40},
                          Case{"for i = 1, 100 do local t = {} end", 100 * 8}}) {
    Cluster cluster(std::string("function score() ") + one.body + " return 1 end",
                    "node=1000/core=2");
    for (std::uint64_t id = 1; id <= kJobs; ++id) cluster.submit(id, cores(2));
    cluster.step(0);
    EXPECT_GT(cluster.calls(), 100) << one.body;
    EXPECT_LT(cluster.calls() * one.steps, kTurn + kCallSteps) << one.body;
    EXPECT_NE(cluster.trouble().find("steps in a pass"), std::string::npos) << cluster.trouble();
  }
}

// That of the worked example is asked about every node that a pass may look at.
TEST(Score, AShortOneMayLookAtEveryNode) {
  Cluster cluster(R"lua(function score(job, place)
    local name = job.attributes.campaign
    if not name then return 0 end
    return 1000 * place.running("campaign", name) + place.near("campaign", name)
      + place.free / place.cores end)lua",
                  "node=1000/core=2");
  for (std::uint64_t id = 1; id <= 30; ++id) cluster.submit(id, cores(2), {{"campaign", "a"}});
  cluster.step(0);
  EXPECT_EQ(cluster.calls(), kPassScores);
  EXPECT_EQ(cluster.trouble(), "");
}

TEST(Score, WholeNodesToo) {
  Cluster cluster(kByName, "rack=2/node=2/core=4");
  resource::JobShape nodes = cores(4);
  nodes.nodes = nodes.tasks = 2;
  nodes.exclusive = true;
  cluster.submit(1, nodes);
  cluster.submit(2, nodes);
  cluster.step(0);
  EXPECT_EQ(cluster.nodes(1), "node0 node2");
  EXPECT_EQ(cluster.nodes(2), "node1 node3");
}

// What the best node does not have for as long as the job lasts is taken from the next.
TEST(Score, AReservationIsInNobodysWay) {
  Cluster cluster("base = 'conservative'\n" + std::string(kByName), "node=4/core=4");
  resource::JobShape all = cores(4);
  all.nodes = all.tasks = 4;
  all.exclusive = true;
  cluster.submit(1, cores(2), {}, 100);
  cluster.step(0);
  EXPECT_EQ(cluster.nodes(1), "node2");
  cluster.submit(2, all, {}, 100);  // everything is reserved for it at 100
  cluster.submit(3, cores(2), {}, 200);
  cluster.submit(4, cores(2), {}, 50);
  cluster.step(1);
  EXPECT_EQ(cluster.nodes(3), "");
  EXPECT_EQ(cluster.nodes(4), "node2");
}

TEST(Score, APlaceHasANameARoomAndNeighbours) {
  Cluster cluster(R"lua(
function score(job, place, view)
  assert(place.cores == 4 and place.free >= 1 and place.free <= 4 and view.cores == 16)
  assert(place.name:find("^node%d$") and place.within:find("^/cluster0/rack%d$"))
  assert(place.running("a", "b") <= place.near("a", "b"))
  return job.id == 1 and place.name == "node3" and 1 or 0
end)lua",
                  "rack=2/node=2/core=4");
  cluster.submit(1, cores(1), {{"a", "b"}});
  cluster.submit(2, cores(1), {{"a", "b"}});
  cluster.step(0);
  EXPECT_EQ(cluster.nodes(1), "node3");
  EXPECT_EQ(cluster.trouble(), "");
}

TEST(Score, KeepTogether) {
  std::ifstream in(HOLON_SOURCE_DIR "/docs/examples/policies/keep-together.lua");
  Cluster cluster({std::istreambuf_iterator<char>(in), {}}, "rack=2/node=2/core=4");
  const auto rack_of = [&](std::uint64_t id) { return cluster.nodes(id).at(4) / 2; };
  // Each takes an empty node as long as there is one; the second of a campaign joins the first.
  cluster.submit(1, cores(1), {{"campaign", "red"}});
  cluster.submit(2, cores(1), {{"campaign", "blue"}});
  cluster.submit(3, cores(1));
  for (std::uint64_t id = 4; id <= 8; ++id)
    cluster.submit(id, cores(1), {{"campaign", id % 2 == 0 ? "red" : "blue"}});
  cluster.step(0);
  EXPECT_NE(cluster.nodes(1), cluster.nodes(2));
  EXPECT_NE(cluster.nodes(3), cluster.nodes(1));
  EXPECT_NE(cluster.nodes(3), cluster.nodes(2));
  for (std::uint64_t id = 4; id <= 8; ++id)
    EXPECT_EQ(cluster.nodes(id), cluster.nodes(id % 2 == 0 ? 1 : 2)) << id;
  // Its node is full: beside it.
  cluster.submit(9, cores(2), {{"campaign", "red"}});
  cluster.step(1);
  EXPECT_NE(cluster.nodes(9), cluster.nodes(1));
  EXPECT_EQ(rack_of(9), rack_of(1));
  EXPECT_EQ(cluster.trouble(), "");
}

TEST(Score, WhereItFailsTheMatchPolicyDecides) {
  for (const char* body :
       {"while true do end", "error('no')", "return 0/0", "return {}", "return place", "return 'x'",
        "place.free = 3", "return place.nothing", "return place.running()", "return nil",
        "local t = {} while true do t[#t + 1] = {} end", "return ('x'):rep(1e9)",
        "return place.near({}, 'x')"}) {
    const std::string text = std::string("\nfunction score(job, place) ") + body + " end";
    Cluster mine(text, "rack=2/node=2/core=4");
    Cluster plain("base = 'fcfs'", "rack=2/node=2/core=4");
    for (Cluster* cluster : {&mine, &plain}) {
      for (std::uint64_t id = 1; id <= 6; ++id)
        cluster->submit(id, cores(1 + static_cast<std::int64_t>(id) % 3));
      cluster->step(0);
    }
    for (std::uint64_t id = 1; id <= 6; ++id) EXPECT_EQ(mine.nodes(id), plain.nodes(id)) << body;
    const bool harmless = std::string(body) == "return nil";
    EXPECT_EQ(mine.trouble().starts_with("mine.lua:2: "), !harmless) << mine.trouble();
  }
}

// What is asked of each of many nodes is not taken for a policy that is too slow.
TEST(Score, AnHonestOneOnManyNodesIsNotGivenUp) {
  Cluster cluster(R"lua(
    function score(job, place)
      return 1000 * place.running("campaign", "red") + place.near("campaign", "red") + place.free
    end)lua",
                  "rack=16/node=16/core=4");
  std::uint64_t id = 0;
  for (Time pass = 0; pass < 12; ++pass) {
    const std::uint64_t first = id + 1;
    for (int i = 0; i < 120; ++i) cluster.submit(++id, cores(1), {{"campaign", "red"}});
    cluster.step(pass);
    EXPECT_NE(cluster.nodes(id), "");
    for (std::uint64_t job = first; job <= id; ++job) cluster.finish(job, pass);
  }
  EXPECT_EQ(cluster.trouble(), "");
}

// Numbers that mean nothing, from whatever there is to look at.
std::string random_score(std::uint64_t seed) {
  Dice dice(seed);
  const char* const kBases[] = {"fcfs", "easy", "hybrid:3", "conservative"};
  const char* const kScores[] = {"math.random()",
                                 "place.free",
                                 "-place.free + job.id % 3",
                                 "place.name == 'node2' and math.huge or -math.huge",
                                 "#place.name * place.cores - view.pending",
                                 "(job.id % 5 == 0) and nil or job.limit % 7",
                                 "(job.id % 3 == 0) and 0/0 or place.free",
                                 "(math.random(10) == 1) and error('now') or place.near('a', 'b')"};
  return std::string("base = '") + kBases[dice(0, 3)] +
         "'\nfunction score(job, place, view) return " + kScores[dice(0, 7)] + " end\n";
}

sim::SimResult simulated_on_nodes(const sim::Workload& workload, const std::string& text) {
  sim::SimOptions options;
  options.config = config_with(text);
  options.check_invariants = true;
  auto result = sim::simulate(
      workload, std::make_unique<qmanager::OwningStoreMachine>(store_of("rack=2/node=4/core=8")),
      options, sim::graph_request);
  EXPECT_TRUE(result) << to_string(result.error());
  return std::move(*result);
}

// Which of alike cores a job gets changes no start; what was decided is decided again.
TEST(RandomScores, ChangeNoStartWhereCoresAreAlikeAndAreTheSameTwice) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const std::string text = random_score(seed);
    SCOPED_TRACE(text);
    const sim::Workload workload = made_up(seed, 80);
    const sim::SimResult mine = simulated_on_nodes(workload, text);
    const sim::SimResult again = simulated_on_nodes(workload, text);
    const sim::SimResult plain = simulated_on_nodes(workload, text.substr(0, text.find('\n')));
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      ASSERT_EQ(mine.jobs[i].start, plain.jobs[i].start) << "seed " << seed << ", job " << i + 1;
      ASSERT_EQ(mine.jobs[i].start, again.jobs[i].start);
    }
    EXPECT_EQ(mine.queues[0].hooks->calls, again.queues[0].hooks->calls);
    EXPECT_EQ(mine.queues[0].hooks->trouble, again.queues[0].hooks->trouble);
  }
}

}  // namespace
}  // namespace holon::policy
