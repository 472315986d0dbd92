// The flexible traverser: mixes of slots against brute force, xor_slots in order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/match/alternatives.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

using match::Need;
using match::Stock;

Need need(std::uint32_t type, std::int64_t count) {
  Need made;
  made.type = TypeId{type};
  made.count = {count, count, '+', 1, {}};
  return made;
}

Need slot(std::vector<Need> with) {
  Need made;
  made.type = match::kSlot;
  made.with = std::move(with);
  return made;
}

// The most slots of any mix, by trying all.
std::int64_t most(const std::vector<Need>& slots, std::vector<std::int64_t> units) {
  std::int64_t best = 0;
  for (const Need& one : slots) {
    auto rest = units;
    bool fits = true;
    for (const Need& n : one.with) {
      rest[n.type.value()] -= n.count.min;
      fits = fits && rest[n.type.value()] >= 0;
    }
    if (fits) best = std::max(best, 1 + most(slots, rest));
  }
  return best;
}

RC_GTEST_PROP(BestMix, FillsAsManySlotsAsBruteForce, ()) {
  const auto units =
      *rc::gen::container<std::vector<std::int64_t>>(2, rc::gen::inRange<std::int64_t>(0, 7));
  const auto kinds = *rc::gen::inRange(2, 4);
  std::vector<Need> slots;
  for (int i = 0; i < kinds; ++i)
    slots.push_back(slot({need(0, *rc::gen::inRange(1, 4)), need(1, *rc::gen::inRange(1, 4))}));
  const Stock stock{{TypeId{0}, TypeId{1}}, units};
  const auto mix = match::best_mix(slots, stock, 1);
  RC_ASSERT(static_cast<std::int64_t>(mix.size()) == most(slots, units));
  auto left = units;
  for (const std::size_t kind : mix)
    for (const Need& n : slots[kind].with) left[n.type.value()] -= n.count.min;
  RC_ASSERT(left[0] >= 0 && left[1] >= 0);
}

TEST(BestMix, AHugeStockIsBoundedByWhatIsWanted) {
  const std::vector<Need> slots{slot({need(0, 3), need(1, 1)}), slot({need(0, 1), need(1, 3)})};
  const Stock stock{{TypeId{0}, TypeId{1}}, {1'000'000, 1'000'000}};
  EXPECT_GE(match::best_mix(slots, stock, 10).size(), 10U);
}

// As many states as this one has would fill the memory.
TEST(BestMix, AHugeStockOfWhichMuchIsWantedIsFilledInTurn) {
  const std::vector<Need> slots{slot({need(0, 3), need(1, 1)}), slot({need(0, 1), need(1, 3)})};
  const Stock stock{{TypeId{0}, TypeId{1}}, {40'000, 40'000}};
  EXPECT_EQ(match::best_mix(slots, stock, 20'000).size(), 20'000U);
}

TEST(ExpandXorSlots, TriesThemInTheOrderOfTheJobspec) {
  Need choice = slot({need(0, 1)});
  choice.type = match::kXorSlot;
  Need other = slot({need(1, 2)});
  other.type = match::kXorSlot;
  const auto variants = match::expand_xor_slots({choice, need(5, 1), other}).value();
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].size(), 2U);  // what is required, then the choice
  EXPECT_EQ(variants[0][0].type, TypeId{5});
  EXPECT_TRUE(variants[0][1].is_slot());
  EXPECT_EQ(variants[0][1].with[0].type, TypeId{0});
  EXPECT_EQ(variants[1][1].with[0].type, TypeId{1});
}

TEST(ExpandXorSlots, RefusesAThousandAndOneVariants) {
  Need choice = slot({need(0, 1)});
  choice.type = match::kXorSlot;
  EXPECT_EQ(match::expand_xor_slots(std::vector<Need>(1000, choice)).value().size(), 1000U);
  EXPECT_FALSE(match::expand_xor_slots(std::vector<Need>(1001, choice)));
}

ResourceStore flexible_store(std::string_view shape) {
  StoreOptions options;
  options.match_policy = "low";
  options.traverser = "flexible";
  return ResourceStore::load(read_shape(shape).value(), options).value();
}

std::string held_by(const ResourceStore& store, const Allocation& allocation) {
  std::string names;
  for (const Share& share : allocation.shares)
    if (share.exclusive)
      names +=
          (names.empty() ? "" : " ") + store.graph().name(*store.graph().find_uniq(share.uniq_id));
  return names;
}

std::string match_text(ResourceStore& store, std::uint64_t job, const std::string& resources) {
  const auto spec =
      parse_jobspec("version: 9999\nresources:\n" + resources +
                    "tasks:\n- command: [a]\n  slot: s\n  count: {per_slot: 1}\nattributes: "
                    "{system: {duration: 10}}\n")
          .value();
  const auto outcome = store.match(JobId{job}, spec, MatchOp::allocate, 0, 10).value();
  store.check_invariants();
  const auto* allocation = std::get_if<Allocation>(&outcome);
  return allocation == nullptr ? "" : held_by(store, *allocation);
}

// A node with four cores and a GPU that is asked for one slot list after the other: what each gets.
void expect_in_turn(const std::string& slots, const std::vector<std::string>& want) {
  ResourceStore store = flexible_store("node=1/core=4,gpu=1");
  std::uint64_t job = 0;
  for (const std::string& names : want)
    EXPECT_EQ(match_text(store, ++job, "- type: node\n  count: 1\n  with:\n" + slots), names);
}

TEST(Flexible, MixesSlotsOfOneLevel) {
  // Two slots: one with the gpu, one of two cores.
  expect_in_turn(
      "  - {type: slot, label: s, count: 2, with: [{type: core, count: 1}, {type: gpu, count: "
      "1}]}\n"
      "  - {type: slot, label: s, count: 2, with: [{type: core, count: 2}]}\n",
      {"core0 core1 core2 gpu0", ""});
}

TEST(Flexible, TakesTheFirstXorSlotThatFits) {
  expect_in_turn(
      "  - {type: xor_slot, label: s, count: 1, with: [{type: gpu, count: 1}, {type: core, count: "
      "1}]}\n"
      "  - {type: xor_slot, label: s, count: 1, with: [{type: core, count: 2}]}\n",
      {"core0 gpu0", "core1 core2", ""});
}

}  // namespace
}  // namespace holon::resource
