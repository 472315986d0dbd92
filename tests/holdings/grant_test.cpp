// A grant between one parent and one child, step by step.
#include <gtest/gtest.h>

#include "tests/holdings/pair.hpp"

namespace holon::holdings {
namespace {

template <class Wanted>
const Wanted* only(const Turn& turn) {
  return turn.sent.size() == 1 ? std::get_if<Wanted>(&turn.sent.front().message) : nullptr;
}

TEST(Grant, AChildBeginsWithItsOwnAndGivesAllBackWhenItIsOver) {
  Pair pair;
  pair.parent = *commit(pair.parent, *begin(pair.parent, kChild, units("0-1"), kTimeMax));
  pair.child = *commit(pair.child, {{entry::Granted{units("0-1"), kTimeMax}}, {}, {}});
  EXPECT_FALSE(pair.breach());
  EXPECT_EQ(free_in(pair.parent), units("2-7"));
  EXPECT_FALSE(begin(pair.parent, kChild, units("2"), kTimeMax)) << "it has begun";
  EXPECT_FALSE(begin(pair.parent, Peer{8}, units("1-2"), kTimeMax)) << "1 is another child's";
  pair.give("4-5", 500);
  EXPECT_FALSE(pair.breach());
  EXPECT_EQ(units_of(pair.up()), units("0-1,4-5"));
  EXPECT_EQ(pair.up().epoch, 1u);
  pair.parent = *commit(pair.parent, *over(pair.parent, kChild));
  EXPECT_EQ(free_in(pair.parent), units("0-7"));
  EXPECT_EQ(over(pair.parent, kChild).error().code, Errc::not_found);
  EXPECT_FALSE(pair.breach()) << "what a child that is over has in its journal counts for nothing";
}

TEST(Grant, GivesUnitsInTwoPhases) {
  Pair pair;
  const Turn offer = *extend(pair.parent, kChild, {.units = units("0-3"), .until = 500});
  pair.parent = *commit(pair.parent, offer);
  EXPECT_EQ(units_in(pair.down(), State::offered), units("0-3"));
  EXPECT_EQ(free_in(pair.parent), units("4-7"));
  pair.at_child(receive(pair.child, kParent, offer.sent.front().message, 0));
  EXPECT_EQ(units_in(pair.down(), State::held), units("0-3"));
  EXPECT_EQ(free_in(pair.child), units("0-3"));
  EXPECT_EQ(pair.down().epoch, 1u);
  EXPECT_EQ(pair.up().epoch, 1u);
  EXPECT_EQ(until_of(pair.child, units("1")), 500);
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, UnitsComeFreeWhenTheParentsOwnAgentsSaySo) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*release(pair.child, {.units = units("2,3")}));
  EXPECT_EQ(units_of(pair.up()), units("0-1"));
  EXPECT_EQ(to_clear(pair.down()), units("2-3"));
  EXPECT_EQ(free_in(pair.parent), units("4-7"));
  pair.at_parent(*gone(pair.parent, kChild, units("2")));
  EXPECT_EQ(free_in(pair.parent), units("2,4-7"));
  EXPECT_FALSE(gone(pair.parent, kChild, units("1")));  // it is held
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, WhatAJobHasIsNeitherGivenNorReleased) {
  Pair pair;
  pair.at_parent(*place(pair.parent, units("5")));
  EXPECT_FALSE(extend(pair.parent, kChild, {.units = units("4-5")}));
  pair.give("0-1");
  pair.at_child(*place(pair.child, units("1")));
  EXPECT_FALSE(release(pair.child, {.units = units("1")}));
  pair.at_child(vacate(pair.child, units("1")));
  EXPECT_TRUE(release(pair.child, {.units = units("1")}));
}

TEST(Grant, TermsNest) {
  Pair pair;
  pair.parent = *commit({}, {{entry::Granted{units("0-7"), 1000}}, {}, {}});
  EXPECT_FALSE(extend(pair.parent, kChild, {.units = units("0"), .until = 1001}));
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("0"), .until = 600, .notice = 60}));
  EXPECT_FALSE(extend(pair.child, Peer{1}, {.units = units("0"), .until = 601}));
  EXPECT_FALSE(extend(pair.child, Peer{1}, {.units = units("0"), .until = 600, .notice = 61}));
  EXPECT_TRUE(extend(pair.child, Peer{1}, {.units = units("0"), .until = 600, .notice = 60}));
}

