// batches.hpp - batches whose number of jobs cannot be right. Nothing but sense checks that number,
// and as many jobs are made of a row as it says.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holon::instance {

struct WrongBatch {
  std::int64_t first = 0, count = 0;
  std::int64_t most = 1;  // as many as it can have had
};

// Those with less than one job, with numbers of the batch behind them, or, of the last one, with
// another count than its first event has. O(batches). Throws what SQLiteCpp throws.
std::vector<WrongBatch> wrong_batches(SQLite::Database& journal);

// Is the one with these values such a batch? O(log batches).
std::optional<WrongBatch> wrong_batch(SQLite::Database& journal, std::int64_t first,
                                      std::int64_t count);

// Those whose jobspec is not there, by their first jobs. O(batches). Throws what SQLiteCpp throws.
std::vector<std::int64_t> batches_without_jobspec(SQLite::Database& journal);
// "batch 7: its jobspec is missing".
std::string describe_without_jobspec(std::int64_t first);

// "batch 7 has 99999999 jobs, and 3 at most".
std::string describe(const WrongBatch& batch);

}  // namespace holon::instance
