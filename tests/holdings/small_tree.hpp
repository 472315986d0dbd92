// small_tree.hpp - three instances, three units, a network that loses and repeats, and nodes on
// which processes are: everything that can happen next, one thing at a time.
//
// A unit has an agent of each instance that may start processes there. An agent is started with the
// epoch of its grant, by the agent of the parent, which refuses an epoch that it has been told to
// refuse (the bar). A process may outlast the job that its instance believes to be over:
// then what it says of a unit that it gives back is not true.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdings/check.hpp"
#include "holdings/grant.hpp"

namespace holon::holdings {

constexpr std::size_t kInstances = 3;
constexpr std::size_t kUnits = 3;

// What the instances run; a planted fault replaces one of these.
struct Code {
  std::function<Turn(const Book&, Peer, const Message&)> receive = [](const Book& book, Peer from,
                                                                      const Message& message) {
    return holdings::receive(book, from, message, 0);
  };
  std::function<Result<Book>(const Book&, const Turn&)> commit = holdings::commit;
  std::function<Result<Turn>(const Book&, Peer, Extend)> give_back = holdings::give_back;
  bool heeds_bar = true;
};

// How often something may still happen.
struct Bounds {
  int acts = 0;     // extends, recalls, releases and fences that an instance begins
  int repeats = 0;  // a message arrives, and will arrive again
  int cuts = 0;     // all that is under way between two instances is lost
  int crashes = 0;  // an instance dies between its commit and what it would send
  int jobs = 0;
  bool operator==(const Bounds&) const = default;
};

struct Flying {
  std::size_t from = 0, to = 0;
  Message message;
  bool operator==(const Flying&) const = default;
};

struct Ground {
  std::array<bool, kInstances> agent{}, process{};
  std::array<Epoch, kInstances> bar{};  // an agent of this instance needs a later epoch
  bool operator==(const Ground&) const = default;
};

struct SmallTree {
  std::array<std::optional<std::size_t>, kInstances> parent;
  std::array<Book, kInstances> books;
  std::array<std::vector<Entry>, kInstances> journals;  // only if kept
  bool keeps_journals = false;
  std::vector<Flying> net;
  std::array<Ground, kUnits> ground;
  Bounds left;
  std::string failed;  // what went wrong in the last step
};

// The root has all units. fork: two children; chain: a child and a grandchild.
SmallTree fork_of_three(Bounds bounds);
SmallTree chain_of_three(Bounds bounds);

struct Move {
  std::string name;
  SmallTree after;
};
// All that can happen next.
std::vector<Move> moves_from(const SmallTree& tree, const Code& code);

// What is wrong in this state; "" if nothing is. `at_rest`: nothing more happens by
// itself.
std::string trouble_in(const SmallTree& tree, bool at_rest);

// The state as bytes, the same for equal states.
std::string bytes_of(const SmallTree& tree);

std::vector<Journal> journals_of(const SmallTree& tree);

}  // namespace holon::holdings