TEST(Grant, ARepeatedDeltaGetsItsFirstAnswer) {
  Pair pair;
  pair.give("0-1");
  Extend again{.op = 1, .from = 0, .units = units("0-1")};
  EXPECT_TRUE(only<Taken>(receive(pair.child, kParent, again, 0)));
  again.units = units("6");  // whatever it says now
  const Turn turn = receive(pair.child, kParent, again, 0);
  EXPECT_TRUE(only<Taken>(turn));
  EXPECT_TRUE(turn.entries.empty());
}

TEST(Grant, ADeltaFromAnotherEpochChangesNothing) {
  Pair pair;
  pair.give("0-1");
  const Turn forged =
      receive(pair.parent, kChild, Release{.op = 9, .from = 5, .units = units("0")}, 0);
  EXPECT_TRUE(only<Stale>(forged));
  EXPECT_TRUE(forged.entries.empty());
  const Turn ahead =
      receive(pair.child, kParent, Extend{.op = 9, .from = 5, .units = units("2")}, 0);
  EXPECT_TRUE(only<Hello>(ahead));
  EXPECT_TRUE(ahead.entries.empty());
}

TEST(Grant, WhatAChildDoesNotHoldIsNotReleasedByIt) {
  Pair pair;
  pair.give("0-1");
  pair.at_parent(*extend(pair.parent, Peer{8}, {.units = units("2")}));
  const Turn turn =
      receive(pair.parent, kChild, Release{.op = 9, .from = 1, .units = units("2")}, 0);
  EXPECT_TRUE(only<Stale>(turn));
  EXPECT_TRUE(turn.entries.empty());
  EXPECT_TRUE(
      receive(pair.parent, Peer{99}, Release{.op = 1, .units = units("2")}, 0).sent.empty());
}

TEST(Grant, AnExtendAndAReleaseThatCrossAreSettledForTheParent) {
  Pair pair;
  pair.give("0-1");
  const Turn offer = *extend(pair.parent, kChild, {.units = units("2")});
  const Turn giving = *release(pair.child, {.units = units("0")});
  pair.parent = *commit(pair.parent, offer);
  pair.child = *commit(pair.child, giving);
  EXPECT_FALSE(pair.breach());
  const Turn late = receive(pair.parent, kChild, giving.sent.front().message, 0);
  EXPECT_TRUE(only<Stale>(late));
  pair.at_child(receive(pair.child, kParent, offer.sent.front().message, 0));
  EXPECT_EQ(units_in(pair.up(), State::draining), units("0"));
  EXPECT_EQ(units_of(pair.down()), units("0-2"));
  pair.at_child(receive(pair.child, kParent, late.sent.front().message, 0));  // nothing any more
  pair.at_child(*release(pair.child, {.units = units("0")}));
  EXPECT_EQ(units_of(pair.up()), units("1-2"));
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, ARecallSaysAtOnceWhatComesWhen) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*place(pair.child, units("1")));
  const Turn asked =
      *recall(pair.parent, kChild, {.units = units("0-1"), .by = 90, .why = "job 5"});
  pair.parent = *commit(pair.parent, asked);
  const Turn answer = receive(pair.child, kParent, asked.sent.front().message, 30);
  const Will* will = only<Will>(answer);
  ASSERT_TRUE(will);
  EXPECT_EQ(will->units, (std::vector<Due>{{units("0"), 30}, {units("1"), 90}}));
  pair.at_child(answer);
  EXPECT_EQ(units_in(pair.up(), State::asked_back), units("0-1"));
  EXPECT_EQ(units_in(pair.down(), State::draining), units("0-1"));
  EXPECT_EQ(free_in(pair.child), units("2-3"));  // no job begins on what is asked back
  pair.at_child(*release(pair.child, {.units = units("0")}));
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, ARecallIsMadeHarderWhileItIsOpen) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*place(pair.child, units("1")));
  pair.at_parent(*recall(pair.parent, kChild, {.units = units("0-1"), .by = 90, .why = "a"}));
  const Recall harder{.units = units("0-1"), .by = 70, .mode = RecallMode::kill, .why = "b"};
  pair.at_parent(*recall(pair.parent, kChild, harder));
  for (const Link* link : {&pair.up(), &pair.down()}) {
    ASSERT_EQ(link->recalls.size(), 1u);
    EXPECT_EQ(link->recalls.front().mode, RecallMode::kill);
    EXPECT_EQ(link->recalls.front().by, 70);
    EXPECT_EQ(link->holdings.front().why, "b");
  }
  EXPECT_FALSE(pair.breach());
  // What is open says as much as these: neither an entry nor a message.
  const Recall softer{.units = units("1"), .by = 10, .mode = RecallMode::drain};
  const Recall later{.units = units("0"), .by = 80, .mode = RecallMode::kill};
  for (const Recall& wanted : {harder, softer, later}) {
    const Turn turn = *recall(pair.parent, kChild, wanted);
    EXPECT_TRUE(turn.entries.empty());
    EXPECT_TRUE(turn.sent.empty());
  }
}

