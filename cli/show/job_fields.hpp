// job_fields.hpp - the columns that a table of jobs may have, and the orders it may be in.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/show/table.hpp"
#include "msg/instance.hpp"

namespace holon::cli {

struct JobField {
  std::string_view name;  // "cores"; its title is the same in capitals
  Table::Align align;
  // The text shown; "": nothing to show.
  std::string (*text)(const msg::JobRecord& job, Time now);
  // The number to sort by; nullptr: the text, numbers in it as numbers.
  std::int64_t (*number)(const msg::JobRecord& job, Time now);
};

std::span<const JobField> job_fields();

// The titles of these fields in a table.
std::vector<Table::Column> columns_of(const std::vector<const JobField*>& fields);

// The text of a field in a list. Fields that were `asked_for` are whole, and never empty, for
// programs that count columns; otherwise a long name is shortened.
Table::Cell cell_of(const Io& io, const JobField& field, const msg::JobRecord& job, Time now,
                    bool asked_for);

// Reads "id,name,cores". Errors: invalid_argument (an unknown field, with those there are).
Result<std::vector<const JobField*>> parse_fields(const std::string& text);

struct SortKey {
  const JobField* field;
  bool descending;
};
// Reads fields, each with a '-' before it for descending order. Errors: those of parse_fields().
Result<std::vector<SortKey>> parse_sort(const std::string& text);

// Sorts by these keys; jobs that are equal in all of them keep their order.
void sort_jobs(std::vector<msg::JobRecord>& jobs, const std::vector<SortKey>& keys, Time now);

}  // namespace holon::cli
