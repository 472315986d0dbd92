// A fork shares what it was made from until one of the two changes it: whatever happens to one is
// not seen by the other.
#include <gtest/gtest.h>

#include <random>

#include <fmt/core.h>

#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/planner/timeline.hpp"
#include "resource/store.hpp"

namespace holon::tests {
namespace {

using resource::Allocation;
using resource::MatchOp;
using resource::ResourceStore;
using resource::Timeline;

TEST(Fork, TimelinesShareTheirPointsUntilOneIsChanged) {
  Timeline plan;
  plan.add({0, 10}, 3);
  Timeline copy = plan;
  EXPECT_EQ(copy, plan);
  copy.add({5, 20}, 2);
  EXPECT_EQ(plan.used_at(7), 3);
  EXPECT_EQ(copy.used_at(7), 5);
  plan.move_end({0, 10}, 3, 6);
  EXPECT_EQ(plan.used_at(7), 0);
  EXPECT_EQ(copy.used_at(7), 5);
  Timeline third = copy;
  third.remove({0, 10}, 3);
  third.change({5, 20}, 1);
  EXPECT_EQ(third.used_at(7), 3);
  EXPECT_EQ(copy.used_at(7), 5);
  third.remove({5, 20}, 3);
  EXPECT_TRUE(third.empty());
  copy.check_invariants();
  plan.check_invariants();
}

// What a store answers, and what it holds after that.
class Player {
 public:
  explicit Player(ResourceStore store) : store_(std::move(store)) {}

  const ResourceStore& store() const { return store_; }
  Player fork() const { return Player(store_.fork()); }

  std::string play(std::mt19937& random, Time now) {
    const JobId job{1 + random() % 12};
    resource::JobShape shape;
    shape.tasks = 1 + static_cast<std::int64_t>(random() % 6);
    shape.command = {"true"};
    if (random() % 3 == 0) {
      shape.nodes = shape.tasks = 1 + static_cast<std::int64_t>(random() % 2);
      shape.exclusive = true;
    }
    const Duration length = 1 + static_cast<Duration>(random() % 30);
    const unsigned what = random() % 8;
    const auto v =
        resource::VertexId{static_cast<std::uint32_t>(random() % store_.graph().slots())};
    if (what < 3) return text(store_.match(job, spec(shape), ops_[what], now, length));
    if (what < 5) return store_.release(job) ? "released" : "holds nothing";
    if (what == 5) return store_.set_end(job, now + length) ? "moved" : "not moved";
    if (what == 6) store_.set_status(v, random() % 3 != 0);
    if (what == 7) store_.set_property(v, "key", std::to_string(random() % 3));
    return "set";
  }

  std::string state() const {
    std::string all;
    for (const JobId job : store_.jobs()) {
      const auto holding = store_.holding(job);
      all += fmt::format("{} [{}, {}) {}:", job.value(), holding->held.begin, holding->held.end,
                         holding->reserved);
      for (const auto& share : holding->allocation.shares)
        all += fmt::format(" {}x{}", share.amount, share.uniq_id);
    }
    for (const auto v : store_.graph().in_preorder())
      all += fmt::format(" {}{}", store_.graph()[v].up,
                         store_.graph().property(v, "key").value_or(""));
    return all;
  }

 private:
  static resource::Jobspec spec(const resource::JobShape& shape) {
    return *resource::jobspec_for(shape);
  }
  static std::string text(const Result<resource::MatchOutcome>& outcome) {
    if (!outcome) return to_string(outcome.error());
    if (const auto* none = std::get_if<resource::NotNow>(&*outcome)) return none->reason;
    if (const auto* none = std::get_if<resource::Never>(&*outcome)) return none->reason;
    std::string found;
    for (const auto& share : std::get<Allocation>(*outcome).shares)
      found += fmt::format(" {}x{}", share.amount, share.uniq_id);
    return found;
  }

  static constexpr MatchOp ops_[] = {MatchOp::allocate, MatchOp::allocate_orelse_reserve,
                                     MatchOp::without_allocating_future};
  ResourceStore store_;
};

TEST(Fork, IsNotSeenByWhomItWasMadeFrom) {
  for (const char* policy : {"first", "low", "high"})
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", policy, seed));
      resource::StoreOptions options;
      options.match_policy = policy;
      const auto shape = *resource::read_shape("node=3/core=4");
      Player watched(*ResourceStore::load(shape, options));
      Player alone(*ResourceStore::load(shape, options));
      const auto* graph = &watched.store().graph();
      std::mt19937 history(seed), same_history(seed), whims(seed + 1);
      for (Time now = 0; now < 60; ++now) {
        Player fork = watched.fork();
        const std::string before = watched.state();
        ASSERT_EQ(fork.state(), before);
        for (int n = 0; n < 5; ++n) fork.play(whims, now);
        fork.store().check_invariants();
        ASSERT_EQ(watched.state(), before);
        ASSERT_EQ(watched.play(history, now), alone.play(same_history, now));
        ASSERT_EQ(watched.state(), alone.state());
      }
      watched.store().check_invariants();
      EXPECT_EQ(&watched.store().graph(), graph) << "whoever looks at it goes on doing so";
    }
}

}  // namespace
}  // namespace holon::tests