TEST(Grant, ASecondRecallDoesNotWaitForTheFirst) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*place(pair.child, units("0-1")));
  pair.at_parent(*recall(pair.parent, kChild, {.units = units("0"), .by = 90}));
  pair.at_parent(*recall(pair.parent, kChild, {.units = units("1"), .by = 50}));
  EXPECT_EQ(pair.up().recalls.size(), 2u);
  EXPECT_EQ(units_in(pair.down(), State::draining), units("0-1"));
  pair.child = *commit(pair.child, vacate(pair.child, units("0")));
  pair.at_child(*release(pair.child, {.units = units("0")}));
  ASSERT_EQ(pair.up().recalls.size(), 1u);
  EXPECT_EQ(pair.up().recalls.front().units, units("1"));
  EXPECT_EQ(pair.down().recalls, pair.up().recalls);
}

// Both sides have open recalls in their journals, and the parent says them again.
TEST(Grant, ARecallThatWasLostComesAgainWithTheNextHello) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*place(pair.child, units("0-3")));
  pair.parent = *commit(pair.parent, *recall(pair.parent, kChild, {.units = units("0"), .by = 9}));
  pair.parent = *commit(
      pair.parent,
      *recall(pair.parent, kChild, {.units = units("0-1"), .by = 9, .mode = RecallMode::kill}));
  EXPECT_TRUE(pair.up().recalls.empty());
  pair.at_child(hello(pair.child));
  ASSERT_EQ(pair.up().recalls.size(), 1u);
  EXPECT_EQ(pair.up().recalls.front().mode, RecallMode::kill);
  const Book before = pair.child;
  pair.at_child(hello(pair.child));
  EXPECT_EQ(pair.child, before);
}

TEST(Grant, AFencedChildLearnsSoWhenItIsBack) {
  Pair pair;
  pair.give("0-3");
  pair.at_child(*place(pair.child, units("1")));
  pair.at_child(*extend(pair.child, Peer{1}, {.units = units("2")}));  // the grandchild is silent
  pair.parent = *commit(pair.parent, fence(pair.parent, kChild, "silent"));
  EXPECT_FALSE(pair.breach());
  EXPECT_EQ(free_in(pair.parent), units("4-7"));
  pair.parent = *commit(pair.parent, *gone(pair.parent, kChild, units("0-3")));
  const Turn stale =
      receive(pair.parent, kChild, Release{.op = 9, .from = 1, .units = units("0")}, 0);
  EXPECT_TRUE(only<Fenced>(stale));
  const Turn back = receive(pair.parent, kChild, hello(pair.child).sent.front().message, 0);
  ASSERT_TRUE(only<Fenced>(back));
  const Turn learned = receive(pair.child, kParent, back.sent.front().message, 0);
  ASSERT_EQ(learned.sent.size(), 2u);  // the grandchild hears of it, and the parent gets a hello
  EXPECT_EQ(learned.sent[0].to, Peer{1});
  pair.at_child(learned);
  EXPECT_TRUE(units_of(pair.up()).empty());
  EXPECT_TRUE(pair.child.busy.empty());
  EXPECT_TRUE(given_by(pair.child).empty());
  pair.give("0-1");
  EXPECT_EQ(free_in(pair.child), units("0-1"));
  EXPECT_FALSE(pair.breach());
}

// A child with 0 and 1 of its own, and 2 and 3 beyond that, of which 2 is recalled.
Pair with_a_recall() {
  Pair pair;
  pair.give("0-1");
  pair.give("2");
  pair.give("3");
  pair.parent = *commit(pair.parent, *recall(pair.parent, kChild, {.units = units("2"), .by = 9}));
  return pair;
}

