// What is found in histories of grants, sound and broken ones, whole and not.
#include <gtest/gtest.h>

#include "tests/holdings/pair.hpp"

namespace holon::holdings {
namespace {

struct Written : Pair {
  std::vector<Journal> journals{
      {"/", std::nullopt, kParent, {{0, entry::Granted{units("0-7"), kTimeMax}}}},
      {"/7", 0, kChild, {}}};
  Time now = 0;

  void write(std::size_t journal, const Turn& turn) {
    for (const Entry& entry : turn.entries) journals[journal].entries.push_back({++now, entry});
  }
  // Gives unit 0, takes it back, and gives it to another child.
  Written() {
    const Turn offer = *extend(parent, kChild, {.units = units("0")});
    parent = *commit(parent, offer);
    write(0, offer);
    const Turn taking = receive(child, kParent, offer.sent.front().message, 0);
    child = *commit(child, taking);
    write(1, taking);
    for (const Turn& turn : {receive(parent, kChild, taking.sent.front().message, 0)}) {
      parent = *commit(parent, turn);
      write(0, turn);
    }
    const Turn giving = *release(child, {.units = units("0")});
    write(1, giving);
    const Turn taken = receive(parent, kChild, giving.sent.front().message, 0);
    parent = *commit(parent, taken);
    write(0, taken);
    const Turn clear = *gone(parent, kChild, units("0"));
    parent = *commit(parent, clear);
    write(0, clear);
    write(0, *extend(parent, Peer{8}, {.units = units("0")}));
  }
};

TEST(History, ThatIsSoundHasNoBreach) {
  EXPECT_FALSE(check_history(Written().journals));
}

// Who is further down has to stop before what it uses may be taken.
TEST(History, AFenceThatTheChildTakesForLaterIsNamed) {
  for (const Duration its : {Duration{0}, Duration{61}}) {
    Pair pair;
    std::vector<Journal> journals{
        {"/", std::nullopt, kParent, {{0, entry::Granted{units("0-7"), kTimeMax}}}},
        {"/7", 0, kChild, {}}};
    const Turn offer = *extend(pair.parent, kChild, {.units = units("0"), .fence = 60});
    journals[0].entries.push_back({1, offer.entries.front()});
    const Turn taking = receive(pair.child, kParent, offer.sent.front().message, 0);
    journals[1].entries.push_back({2, taking.entries.front()});
    EXPECT_FALSE(check_history(journals));
    std::get<entry::Took>(journals[1].entries.back().entry).extend.fence = its;
    const auto found = check_history(journals);
    ASSERT_TRUE(found) << its;
    EXPECT_EQ(found->breach.path, "/7");
    EXPECT_EQ(found->breach.invariant, 6);
    EXPECT_EQ(found->entry, 0u);
  }
}

TEST(History, AFenceThatALenderHasForLaterThanItsOwnIsNamed) {
  for (const Duration its : {Duration{0}, Duration{61}}) {
    Pair pair;
    pair.at_parent(*extend(pair.parent, kChild, {.units = units("0"), .fence = 60}));
    const Turn on = *extend(pair.child, Peer{1}, {.units = units("0"), .fence = 30});
    Book middle = *commit(pair.child, on);
    const auto breach_in = [&] {
      return check({{"/", std::nullopt, kParent, pair.parent}, {"/7", 0, kChild, middle}});
    };
    EXPECT_FALSE(breach_in());
    middle.links[Peer{1}].holdings.front().fence = its;
    const auto found = breach_in();
    ASSERT_TRUE(found) << its;
    EXPECT_EQ(found->invariant, 6);
    EXPECT_EQ(found->path, "/7");
  }
}

TEST(History, ClocksMayDiffer) {
  Written written;
  for (Recorded& recorded : written.journals[1].entries) recorded.time += 1000;
  EXPECT_FALSE(check_history(written.journals));
}

// The child lends unit 0 until 400; a job above runs on it.
TEST(History, AJobOnWhatIsLentThatLastsLongerIsNamed) {
  Book child = *commit({}, {{entry::Granted{units("0-7"), kTimeMax}}, {}, {}});
  Book parent = *commit(child, *begin(child, kChild, units("0-7"), kTimeMax));
  std::vector<Journal> journals{
      {"/", std::nullopt, kParent, {{0, entry::Granted{units("0-7"), kTimeMax}}}},
      {"/7", 0, kChild, {{2, entry::Granted{units("0-7"), kTimeMax}}}}};
  journals[0].entries.push_back({1, entry::Began{kChild, units("0-7"), kTimeMax}});
  const Turn lending = *release(child, {.units = units("0"), .back_at = 400});
  journals[1].entries.push_back({3, lending.entries.front()});
  const Turn taken = receive(parent, kChild, lending.sent.front().message, 0);
  parent = *commit(parent, taken);
  journals[0].entries.push_back({4, taken.entries.front()});
  journals[0].entries.push_back({5, gone(parent, kChild, units("0"))->entries.front()});
  journals[0].uses = {{JobId(9), units("0"), 6, 400}};
  EXPECT_FALSE(check_history(journals));
  journals[0].uses = {{JobId(9), units("0"), 6, 401}};
  auto breach = check_history(journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 7);
  // Nor does the instance above take it for longer than it is lent.
  journals[0].uses.clear();
  std::get<entry::Returned>(journals[0].entries[2].entry).release.back_at = 402;
  breach = check_history(journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 7);
}

TEST(History, AUnitGivenBeforeItWasGoneIsNamed) {
  Written written;
  auto& entries = written.journals[0].entries;
  std::erase_if(entries, [](const Recorded& recorded) {
    return std::holds_alternative<entry::Gone>(recorded.entry);
  });
  const auto breach = check_history(written.journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.path, "/");
  EXPECT_EQ(breach->entry, entries.size() - 1);
  EXPECT_EQ(breach->breach.what, "offered: units that are not free");
}

TEST(History, AnAnswerToNothingIsNamed) {
  Written written;
  written.journals[1].entries.clear();
  const auto breach = check_history(written.journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 3);
  EXPECT_EQ(breach->breach.what, "settled: it answers what the other side has never written");
}

// The child's answer to the answer is as unfounded, and is a moment older by its clock.
TEST(History, TheFirstAnswerToNothingIsNamedWhateverTheClocksSay) {
  Written written;
  auto& entries = written.journals[1].entries;
  std::erase_if(entries, [](const Recorded& recorded) {
    return std::holds_alternative<entry::Released>(recorded.entry);
  });
  entries.push_back({entries.back().time, entry::Acked{1}});
  const auto breach = check_history(written.journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.path, "/");
  EXPECT_EQ(breach->breach.what, "returned: it answers what the other side has never written");
}

TEST(History, AReleaseThatTheParentHasForgottenIsNamed) {
  Written written;
  written.journals[0].entries.resize(3);  // up to `settled`
  written.journals[1].entries.push_back({99, entry::Acked{1}});
  const auto breach = check_history(written.journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.path, "/7");
}

// ---- histories that are not whole, or not of one moment

TEST(History, OfAChildWhoseJournalIsNotThereIsTakenForRight) {
  Written written;
  written.journals.pop_back();
  EXPECT_FALSE(check_history(written.journals));
  Written other;
  other.journals.erase(other.journals.begin());
  other.journals[0].parent.reset();
  EXPECT_FALSE(check_history(other.journals));
}

TEST(History, WhatTheParentWroteAfterItsJournalWasReadIsNoBreach) {
  Written written;
  auto& parent = written.journals[0];
  // Up to `settled`: the release is taken, and acknowledged, meanwhile.
  parent.later.assign(parent.entries.begin() + 3, parent.entries.end());
  parent.entries.resize(3);
  written.journals[1].entries.push_back({99, entry::Acked{1}});
  written.journals[1].entries.push_back({99, entry::Asked{}});
  const auto proven = prove(written.journals);
  EXPECT_FALSE(proven.breach) << proven.breach->breach.what;
  EXPECT_EQ(proven.looked_at, (std::vector<std::size_t>{3, 2}));
  parent.later.clear();
  ASSERT_TRUE(check_history(written.journals));
}

// The root was read before its child answered it, and that one before its own child did.
TEST(History, WhatFollowsWhatIsNotLookedAtAboveIsNotLookedAt) {
  Book root = *commit({}, {{entry::Granted{units("0-7"), kTimeMax}}, {}, {}}), child, grandchild;
  std::vector<Journal> journals{
      {"/", std::nullopt, kParent, {{1, entry::Granted{units("0-7"), kTimeMax}}}},
      {"/7", 0, kChild, {}},
      {"/7/3", 1, Peer{3}, {}}};
  const auto write = [&](Book& book, std::size_t journal, const Turn& turn) {
    book = *commit(book, turn);
    for (const Entry& entry : turn.entries) journals[journal].entries.push_back({2, entry});
    return turn.sent.front().message;
  };
  const auto first = write(root, 0, *extend(root, kChild, {.units = units("0")}));
  const auto taken = write(child, 1, receive(child, kParent, first, 0));
  const auto passed_on = write(child, 1, *extend(child, Peer{3}, {.units = units("0")}));
  write(grandchild, 2, receive(grandchild, kParent, passed_on, 0));
  EXPECT_FALSE(check_history(journals));
  auto& above = journals[0];
  above.later.assign(above.entries.begin() + 1, above.entries.end());
  above.entries.resize(1);
  const auto proven = prove(journals);
  EXPECT_FALSE(proven.breach) << proven.breach->breach.what;
  EXPECT_EQ(proven.looked_at, (std::vector<std::size_t>{1, 0, 0}));
  above.later.clear();
  EXPECT_TRUE(check_history(journals));
}

TEST(History, BeginsAnewWithTheBookOfItsInstance) {
  Written written;
  auto& entries = written.journals[0].entries;
  entries.push_back({100, entry::Granted{units("0-7"), kTimeMax}});
  ASSERT_TRUE(check_history(written.journals));
  entries.back().begins_anew = true;
  EXPECT_FALSE(check_history(written.journals));
}

// A parent that begins a child, and gives it unit 4 for `offered` ms; the child takes it for
// `taken`. Their clocks differ by an hour.
std::vector<Journal> taken_for(Time offered, Time taken) {
  constexpr Time kHour = 3'600'000;
  Extend offer{.op = 1, .from = 0, .units = units("4"), .until = 10 + offered};
  Extend took = offer;
  took.until = kHour + 500 + taken;
  return {
      {"/",
       std::nullopt,
       kParent,
       {{1, entry::Granted{units("0-7"), kTimeMax}},
        {2, entry::Began{kChild, units("0-1"), kTimeMax}},
        {10, entry::Offered{kChild, offer}},
        {600, entry::Settled{kChild, 1, true}}}},
      {"/7",
       0,
       kChild,
       {{kHour + 1, entry::Granted{units("0-1"), kTimeMax}}, {kHour + 500, entry::Took{took}}}}};
}

TEST(History, AChildKeepsNothingForLongerThanItWasOffered) {
  EXPECT_FALSE(check_history(taken_for(1'000, 1'000)));
  EXPECT_FALSE(check_history(taken_for(1'000, 400)));
  const auto breach = check_history(taken_for(1'000, 61'000));
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 6);
  EXPECT_EQ(breach->breach.path, "/7");
  EXPECT_EQ(breach->breach.what, "units 4 are taken for 61 s, and were offered for 1 s");
}

TEST(History, WhatIsAChildsOwnIsNotAskedBack) {
  auto journals = taken_for(1'000, 1'000);
  auto& parent = journals[0].entries;
  parent.push_back({700, entry::AskedBack{kChild, {.op = 2, .units = units("4")}}});
  EXPECT_FALSE(check_history(journals));
  parent.push_back({701, entry::AskedBack{kChild, {.op = 3, .units = units("1,4")}}});
  const auto breach = check_history(journals);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 5);
  EXPECT_EQ(breach->breach.what, "units 1 are the own of child 7, and are asked back");
}

TEST(History, NoJobBeginsOnWhatGoesBackBeforeItsEnd) {
  auto journals = taken_for(1'000, 1'000);
  constexpr Time kTaken = 3'600'500;  // by the child's clock, for a second
  const auto with = [&](Units on, Time begin, Time end) {
    journals[1].uses = {{JobId(3), std::move(on), begin, end}};
    return check_history(journals);
  };
  EXPECT_FALSE(with(units("0-1,4"), kTaken, kTaken + 1'000));
  EXPECT_FALSE(with(units("0-1"), kTaken, kTimeMax)) << "its own";
  EXPECT_FALSE(with(units("4"), kTaken - 1, kTimeMax)) << "another one's, before";
  const auto breach = with(units("0-1,4"), kTaken, kTaken + 61'000);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->breach.invariant, 7);
  EXPECT_EQ(breach->breach.what, "job 3 began on units 4, which go back in 1 s, for 61 s");
}

TEST(History, EachBrokenInvariantIsNamedByItsNumber) {
  const auto broken_by = [](Entry entry) {
    auto journals = taken_for(1'000, 1'000);
    journals[0].entries.push_back({700, std::move(entry)});
    const auto breach = check_history(journals);
    return breach && breach->entry == 4 ? breach->breach.invariant : 0;
  };
  EXPECT_EQ(broken_by(entry::Offered{kChild, {.op = 2, .from = 1, .units = units("4")}}), 1);
  EXPECT_EQ(broken_by(entry::Offered{kChild, {.op = 2, .from = 2, .units = units("5")}}), 2);
  EXPECT_EQ(broken_by(entry::Settled{kChild, 7, true}), 3);
  EXPECT_EQ(broken_by(entry::Gone{kChild, units("4")}), 4);
  EXPECT_EQ(broken_by(entry::Raised{kChild, 2, "silent"}), 8);
  EXPECT_EQ(broken_by(entry::Offered{kChild, {.op = 2, .from = 1, .units = units("5")}}), 0);
  EXPECT_STREQ(title_of(4), "actual departure");
}

}  // namespace
}  // namespace holon::holdings
