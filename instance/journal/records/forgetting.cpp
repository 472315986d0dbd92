// The part of the Journal that forgets jobs: some at a time, however large a batch is, so that no
// turn of the broker touches more than a few hundred numbers.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "instance/basics/text.hpp"
#include "instance/journal/events/packing.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/rows.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {
namespace {

constexpr int kPagesGivenBack = 256;  // to the disk, at most, in each call of forget()

std::int64_t row_of_job(JobId id) {
  return static_cast<std::int64_t>(id.value());
}
JobId job_in_row(const SQLite::Column& column) {
  return JobId(static_cast<std::uint64_t>(column.getInt64()));
}

}  // namespace

void Journal::State::keep_forgetting() {
  if (!forgetting) {
    for (const char* key : {kForgettingFirst, kForgettingStop}) remove_number(db, key);
    return;
  }
  write_number(db, kForgettingFirst, row_of_job(forgetting->first));
  write_number(db, kForgettingStop, row_of_job(forgetting->second));
}

Journal::State::Choice Journal::State::look_at_age(JobId first, JobId stop, Time before) {
  constexpr int kRecordsAtOnce = 500;
  if (aged_to < first || aged_to > stop) aged_to = first;  // that was of another batch
  SQLite::Statement q(db,
                      "SELECT record, id FROM jobs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?");
  q.bind(1, row_of_job(aged_to));
  q.bind(2, row_of_job(stop));
  q.bind(3, kRecordsAtOnce);
  int seen = 0;
  for (; q.executeStep(); ++seen) {
    const JobId id = job_in_row(q.getColumn(1));
    if (own_record(q.getColumn(0), id).t_inactive >= before) {
      aged_to = JobId(0);
      return Choice::none;
    }
    aged_to = JobId(id.value() + 1);
  }
  return seen == kRecordsAtOnce ? Choice::undecided : Choice::chosen;
}

Journal::State::Choice Journal::State::choose_forgotten(Time before) {
  SQLite::Statement oldest(
      db, fmt::format("SELECT first, count FROM batches WHERE first >= ? AND NOT ({}) ORDER BY "
                      "first LIMIT 1",
                      kUnfinished));
  oldest.bind(1, row_of_job(forgotten_to));
  if (!oldest.executeStep()) {
    forgotten_to = JobId(0);  // earlier batches may be over the next time
    return Choice::none;
  }
  const std::int64_t first = oldest.getColumn(0).getInt64();
  const JobId stop(std::uint64_t(first + oldest.getColumn(1).getInt64()));
  if (before > 0) {
    const Choice aged = look_at_age(job_in_row(oldest.getColumn(0)), stop, before);
    if (aged == Choice::none) forgotten_to = JobId(0);
    if (aged != Choice::chosen) return aged;
  }
  aged_to = JobId(0);
  forgotten_to = stop;
  forgetting = {job_in_row(oldest.getColumn(0)), forgotten_to};
  for (const char* sql :
       {"DELETE FROM specs WHERE id = (SELECT spec FROM batches WHERE first = ?1) AND NOT EXISTS "
        "(SELECT 1 FROM batches WHERE spec = specs.id AND first <> ?1)",
        "DELETE FROM batches WHERE first = ?1"}) {
    SQLite::Statement q(db, sql);
    q.bind(1, first);
    q.exec();
  }
  return Choice::chosen;
}

JobId Journal::State::next_kept(JobId first, JobId stop) const {
  std::int64_t next = row_of_job(stop);
  for (const auto& [table, column] : {std::pair("jobs", "id"),
                                      {"task_ends", "id"},
                                      {"task_runs", "id"},
                                      {"arrays", "id"},
                                      {"outputs", "id"},
                                      {"graph_tasks", "id"},
                                      {"record_bases", "id"},
                                      {"events", "job"},
                                      {"allocs", "job"},
                                      {"children", "job"},
                                      {"submit_keys", "first"}}) {
    SQLite::Statement q(
        db, fmt::format("SELECT min({1}) FROM {0} WHERE {1} >= ? AND {1} < ?", table, column));
    q.bind(1, row_of_job(first));
    q.bind(2, next);
    if (q.executeStep() && !q.getColumn(0).isNull()) next = q.getColumn(0).getInt64();
  }
  return JobId(static_cast<std::uint64_t>(next));
}

// Forgets some records below a child, which may have had any number of jobs. True: some are left.
bool Journal::State::forget_some_below(const std::string& path) {
  constexpr int kRecordsAtOnce = 500;
  SQLite::Statement q(db,
                      "DELETE FROM descendants WHERE path IN (SELECT path FROM descendants WHERE "
                      "path >= ? AND path < ? ORDER BY path LIMIT ?)");
  q.bind(1, path + "/");
  q.bind(2, path + "0");  // the character after '/'
  q.bind(3, kRecordsAtOnce);
  return q.exec() == kRecordsAtOnce;
}

// Tasks that were instances: a task has no record of its own.
void Journal::State::forget_instances_of_arrays(JobId first, JobId stop, Forgotten& gone) {
  SQLite::Statement q(db,
                      "SELECT job FROM children WHERE job >= ? AND job < ? AND job NOT IN (SELECT "
                      "id FROM jobs) ORDER BY job");
  q.bind(1, row_of_job(first));
  q.bind(2, row_of_job(stop));
  const auto grant = read_grant(db);
  const std::string own_path = grant ? grant->path : "/";
  while (q.executeStep()) {
    gone.instances.push_back(job_in_row(q.getColumn(0)));
    const std::string path = join(own_path, gone.instances.back());
    if (forget_some_below(path)) write_number(db, kForgettingBelow + path, 0);
  }
}

