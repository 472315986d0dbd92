#include "instance/journal/damage/export.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <filesystem>

#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/mark.hpp"
#include "instance/journal/records/ended_record.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

JobId job_at(SQLite::Statement& q, int column) {
  return JobId(static_cast<std::uint64_t>(q.getColumn(column).getInt64()));
}

template <class Take>
void each_row(SQLite::Database& db, const JournalSink& sink, const char* table, const char* sql,
              const Take& take) {
  try {
    SQLite::Statement q(db, sql);
    while (q.executeStep()) take(q);
  } catch (const SQLite::Exception& e) {
    sink.lost(fmt::format("table {} cannot be read any further: {}", table, e.what()));
  }
}

// `key`: the job's number or path, to name it where its record is damaged.
void take_record(const Result<msg::JobRecord>& record, const std::string& key,
                 const JournalSink& sink) {
  if (record) return sink.record(*record);
  sink.lost(fmt::format("the record of job {} is damaged", key));
}

void take_events(const SQLite::Database& db, const JournalSink& sink) {
  const auto take = [&sink](const EventRow& row) {
    sink.event(JobId(static_cast<std::uint64_t>(row.job)), static_cast<std::uint64_t>(row.count),
               row.time, std::string(row.name), std::string(row.context));
    return true;
  };
  try {
    // Packs that cannot be read are reported to `lost`, and are no error.
    static_cast<void>(each_event(db, 0, {take, sink.lost}));
  } catch (const SQLite::Exception& e) {
    sink.lost(fmt::format("table events cannot be read any further: {}", e.what()));
  }
}

void take_tables(SQLite::Database& db, const JournalSink& sink) {
  const auto each = [&sink](const char* table, const auto& read, const auto& take) {
    try {
      for (const auto& row : read()) take(row);
    } catch (const SQLite::Exception& e) {
      sink.lost(fmt::format("table {} cannot be read: {}", table, e.what()));
    }
  };
  if (const auto grant = read_grant(db)) sink.grant(*grant);
  each(
      "agents", [&] { return read_agents(db); }, sink.agent);
  each(
      "drains", [&] { return read_drains(db); }, sink.drain);
  each(
      "gates", [&] { return read_gates(db); }, sink.gate);
  each(
      "reservations", [&] { return read_reservations(db); }, sink.reservation);
}

}  // namespace

Status export_journal(const std::string& state_dir, const JournalSink& sink) {
  const std::string file = journal_file(state_dir);
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error) return fail(Errc::system, error.message(), file);
  if (!is_there) return fail(Errc::not_found, "there is no journal here", state_dir);
  const auto mark = JournalMark::open(state_dir);
  if (!mark) return tl::unexpected(mark.error());
  try {
    const auto db = open_to_read(file);
    each_row(*db, sink, "batches",
             "SELECT first, count, jobspec, is_instance FROM batches JOIN specs ON specs.id = "
             "batches.spec ORDER BY first",
             [&](SQLite::Statement& q) {
               sink.batch({job_at(q, 0), static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
                           q.getColumn(2).getString(), q.getColumn(3).getInt() != 0});
             });
    take_events(*db, sink);
    RecordReader records(*db);
    each_row(
        *db, sink, "jobs", "SELECT id, record FROM jobs ORDER BY id", [&](SQLite::Statement& q) {
          take_record(records.read(q.getColumn(1), job_at(q, 0)), q.getColumn(0).getString(), sink);
        });
    each_row(*db, sink, "descendants", "SELECT path, record FROM descendants ORDER BY path",
             [&](SQLite::Statement& q) {
               const SQLite::Column data = q.getColumn(1);
               take_record(
                   transport::unpack<msg::JobRecord>({static_cast<const char*>(data.getBlob()),
                                                      static_cast<std::size_t>(data.getBytes())}),
                   q.getColumn(0).getString(), sink);
             });
    each_row(*db, sink, "children", "SELECT job, token, epoch, uri FROM children ORDER BY job",
             [&](SQLite::Statement& q) {
               sink.child({job_at(q, 0), q.getColumn(1).getString(),
                           static_cast<std::uint64_t>(q.getColumn(2).getInt64()),
                           q.getColumn(3).getString()});
             });
    take_tables(*db, sink);
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
  return {};
}

}  // namespace holon::instance
