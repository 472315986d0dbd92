// kept_history.hpp - what a journal still has of the grants of its instance.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "holdings/check.hpp"
#include "instance/grants/proof/journal_copy.hpp"

namespace holon::instance {

struct KeptHistory {
  std::string path;  // as the journal has it; "": it does not say, as that of a root
  std::vector<holdings::Recorded> entries;  // by the instance's clock
  std::vector<std::int64_t> numbers;        // of the entries, in the journal
  // Jobs that could break 7: they outlast some units that they are on, and have the limit that they
  // began with.
  std::vector<holdings::Use> uses;
  bool begins_again = false;          // its book is empty now, whatever the entries say
  Duration offset = 0;                // the wall clock less the instance's
  std::vector<std::string> damage;    // in words; what is damaged is not proven
  std::vector<std::string> not_kept;  // in words; what the journal keeps no more
};

// Reads a copy. Errors: invalid_argument (nothing of it can be read). O(journal + its jobs x what
// it has taken).
Result<KeptHistory> read_history(const JournalCopy& copy);
// Only the entries behind the number. Errors: likewise.
Result<std::vector<holdings::Recorded>> entries_behind(const JournalCopy& copy,
                                                       std::int64_t number);

}  // namespace holon::instance