TEST(Grant, AFenceAroundSomeUnitsLeavesTheRest) {
  Pair pair = with_a_recall();
  pair.child = *commit(pair.child, *place(pair.child, units("1-2")));
  pair.parent = *commit(pair.parent, fence(pair.parent, kChild, "silent", units("2")));
  EXPECT_FALSE(pair.breach());
  EXPECT_EQ(to_clear(pair.down()), units("2"));
  EXPECT_EQ(in_hand(pair.down()), units("0-1,3"));
  EXPECT_TRUE(pair.down().recalls.empty());
  EXPECT_FALSE(gone(pair.parent, kChild, units("3"))) << "it is the child's still";
  pair.parent = *commit(pair.parent, *gone(pair.parent, kChild, units("2")));
  EXPECT_EQ(free_in(pair.parent), units("2,4-7"));

  pair.at_child(hello(pair.child));
  EXPECT_EQ(units_of(pair.up()), units("0-1,3"));
  EXPECT_EQ(pair.child.busy, units("1"));
  EXPECT_FALSE(pair.breach());
  pair.give("2");
  pair.at_child(*release(pair.child, {.units = units("3")}));
  EXPECT_EQ(units_of(pair.up()), units("0-2"));
  EXPECT_EQ(to_clear(pair.down()), units("3"));
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, AReleaseThatWasUnderWayAsTheFenceCameIsMadeAgain) {
  Pair pair = with_a_recall();
  pair.child = *commit(pair.child, *release(pair.child, {.units = units("3")}));  // and is lost
  pair.parent = *commit(pair.parent, fence(pair.parent, kChild, "silent", units("2")));
  pair.at_child(hello(pair.child));
  EXPECT_FALSE(pair.up().releasing);
  EXPECT_EQ(units_in(pair.up(), State::draining), units("3"));
  pair.at_child(*release(pair.child, {.units = units("3")}));
  EXPECT_EQ(units_of(pair.up()), units("0-1"));
  EXPECT_EQ(to_clear(pair.down()), units("2-3"));
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, WhatIsOnItsWayToAFencedChildIsTakenToo) {
  Pair pair = with_a_recall();
  const Ask asked = pair.asks();
  pair.parent = *commit(pair.parent,
                        *extend(pair.parent, kChild, {.units = units("5"), .answers = asked.op}));
  const Extend offered = *pair.down().extending;
  pair.child = *commit(pair.child, receive(pair.child, kParent, offered, 0));  // nobody hears it
  pair.parent = *commit(pair.parent, fence(pair.parent, kChild, "silent", units("2")));
  EXPECT_EQ(to_clear(pair.down()), units("2,5"));
  EXPECT_FALSE(pair.down().extending);
  pair.at_child(hello(pair.child));
  EXPECT_EQ(units_of(pair.up()), units("0-1,3"));
  const Turn again = receive(pair.parent, kChild, asked, 0);
  ASSERT_TRUE(only<No>(again)) << "an answer that names what was taken would never be taken";
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, WhatIsLentOnMayBeFencedNoLaterThanItself) {
  Pair pair;
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("0-1"), .fence = 60}));
  EXPECT_EQ(fence_of(pair.child, units("0")), 60);
  EXPECT_FALSE(extend(pair.child, Peer{1}, {.units = units("0"), .fence = 90}));
  EXPECT_FALSE(extend(pair.child, Peer{1}, {.units = units("0")}));
  EXPECT_TRUE(extend(pair.child, Peer{1}, {.units = units("0"), .fence = 60}));
}

TEST(Grant, HelloSettlesWhatWasLost) {
  Pair pair;
  const Turn offer = *extend(pair.parent, kChild, {.units = units("0")});
  pair.parent = *commit(pair.parent, offer);  // and the message is lost
  pair.at_child(hello(pair.child));
  EXPECT_EQ(units_in(pair.down(), State::held), units("0"));
  pair.child = *commit(pair.child, *release(pair.child, {.units = units("0"), .back_at = 400}));
  pair.at_child(hello(pair.child));
  EXPECT_EQ(to_clear(pair.down()), units("0"));
  EXPECT_EQ(pair.down().loans, (std::vector<Due>{{units("0"), 400}}));
  EXPECT_EQ(pair.up().loans, pair.down().loans);
}

