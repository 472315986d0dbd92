// salvage.hpp - copies what can still be read of a damaged journal, row by row.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

struct Salvage {
  std::map<std::string, std::int64_t> rows;  // copied, by table
  std::vector<std::string> lost;             // in words: "table events: rows 12 to 20"
};

// Copies every row that can be read into `to`, which has the journal's empty tables. Behind a page
// that cannot be read the next readable rows are sought. `beat` is called at each row. Errors:
// system (`to` cannot be written).
Result<Salvage> copy_readable(SQLite::Database& from, SQLite::Database& to,
                              const std::function<void()>& beat);

}  // namespace holon::instance
