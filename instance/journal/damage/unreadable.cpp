#include "instance/journal/damage/unreadable.hpp"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "instance/job/allocation_codec.hpp"
#include "instance/job/ended.hpp"
#include "instance/job/graph_plan.hpp"
#include "instance/job/job.hpp"
#include "instance/job/task_words.hpp"
#include "instance/journal/database_kind.hpp"
#include "instance/journal/events/event_pack.hpp"
#include "instance/journal/records/ended_record.hpp"
#include "instance/request/submission.hpp"
#include "msg/instance.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

std::string_view bytes_at(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())};
}

// A row is found again by its key's type as well: comparing texts would look at every row.
const char* type_of(const SQLite::Column& key) {
  if (key.isInteger()) return "INTEGER";
  if (key.isFloat()) return "REAL";
  return key.isBlob() ? "BLOB" : "TEXT";
}

class Search {
 public:
  // Adds rows of `columns`, the key first, that are not readable. `what`: a format of the key.
  template <class IsReadable>
  void look(SQLite::Database& db, const char* table, const char* columns, const char* what,
            const IsReadable& is_readable) {
    const std::string list = columns, key = list.substr(0, list.find(','));
    try {
      SQLite::Statement q(db, fmt::format("SELECT {} FROM {} ORDER BY {}", list, table, key));
      while (q.executeStep())
        if (!is_readable(q)) {
          const char* type = type_of(q.getColumn(0));
          const std::string value = q.getColumn(0).getString();
          found.push_back({fmt::format(fmt::runtime(what), value), table, key, value, type});
        }
    } catch (const std::exception& e) {
      found.push_back({fmt::format("table {}: {}", table, e.what()), "", "", "", ""});
    }
  }

  std::vector<UnreadableRow> found;
};

bool is_record(SQLite::Statement& q) {
  return transport::unpack<msg::JobRecord>(bytes_at(q.getColumn(1))).has_value();
}

bool is_graph(SQLite::Statement& q) {
  const auto ways = transport::unpack<std::vector<std::uint32_t>>(bytes_at(q.getColumn(1)));
  auto reader =
      GraphReader::begin(bytes_at(q.getColumn(2)), ways.value_or(std::vector<std::uint32_t>()));
  if (!ways || ways->empty() || !reader) return false;
  const auto take_any = [](const std::string& jobspec, const msg::GraphSpec& asked) {
    auto made = kept_submission(jobspec, asked.is_instance);
    if (made) made->count = asked.count;
    return made;
  };
  Result<bool> more = true;
  while (more && *more) more = reader->read_some(take_any);
  return more && reader->plan().numbers == static_cast<std::uint64_t>(q.getColumn(3).getInt64());
}

bool is_jobspec(SQLite::Statement& q) {
  return resource::parse_jobspec(q.getColumn(1).getString(), resource::kNoJobspecBounds)
      .has_value();
}

}  // namespace

std::vector<UnreadableRow> unreadable_rows(SQLite::Database& journal) {
  Search search;
  if (journal.tableExists("record_bases"))
    search.look(journal, "record_bases", "id, record", "records up to job {}: what they share",
                is_record);
  RecordReader records(journal);
  search.look(journal, "jobs", "id, record", "job {}: its record", [&](SQLite::Statement& q) {
    const JobId id(static_cast<std::uint64_t>(q.getColumn(0).getInt64()));
    return records.read(q.getColumn(1), id).has_value();
  });
  search.look(journal, "descendants", "path, record", "job {}: its record", is_record);
  search.look(journal, "specs", "id, jobspec", "jobspec {}", [](SQLite::Statement& q) {
    return kept_submission(q.getColumn(1).getString(), false).has_value();
  });
  search.look(journal, "events", "seq, name, context", "event {}", [](SQLite::Statement& q) {
    return parse_event(q.getColumn(1).getString(), q.getColumn(2).getString()).has_value();
  });
  if (journal.tableExists("event_packs"))
    search.look(journal, "event_packs", kPackColumns, "events up to {}",
                [](SQLite::Statement& q) { return pack_in(q).has_value(); });
  search.look(journal, "allocs", "job, begin, end, shares", "job {}: what it holds",
              [](SQLite::Statement& q) {
                return unpack_shares(JobId(),
                                     {q.getColumn(1).getInt64(), q.getColumn(2).getInt64()},
                                     bytes_at(q.getColumn(3)))
                    .has_value();
              });
  if (journal.tableExists("task_ends")) {
    search.look(journal, "task_ends", "id, life", "job {}: what is kept of it",
                [](SQLite::Statement& q) {
                  return unpack_ended(bytes_at(q.getColumn(1)), Lifecycle()).has_value();
                });
    search.look(journal, "task_runs", "id, events", "job {}: its events", [](SQLite::Statement& q) {
      return events_in_run(bytes_at(q.getColumn(1))).has_value();
    });
  }
  if (journal.tableExists("graph_tasks"))
    search.look(
        journal, "graph_tasks", "id, words", "job {}: what it has for itself",
        [](SQLite::Statement& q) { return unpack_words(bytes_at(q.getColumn(1))).has_value(); });
  if (journal.tableExists("graphs"))
    search.look(journal, "graphs", "first, ways, request, numbers",
                "the graph that begins with job {}", is_graph);
  search.look(journal, "reservations", "id, jobspec", "advance reservation {}", is_jobspec);
  return std::move(search.found);
}

std::vector<std::string> drop_unreadable_rows(SQLite::Database& journal) {
  std::vector<std::string> words;
  for (const UnreadableRow& row : unreadable_rows(journal)) {
    words.push_back(row.what);
    if (row.table.empty()) continue;
    SQLite::Statement drop(journal, fmt::format("DELETE FROM {} WHERE {} = CAST(? AS {})",
                                                row.table, row.key, row.type));
    drop.bind(1, row.value);
    drop.exec();
  }
  return words;
}

}  // namespace holon::instance