void Journal::State::forget(JobId first, JobId stop, Forgotten& gone) {
  const auto drop = [&](const char* sql) {
    SQLite::Statement q(db, sql);
    q.bind(1, row_of_job(first));
    q.bind(2, row_of_job(stop));
    q.exec();
  };
  SQLite::Statement ended(db, "SELECT record, id, result FROM jobs WHERE id >= ? AND id < ?");
  ended.bind(1, row_of_job(first));
  ended.bind(2, row_of_job(stop));
  while (ended.executeStep()) {
    const auto record = own_record(ended.getColumn(0), job_in_row(ended.getColumn(1)));
    if (record.tasks > 0) {  // an array: its tasks are counted
      forgotten_array = {record.user, record.queue};
      continue;
    }
    if (ended.getColumn(2).getString() == kNotCounted) continue;
    ++gone.count;
    gone.rows.push_back({job_in_row(ended.getColumn(1)), 1, ended.getColumn(2).getString(),
                         record.user, record.queue});
    if (!record.is_instance) continue;
    gone.instances.push_back(job_in_row(ended.getColumn(1)));
    if (forget_some_below(record.path)) write_number(db, kForgettingBelow + record.path, 0);
  }
  ended.reset();
  forget_instances_of_arrays(first, stop, gone);
  forget_tasks(first, stop, gone);
  note_forgotten_events(first, stop);
  drop("DELETE FROM submit_keys WHERE first >= ? AND first < ?");
  drop("DELETE FROM graph_tasks WHERE id >= ? AND id < ?");
  drop("DELETE FROM outputs WHERE id >= ? AND id < ?");
  forget_events(db, row_of_job(first), row_of_job(stop) - 1);
  drop("DELETE FROM allocs WHERE job >= ? AND job < ?");
  drop("DELETE FROM children WHERE job >= ? AND job < ?");
  drop("DELETE FROM jobs WHERE id >= ? AND id < ?");
  drop("DELETE FROM record_bases WHERE id >= ? AND id < ?");
  bases.erase(bases.lower_bound(first), bases.lower_bound(stop));
  gone.jobs.emplace_back(first, stop);
}

// Forgets numbers of ended reservations, and unused numbers, up to kLastForgotten.
void Journal::State::forget_reservations() {
  SQLite::Statement q(
      db, fmt::format("DELETE FROM numbers WHERE key GLOB '{}*' AND value <= (SELECT value FROM "
                      "numbers WHERE key = '{}') AND value NOT IN (SELECT id FROM reservations)",
                      kReservationNumber, kLastForgotten));
  q.exec();
  SQLite::Statement unused(
      db,
      fmt::format("DELETE FROM numbers WHERE key GLOB '{}*' AND value <= 1 + (SELECT value FROM "
                  "numbers WHERE key = '{}')",
                  kUnusedNumbers, kLastForgotten));
  unused.exec();
}

Result<Forgotten> Journal::forget(std::uint64_t surplus, std::uint64_t at_most, Time before) {
  auto& s = *state_;
  Forgotten gone;
  s.write([&] {
    const auto next = next_id();
    if (!next) throw std::runtime_error(next.error().what);
    // Numbers count, not jobs: one row may be a million tasks, and a gap of numbers costs nothing.
    std::uint64_t looked = 0;
    while (looked < at_most && (s.forgetting || gone.count < surplus || before > 0)) {
      if (!s.forgetting) {
        const auto choice = s.choose_forgotten(gone.count < surplus ? 0 : before);
        gone.more = choice == State::Choice::undecided;
        if (choice != State::Choice::chosen) break;
      }
      const auto [first, end] = *s.forgetting;
      const JobId seen = std::min(end, JobId(first.value() + at_most - looked));
      const JobId stop = s.next_kept(seen, end);
      s.forget(first, stop, gone);
      gone.with_files.emplace_back(first, seen);
      looked += seen.value() - first.value();
      s.forgetting = stop < end ? std::optional(std::pair(stop, end)) : std::nullopt;
    }
    if (gone.jobs.empty()) return;
    gone.more =
        gone.more || s.forgetting || gone.count < surplus || (before > 0 && looked >= at_most);
    write_number(s.db, kLastForgotten, row_of_job(*next) - 1);
    s.forget_reservations();
    s.keep_forgetting();
    s.db.exec(fmt::format("PRAGMA incremental_vacuum({})", kPagesGivenBack));
  });
  if (s.broken) return tl::unexpected(*s.broken);
  return gone;
}

Result<bool> Journal::forget_below() {
  auto& s = *state_;
  bool more = false;
  const auto next = s.read<std::string>([&] {
    SQLite::Statement q(s.db, fmt::format("SELECT key FROM numbers WHERE key GLOB '{}*' LIMIT 1",
                                          kForgettingBelow));
    return q.executeStep() ? q.getColumn(0).getString() : std::string();
  });
  if (!next) return tl::unexpected(next.error());
  if (next->empty()) return false;
  s.write([&] {
    more = true;
    if (!s.forget_some_below(next->substr(std::string_view(kForgettingBelow).size())))
      remove_number(s.db, *next);
  });
  if (s.broken) return tl::unexpected(*s.broken);
  return more;
}

}  // namespace holon::instance