TEST(Grant, ALoanIsOverWhenItsUnitsComeAgain) {
  Pair pair;
  pair.give("0-1");
  pair.at_child(*release(pair.child, {.units = units("0-1"), .back_at = 400}));
  pair.at_parent(*gone(pair.parent, kChild, units("0-1")));
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("1"), .source = Source::returned}));
  EXPECT_EQ(pair.up().loans, (std::vector<Due>{{units("0"), 400}}));
  EXPECT_EQ(pair.up().loans, pair.down().loans);
}

TEST(Grant, WhatAChildHasLentIsGivenToOthersNoLongerThanItIsLent) {
  Pair pair;
  pair.give("0-1");
  pair.at_child(*release(pair.child, {.units = units("0"), .back_at = 400}));
  pair.at_parent(*gone(pair.parent, kChild, units("0")));
  EXPECT_EQ(lent_until(pair.parent, units("0-1")), 400);
  EXPECT_FALSE(extend(pair.parent, Peer{8}, {.units = units("0"), .until = 401}));
  EXPECT_FALSE(extend(pair.parent, kChild, {.units = units("0"), .until = 400}));
  EXPECT_FALSE(extend(pair.parent, kChild, {.units = units("1"), .source = Source::returned}));
  const auto given = extend(pair.parent, Peer{8}, {.units = units("0"), .until = 400});
  ASSERT_TRUE(given) << given.error().what;
  EXPECT_FALSE(pair.breach());
  Turn longer = *given;
  std::get<entry::Offered>(longer.entries.front()).extend.until = 401;
  pair.parent = *commit(pair.parent, longer);
  ASSERT_TRUE(pair.breach());
  EXPECT_EQ(pair.breach()->invariant, 7);
}

TEST(Grant, WhatIsLentIsAskedBackOnceThoughThatIsSaidAgain) {
  Pair pair;
  pair.give("0-1");
  EXPECT_FALSE(reclaim(pair.child, {.units = units("0")}));
  pair.at_child(*release(pair.child, {.units = units("0"), .back_at = 400}));
  const Turn wanted = *reclaim(pair.child, {.units = units("0"), .mode = RecallMode::kill});
  pair.child = *commit(pair.child, wanted);  // and the message is lost
  pair.at_child(hello(pair.child));
  ASSERT_EQ(pair.down().reclaims.size(), 1U);
  EXPECT_EQ(pair.down().reclaims, pair.up().reclaims);
  pair.at_child(hello(pair.child));
  EXPECT_EQ(pair.down().reclaims.size(), 1U);
  pair.at_parent(*gone(pair.parent, kChild, units("0")));
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("0"), .source = Source::returned}));
  EXPECT_TRUE(pair.down().reclaims.empty());
  EXPECT_TRUE(pair.up().reclaims.empty());
  EXPECT_EQ(units_in(pair.up(), State::held), units("0-1"));
}

TEST(Grant, AFenceLeavesWhatIsLent) {
  Pair pair;
  pair.give("0");
  pair.give("1");
  const Turn lending = *release(pair.child, {.units = units("0"), .back_at = 400});
  pair.child = *commit(pair.child, lending);
  pair.parent = *commit(pair.parent, receive(pair.parent, kChild, lending.sent.front().message, 0));
  // The answer is lost, and the child is fenced.
  pair.at_parent(fence(pair.parent, kChild, "silent", units("1")));
  EXPECT_FALSE(pair.breach());
  EXPECT_EQ(pair.up().loans, (std::vector<Due>{{units("0"), 400}}));
  EXPECT_EQ(pair.up().loans, pair.down().loans);
  EXPECT_TRUE(units_of(pair.up()).empty());
}

TEST(Grant, ASpareTakesThePlaceOfASickUnit) {
  Pair pair;
  pair.give("0-1");
  pair.at_child(*place(pair.child, units("1")));
  pair.at_parent(*extend(pair.parent, kChild,
                         {.units = units("2"), .source = Source::spare, .replaces = units("1")}));
  EXPECT_EQ(units_of(pair.up()), units("0,2"));
  EXPECT_EQ(units_in(pair.down(), State::lost), units("1"));
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, AChildThatIsEndingTakesNothing) {
  Pair pair;
  pair.at_child(close(pair.child));
  pair.give("0-1");
  EXPECT_TRUE(units_of(pair.down()).empty());
  EXPECT_EQ(free_in(pair.parent), units("0-7"));
  EXPECT_EQ(pair.up().epoch, pair.down().epoch);
  EXPECT_FALSE(pair.breach());
}

