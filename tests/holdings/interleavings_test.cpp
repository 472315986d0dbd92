// All that three instances, three units and an unkind network can do within some bounds: nothing of
// it breaks an invariant, and faults planted on purpose are found.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <unordered_set>

#include "base/checksum.hpp"
#include "tests/holdings/small_tree.hpp"

namespace holon::holdings {
namespace {

// Does nothing happen any more if nobody begins anything, and nothing fails?
bool rests(const SmallTree& tree, const std::vector<Move>& moves) {
  return std::none_of(moves.begin(), moves.end(),
                      [&](const Move& move) { return move.after.left == tree.left; });
}

struct Explored {
  std::size_t states = 0;
  std::string trouble;             // the first; "": none
  std::vector<std::string> story;  // the moves that lead to it
};

// Breadth first, each state once: the first trouble has the shortest story.
class Exploration {
 public:
  Exploration(const SmallTree& begin, const Code& code, std::size_t most)
      : code_(code), most_(most) {
    add(begin, "", 0);
  }

  Explored run() {
    while (!open_.empty() && found_.trouble.empty() && found_.states < most_) {
      const auto [tree, at] = std::move(open_.front());
      open_.pop_front();
      std::vector<Move> moves = moves_from(tree, code_);
      judge(tree, at, rests(tree, moves));
      for (Move& move : moves) add(std::move(move.after), std::move(move.name), at);
    }
    return std::move(found_);
  }

 private:
  struct Past {
    std::string move;
    std::size_t before = 0;
  };
  struct Open {
    SmallTree tree;
    std::size_t at;
  };

  void add(SmallTree tree, std::string move, std::size_t before) {
    if (!seen_.insert(checksum(bytes_of(tree))).second) return;
    ++found_.states;
    past_.push_back({std::move(move), before});
    open_.push_back({std::move(tree), past_.size() - 1});
  }
  void judge(const SmallTree& tree, std::size_t at, bool at_rest) {
    found_.trouble = trouble_in(tree, at_rest);
    if (found_.trouble.empty()) return;
    for (; at != 0; at = past_[at].before)
      found_.story.insert(found_.story.begin(), past_[at].move);
  }

