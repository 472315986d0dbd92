// batches.hpp - batches whose number of jobs cannot be right. No checksum guards that number, and a
// broker makes as many jobs of a row as it says.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holon::instance {

struct WrongBatch {
  std::int64_t first = 0, count = 0;
  std::int64_t most = 1;  // as many jobs as the batch can have had
};

// Batches that have less than one job, or numbers of the batch behind them, or (the last one)
// another count than their first event. O(batches). Throws what SQLiteCpp throws.
std::vector<WrongBatch> wrong_batches(SQLite::Database& journal);

// The wrong batch, if a batch with these values is one; else nullopt. O(log batches).
std::optional<WrongBatch> wrong_batch(SQLite::Database& journal, std::int64_t first,
                                      std::int64_t count);

// First jobs of batches whose jobspec is missing. O(batches). Throws what SQLiteCpp throws.
std::vector<std::int64_t> batches_without_jobspec(SQLite::Database& journal);
// "batch 7: its jobspec is missing".
std::string describe_without_jobspec(std::int64_t first);

// "batch 7 has 99999999 jobs, and 3 at most".
std::string describe(const WrongBatch& batch);

}  // namespace holon::instance
