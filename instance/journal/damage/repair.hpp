// repair.hpp - checks a journal for damage, and makes a new one from what can still be read of it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "instance/journal/mark.hpp"

namespace holon::instance {

struct JournalCheck {
  std::vector<std::string> damage;           // empty: the journal is sound
  std::map<std::string, std::int64_t> rows;  // by table, as far as they can be counted
};

// Errors: not_found (no instance was ever here), busy (one runs on it), system.
Result<JournalCheck> check_journal(const std::string& state_dir);

struct JournalRepair {
  std::string kept_as;                       // the old file; empty: there was none
  std::vector<std::string> lost;             // in words
  std::vector<std::string> mended;           // in words: damage that has lost nothing
  std::map<std::string, std::int64_t> rows;  // taken over, by table
};

// Puts the old files aside and writes a new journal from what can be read of them; job numbers
// continue after the highest one ever given. Errors: as above.
Result<JournalRepair> repair_journal(const std::string& state_dir, Time now);
// Likewise, for a caller that holds the lock of the mark. `beat` is called now and then meanwhile.
Result<JournalRepair> rebuild_journal(const std::string& state_dir, const JournalMark& mark,
                                      Time now, const std::function<void()>& beat);

// What a user can do about the damage, for the end of a message.
std::string repair_advice(const std::string& state_dir);

}  // namespace holon::instance