  const Code& code_;
  std::size_t most_;
  std::deque<Open> open_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Past> past_;
  Explored found_;
};

std::string told(const Explored& explored) {
  std::string text = explored.trouble;
  for (const std::string& move : explored.story) text += "\n  " + move;
  return text;
}

constexpr std::size_t kEnd = 1'000'000;  // more states than any that is gone through to its end has
constexpr std::size_t kInSuite = 20'000;  // the nearest ones; soak_holdings goes on

// Breadth first: what few steps lead to is all tried before what takes more of them.
void expect_sound(const SmallTree& tree, std::size_t most) {
  const Explored explored = Exploration(tree, {}, most).run();
  EXPECT_EQ(explored.trouble, "") << told(explored);
  testing::Test::RecordProperty("states", std::to_string(explored.states));
  const bool is_whole = explored.states < most;
  EXPECT_TRUE(is_whole || most != kEnd) << "not all of them were tried";
}
void expect_sound_near(Bounds bounds) {
  expect_sound(fork_of_three(bounds), kInSuite);
  expect_sound(chain_of_three(bounds), kInSuite);
}

constexpr Bounds kOneAct{.acts = 1, .repeats = 1, .cuts = 1, .crashes = 1, .jobs = 0};
constexpr Bounds kDuplicates{.acts = 2, .repeats = 2, .cuts = 0, .crashes = 0, .jobs = 0};
constexpr Bounds kLosses{.acts = 2, .repeats = 0, .cuts = 1, .crashes = 1, .jobs = 0};
constexpr Bounds kJobs{.acts = 2, .repeats = 1, .cuts = 0, .crashes = 0, .jobs = 1};
constexpr Bounds kDeep{.acts = 3, .repeats = 0, .cuts = 0, .crashes = 0, .jobs = 0};

TEST(Interleavings, OfOneActInAForkAreAllSound) {
  expect_sound(fork_of_three(kOneAct), kEnd);
}
TEST(Interleavings, OfOneActInAChainAreAllSound) {
  expect_sound(chain_of_three(kOneAct), kEnd);
}
TEST(Interleavings, OfThreeActsAreSound) {
  expect_sound_near(kDeep);
}
TEST(Interleavings, AreSoundThoughMessagesComeTwice) {
  expect_sound_near(kDuplicates);
}
TEST(Interleavings, AreSoundThoughMessagesAreLostAndInstancesDie) {
  expect_sound_near(kLosses);
}
TEST(Interleavings, AreSoundWhileJobsRun) {
  expect_sound_near(kJobs);
}

// Takes minutes: the target soak_holdings runs it.
constexpr Bounds kSoak{.acts = 6, .repeats = 1, .cuts = 1, .crashes = 1, .jobs = 1};
TEST(Interleavings, DISABLED_SoakOfAFork) {
  const Explored explored = Exploration(fork_of_three(kSoak), {}, 500'000).run();
  EXPECT_EQ(explored.trouble, "") << told(explored);
}
TEST(Interleavings, DISABLED_SoakOfAChain) {
  const Explored explored = Exploration(chain_of_three(kSoak), {}, 500'000).run();
  EXPECT_EQ(explored.trouble, "") << told(explored);
}

// Long walks, of which only the ends are chosen at random, through the same states.
RC_GTEST_PROP(Interleavings, OfLongWalksAreSoundAndSoAreTheirJournals, ()) {
  const Bounds many{.acts = 20, .repeats = 10, .cuts = 5, .crashes = 5, .jobs = 10};
  SmallTree tree = *rc::gen::arbitrary<bool>() ? fork_of_three(many) : chain_of_three(many);
  tree.keeps_journals = true;
  std::vector<Move> moves = moves_from(tree, {});
  for (int i = 0; i < 200 && !moves.empty(); ++i) {
    const auto chosen = *rc::gen::inRange<std::size_t>(0, moves.size());
    tree = std::move(moves[chosen].after);
    moves = moves_from(tree, {});
    const std::string trouble = trouble_in(tree, rests(tree, moves));
    RC_ASSERT(trouble == "");
  }
  const auto breach = check_history(journals_of(tree));
  if (breach) RC_FAIL(breach->breach.path + ": " + breach->breach.what);
}

// ---- faults planted on purpose

void expect_found(const char* fault, const Code& code, const std::vector<SmallTree>& trees) {
  for (const SmallTree& tree : trees) {
    const Explored explored = Exploration(tree, code, 300'000).run();
    EXPECT_NE(explored.trouble, "")
        << fault << " was not found in " << explored.states << " states";
  }
}
void expect_found(const char* fault, const Code& code, Bounds bounds) {
  expect_found(fault, code, {fork_of_three(bounds), chain_of_three(bounds)});
}

template <class Wanted>
const Wanted* entry_in(const Turn& turn) {
  for (const Entry& entry : turn.entries)
    if (const auto* found = std::get_if<Wanted>(&entry)) return found;
  return nullptr;
}

TEST(PlantedFaults, ADeltaAppliedTwiceIsFound) {
  Code code;
  code.receive = [](const Book& book, Peer from, const Message& message) {
    Book forgetful = book;
    Message fresh = message;
    if (auto* extend = std::get_if<Extend>(&fresh)) {
      forgetful.links[kParent].kept.clear();
      extend->from = link_to(book, kParent).epoch;
    }
    return receive(forgetful, from, fresh, 0);
  };
  expect_found("a delta applied twice", code, kDuplicates);
}

TEST(PlantedFaults, AnEpochSkippedIsFound) {
  Code code;
  code.commit = [](const Book& book, const Turn& turn) {
    auto after = commit(book, turn);
    if (after && entry_in<entry::Took>(turn)) ++after->links[kParent].epoch;
    return after;
  };
  expect_found("an epoch skipped", code, kDuplicates);
}

TEST(PlantedFaults, ALentUnitThatIsNotReturnedIsFound) {
  Code code;
  code.commit = [](const Book& book, const Turn& turn) {
    auto after = commit(book, turn);
    const auto* returned = entry_in<entry::Returned>(turn);
    if (!after || !returned) return after;
    for (Holding& holding : after->links[returned->child].holdings)
      if (holding.state == State::returned) holding.state = State::held;
    return after;
  };
  expect_found("a lent unit not returned", code, kDuplicates);
}

TEST(PlantedFaults, ALoanThatIsTakenForGoodIsFound) {
  Code code;
  code.commit = [](const Book& book, const Turn& turn) {
    auto after = commit(book, turn);
    if (const auto* returned = entry_in<entry::Returned>(turn); after && returned)
      after->links[returned->child].loans.clear();
    return after;
  };
  expect_found("a loan taken for good", code, kLosses);
}

// Two hold it then: the child, which has it back, and who has it above.
TEST(PlantedFaults, ALoanThatComesBackWhileItIsGivenOnIsFound) {
  Code code;
  code.receive = [](const Book& book, Peer from, const Message& message) {
    Turn turn = receive(book, from, message, 0);
    const auto* reclaim = std::get_if<Reclaim>(&message);
    if (reclaim == nullptr || turn.entries.empty()) return turn;
    Book careless = book;
    for (auto& [peer, link] : careless.links)
      if (peer != kParent) link.holdings.clear();
    if (auto back = extend(careless, from, {.units = reclaim->units, .source = Source::returned}))
      turn.entries.push_back(back->entries.front());
    return turn;
  };
  expect_found("a loan that comes back too early", code,
               {fork_of_three({.acts = 4, .repeats = 0, .cuts = 0, .crashes = 0, .jobs = 0})});
}

// The move of this name, which can be made.
SmallTree after_move(const SmallTree& tree, const std::string& name, const Code& code) {
  for (const Move& move : moves_from(tree, code))
    if (move.name == name) return move.after;
  ADD_FAILURE() << "nothing that can happen is: " << name;
  return tree;
}
SmallTree after_messages(SmallTree tree, int count, const Code& code) {
  for (int i = 0; i < count; ++i)
    for (const Move& move : moves_from(tree, code))
      if (move.name.starts_with("message ")) {
        tree = move.after;
        break;
      }
  return tree;
}

// A child has lent a unit, which is on its way back as the child is fenced around another one.
SmallTree fenced_as_a_loan_comes_back(const Code& code) {
  SmallTree tree = fork_of_three({.acts = 6, .repeats = 0, .cuts = 0, .crashes = 0, .jobs = 0});
  for (const char* unit : {"unit 0 to 1", "unit 1 to 1"})
    tree = after_messages(after_move(tree, unit, code), 2, code);
  tree = after_messages(after_move(tree, "1 lends", code), 2, code);
  tree = after_move(tree, "unit 0 is clear", code);
  tree = after_move(tree, "recall of 1", code);
  tree = after_move(tree, "what 1 has lent comes back", code);
  tree = after_move(tree, "fence of 1 around 1", code);
  tree.left = {.acts = 0, .repeats = 0, .cuts = 1, .crashes = 1, .jobs = 0};
  return tree;
}

// Whether the child has taken it or not, it is the child's in the end.
TEST(Interleavings, AreSoundWhereAFenceMeetsALoanThatComesBack) {
  const SmallTree tree = fenced_as_a_loan_comes_back({});
  EXPECT_FALSE(units_in(link_to(tree.books[0], Peer{1}), State::lost).empty());
  EXPECT_FALSE(lent_on(link_to(tree.books[0], Peer{1})).empty());
  expect_sound(tree, kEnd);
}

TEST(PlantedFaults, ALoanLostToAFenceThatIsNotGivenBackIsFound) {
  Code code;
  code.give_back = [](const Book& book, Peer child, Extend wanted) {
    wanted.source = Source::returned;
    return extend(book, child, wanted);  // of what is free alone
  };
  expect_found("a loan lost to a fence", code, {fenced_as_a_loan_comes_back({})});
}

TEST(PlantedFaults, AFenceThatTheChildIgnoresIsFound) {
  Code code;
  code.commit = [](const Book& book, const Turn& turn) {
    auto after = commit(book, turn);
    if (after && entry_in<entry::Learned>(turn))
      after->links[kParent].holdings = link_to(book, kParent).holdings;
    return after;
  };
  expect_found("a fence ignored by the child", code, kLosses);
}

TEST(PlantedFaults, AFenceThatTheAgentsIgnoreIsFound) {
  Code code;
  code.heeds_bar = false;
  expect_found("a fence ignored by the agents", code,
               {.acts = 2, .repeats = 0, .cuts = 0, .crashes = 0, .jobs = 1});
}

TEST(PlantedFaults, AUnitFreedOnTheWordOfTheChildAloneIsFound) {
  Code code;
  code.commit = [](const Book& book, const Turn& turn) {
    auto after = commit(book, turn);
    if (const auto* returned = entry_in<entry::Returned>(turn); after && returned)
      after = fold(*after, entry::Gone{returned->child, returned->release.units});
    return after;
  };
  expect_found("a unit freed on the child's word alone", code, kJobs);
}

}  // namespace
}  // namespace holon::holdings
