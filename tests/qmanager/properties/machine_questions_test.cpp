// What is asked of a machine changes nothing: one that is asked about jobs of every kind between
// any two changes does as its twin that nobody asks, and gives the same answers.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include <fmt/core.h>

#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::tests {
namespace {

using qmanager::AskedOfMachine;
using qmanager::JobRequest;
using qmanager::Machine;
using qmanager::StoreMachine;

class Asked {
 public:
  explicit Asked(const char* match_policy)
      : store_(*resource::ResourceStore::load(
            *resource::read_shape(fmt::format("node={}/core={}", kNodes, kCores)),
            {.match_policy = match_policy})),
        machine_(store_) {}

  // Something that `random` chooses is held, moved or given back; jobs are of one kind until
  // `mixed`. Returns what came of it.
  std::string change(std::mt19937& random, Time now, bool mixed) {
    const JobRequest job = any_job(random, mixed);
    const Duration length = 1 + static_cast<Duration>(random() % 20);
    const bool reserves = random() % 2 == 0;
    std::string told = machine_.must_replan() ? "all anew; " : "";
    std::erase_if(held_, [&](const auto& item) {
      if (item.second <= now) machine_.release(item.first, now);
      return item.second <= now;
    });
    if (held_.erase(job.id) > 0) {
      machine_.release(job.id, now);
      return told + "released";
    }
    const Machine::Outcome outcome =
        reserves ? machine_.reserve(job, {now, now, length}) : machine_.start(job, now, length);
    const auto* found = std::get_if<resource::Allocation>(&outcome);
    if (found == nullptr) return told + "not now";
    held_.emplace(job.id, found->when.end);
    told += fmt::format("{} to {}:", found->when.begin, found->when.end);
    for (const auto& share : found->shares)
      told += fmt::format(" {}x{}", share.amount, share.uniq_id);
    return told;
  }

  std::string ask(std::mt19937& random, Time now) const {
    const AskedOfMachine& machine = machine_;
    const JobRequest job = any_job(random, true);
    const Duration length = 1 + static_cast<Duration>(random() % 20);
    const auto refused = machine.refuses(job, now, length);
    const auto earliest = machine.earliest(job, {now, now, length});
    const auto lacks = machine.shortage(job, {now, now + length});
    static_cast<void>(machine.shape_of(job));
    return fmt::format("{} {} {} {} {} {}", refused && !*refused, earliest.value_or(-1),
                       lacks.has_value(), machine.placeable(job), machine.hopeless(job, now),
                       machine.exhausted(now));
  }

  void check() const {
    machine_.check_invariants();
    store_.check_invariants();
  }

 private:
  static constexpr int kNodes = 3;
  static constexpr int kCores = 4;  // of each

  static std::shared_ptr<const resource::Jobspec> spec_of(std::int64_t tasks, std::int64_t nodes,
                                                          bool exclusive) {
    resource::JobShape shape;
    shape.tasks = tasks;
    shape.nodes = nodes;
    shape.exclusive = exclusive;
    shape.command = {"true"};
    return std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  }
  static JobRequest any_job(std::mt19937& random, bool any_kind) {
    JobRequest job;
    job.id = JobId{1 + random() % 12};
    const auto tasks = static_cast<std::int64_t>(1 + random() % (kNodes * kCores));
    const unsigned kind = any_kind ? random() % 4 : 0;
    const std::int64_t nodes = 1 + tasks % (kNodes + 1);  // more than there are, too
    job.spec = kind == 0   ? spec_of(tasks, 0, false)
               : kind == 1 ? spec_of(nodes, nodes, true)
                           : spec_of(nodes, nodes, false);
    if (kind == 3) {
      job.spec = spec_of(1, 0, false);
      job.slots = resource::Count{.min = 1, .max = tasks, .values = {}};
    }
    job.procs = kind == 0 ? tasks : 1;
    return job;
  }

  resource::ResourceStore store_;
  StoreMachine machine_;
  std::map<JobId, Time> held_;  // until when
};

void expect_same_answers(unsigned seed, const char* match_policy) {
  constexpr Time kMixed = 30;
  Asked asked(match_policy), alone(match_policy);
  std::mt19937 history(seed), same_history(seed), questions(seed + 1);
  for (Time now = 0; now < 60; ++now) {
    const bool mixed = now >= kMixed;
    for (int n = 0; n < 3; ++n) asked.ask(questions, now);
    ASSERT_EQ(asked.change(history, now, mixed), alone.change(same_history, now, mixed));
    // Before others have come, reservations are numbers, which only jobs of their kind are asked
    // of.
    if (!mixed) continue;
    std::mt19937 again = questions;
    ASSERT_EQ(asked.ask(questions, now), alone.ask(again, now));
  }
  asked.check();
  alone.check();
}

class MachineQuestions : public ::testing::TestWithParam<const char*> {};

TEST_P(MachineQuestions, ChangeNothing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_same_answers(seed, GetParam());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Under, MachineQuestions,
                         ::testing::Values("first", "firstnodex", "high", "low", "hinode", "lonode",
                                           "hinodex", "lonodex", "locality", "variation"));

}  // namespace
}  // namespace holon::tests
