// prove_tree.hpp - proves the invariants of grants over the journals of a tree of instances, or
// finds the first moment where one does not hold (holdings/check.hpp).
//
// The journals are copied one after the other, those of parents first. What was written between two
// of the copies is not looked at. No journal is written, and no instance is asked.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "holdings/check.hpp"

namespace holon::instance {

struct TreeProof {
  struct Of {
    std::string path, state_dir;
    bool runs = false;                  // a supervisor has claimed the state directory
    std::size_t entries = 0;            // about grants, that are kept and could be folded
    std::size_t looked_at = 0;          // of these
    Time first = 0, last = 0;           // of these, by the wall clock; 0: there are none
    std::vector<std::string> trouble;   // what keeps the proof from being whole
    std::vector<std::string> not_kept;  // what the journal keeps no more, of which nothing is said
  };
  struct Breach {
    int invariant = 0;
    std::string path, what;
    Time time = 0;            // by the wall clock
    std::int64_t number = 0;  // of the entry in the journal of `path`
    std::string entry;        // as JSON, with times by the wall clock
    std::string journal;      // the file
  };
  std::vector<Of> instances;     // parents first
  std::optional<Breach> breach;  // the first

  // Has every journal been read, and is there no breach?
  bool holds() const;
};

// The tree whose top keeps its state in this directory; what is above that is taken for right.
// Whatever is wrong with a journal is in the proof. O(bytes of the journals).
TreeProof prove_tree(const std::string& state_dir);

}  // namespace holon::instance
