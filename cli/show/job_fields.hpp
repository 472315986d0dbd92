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
  // What is shown; "": nothing to show.
  std::string (*text)(const msg::JobRecord& job, Time now);
  // What is sorted by; nullptr: the text, numbers in it as numbers.
  std::int64_t (*number)(const msg::JobRecord& job, Time now);
};

std::span<const JobField> job_fields();

// What stands above these fields in a table.
std::vector<Table::Column> columns_of(const std::vector<const JobField*>& fields);

// What stands in a list. Fields that were `asked_for` are whole, and never empty, for programs that
// count columns; otherwise a long name is shortened.
Table::Cell cell_of(const Io& io, const JobField& field, const msg::JobRecord& job, Time now,
                    bool asked_for);

// "id,name,cores". Errors: invalid_argument (a field that is none, with those that are).
Result<std::vector<const JobField*>> parse_fields(const std::string& text);

struct SortKey {
  const JobField* field;
  bool descending;
};
// The same, each with a '-' before it for descending order. Errors: as of parse_fields().
Result<std::vector<SortKey>> parse_sort(const std::string& text);

// By these keys; jobs that are equal in all of them stay in the order they are in.
void sort_jobs(std::vector<msg::JobRecord>& jobs, const std::vector<SortKey>& keys, Time now);

}  // namespace holon::cli