TEST(Grant, AnAskIsAnsweredOnce) {
  Pair pair;
  pair.give("0");
  const Turn asked = ask(pair.child, {.jobspec = "node", .min = 1, .max = 2});
  pair.child = *commit(pair.child, asked);
  const Message& question = asked.sent.front().message;
  const Op op = std::get<Ask>(question).op;
  ASSERT_TRUE(receive(pair.parent, kChild, question, 0).heard);
  pair.at_parent(answer(pair.parent, kChild, op, Promise{op, 300}));
  EXPECT_TRUE(only<Promise>(receive(pair.parent, kChild, question, 0)));
  const Turn later = answer(pair.parent, kChild, op, Promise{op, 500});
  ASSERT_TRUE(only<Promise>(later));
  EXPECT_EQ(only<Promise>(later)->at, 300);
  // An ask that got units: the extend comes again, and changes nothing.
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("1"), .answers = op + 1}));
  const Turn twice = receive(pair.parent, kChild, Ask{.op = op + 1}, 0);
  ASSERT_TRUE(only<Extend>(twice));
  EXPECT_TRUE(only<Taken>(receive(pair.child, kParent, *only<Extend>(twice), 0)));
}

// The parent may give a unit anew before the child has heard that its release was taken.
TEST(Grant, TermsAreThoseOfWhatIsHeldNow) {
  Pair pair;
  pair.give("0-1");
  const Turn back = *release(pair.child, {.units = units("0")});
  pair.child = *commit(pair.child, back);
  pair.parent = *commit(pair.parent, receive(pair.parent, kChild, back.sent.front().message, 0));
  pair.parent = *commit(pair.parent, *gone(pair.parent, kChild, units("0")));
  pair.parent =
      *commit(pair.parent, *extend(pair.parent, kChild, {.units = units("0"), .until = 90}));
  EXPECT_FALSE(pair.breach()) << pair.breach()->what;
  pair.at_child(hello(pair.child));
  EXPECT_FALSE(pair.breach()) << pair.breach()->what;
  EXPECT_EQ(until_of(pair.child, units("0")), 90);
}

TEST(Grant, APromiseThatIsNotKeptBecomesANo) {
  Pair pair;
  pair.give("0");
  const Ask asked = pair.asks();
  const Op op = asked.op;
  pair.parent = *commit(pair.parent, answer(pair.parent, kChild, op, Promise{op, 60}));
  const Turn no = answer(pair.parent, kChild, op, No{op, "cancelled", ""});
  ASSERT_TRUE(only<No>(no));
  pair.parent = *commit(pair.parent, no);
  EXPECT_TRUE(only<No>(answer(pair.parent, kChild, op, Promise{op, 70}))) << "it is the last word";
  EXPECT_TRUE(only<No>(receive(pair.parent, kChild, asked, 0)));
}

TEST(Grant, AnOfferThatTheChildRefusedBecomesANo) {
  Pair pair;
  pair.give("0");
  const Op op = pair.asks().op;
  pair.child = *commit(pair.child, close(pair.child));
  pair.at_parent(*extend(pair.parent, kChild, {.units = units("1"), .answers = op}));
  EXPECT_TRUE(only<No>(answer(pair.parent, kChild, op, No{op, "it is ending", ""})));
}

TEST(Grant, ALeaseThatComesLateIsNotTaken) {
  Pair pair;
  pair.at_parent(lease(pair.parent, kChild, 700));
  const Lease first = pair.up().lease;
  pair.at_parent(lease(pair.parent, kChild, 900));
  EXPECT_TRUE(receive(pair.child, kParent, first, 0).entries.empty());
  EXPECT_EQ(pair.up().lease.until, 900);
}

TEST(Grant, TheLast64AnswersAreKept) {
  Pair pair;
  for (int i = 0; i < 70; ++i) {
    pair.give("0");
    pair.at_child(*release(pair.child, {.units = units("0")}));
    pair.at_parent(*gone(pair.parent, kChild, units("0")));
  }
  EXPECT_EQ(pair.up().kept.size(), 64u);
  EXPECT_EQ(pair.down().kept.size(), 64u);
  // One that is older is known by its epoch.
  const Turn old = receive(pair.child, kParent, Extend{.op = 1, .from = 0, .units = units("0")}, 0);
  EXPECT_TRUE(old.entries.empty());
}

}  // namespace
}  // namespace holon::holdings
