// The part of the Journal that lets others go on where they were: numbers of events, keys of
// submissions.
#include <filesystem>
#include <system_error>

#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {

std::int64_t Journal::State::last_event() const {
  SQLite::Statement q(
      db,
      "SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT CAST(value AS "
      "INTEGER) FROM meta WHERE key=?), 0))");
  q.bind(1, kLastForgottenEvent);
  q.executeStep();
  return q.getColumn(0).getInt64();
}

void Journal::State::note_forgotten_events(JobId first, JobId stop) {
  SQLite::Statement q(
      db,
      "SELECT max(coalesce((SELECT max(seq) FROM events WHERE job >= ? AND job < ?), 0), "
      "coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key=?), 0))");
  q.bind(1, static_cast<std::int64_t>(first.value()));
  q.bind(2, static_cast<std::int64_t>(stop.value()));
  q.bind(3, kLastForgottenEvent);
  q.executeStep();
  put_meta(kLastForgottenEvent, std::to_string(q.getColumn(0).getInt64()));
}

void Journal::add_submit_key(std::string_view key, const SubmitKey& jobs) {
  auto& s = *state_;
  s.write([&] {
    if (!s.submit_key) s.submit_key.emplace(s.db, "INSERT INTO submit_keys VALUES(?,?,?)");
    s.submit_key->bind(1, std::string(key));
    s.submit_key->bind(2, static_cast<std::int64_t>(jobs.first.value()));
    s.submit_key->bind(3, static_cast<std::int64_t>(jobs.count));
    s.run(*s.submit_key);
  });
}

Result<std::optional<SubmitKey>> Journal::jobs_of_key(std::string_view key) const {
  return state_->read<std::optional<SubmitKey>>([&]() -> std::optional<SubmitKey> {
    auto& known = state_->known_key;
    if (!known) known.emplace(state_->db, "SELECT first, count FROM submit_keys WHERE key=?");
    known->bind(1, std::string(key));
    std::optional<SubmitKey> jobs;
    if (known->executeStep())
      jobs = SubmitKey{JobId(static_cast<std::uint64_t>(known->getColumn(0).getInt64())),
                       static_cast<std::uint64_t>(known->getColumn(1).getInt64())};
    known->reset();
    return jobs;
  });
}

Result<std::int64_t> Journal::give_back(std::int64_t pages) {
  auto& s = *state_;
  std::int64_t left = 0;
  s.write([&] {
    s.db.exec("PRAGMA incremental_vacuum(" + std::to_string(pages) + ")");
    left = s.db.execAndGet("PRAGMA freelist_count").getInt64();
  });
  if (s.broken) return tl::unexpected(*s.broken);
  return left;
}

Result<std::int64_t> Journal::shrink_log() {
  auto& s = *state_;
  if (s.broken) return tl::unexpected(*s.broken);
  if (s.open || s.frozen || s.file.empty()) return size();
  const auto done = s.read<void>([&]() -> Status {
    s.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  s.remember_files();
  return size();
}

std::int64_t Journal::size() const {
  std::int64_t bytes = 0;
  for (const char* const end : {"", "-wal"}) {
    std::error_code none;
    const auto size = std::filesystem::file_size(state_->file + end, none);
    if (!none) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t Journal::next_event() const {
  return state_->next_seq;
}

Result<std::vector<NumberedEvent>> Journal::events_from(std::int64_t from,
                                                        std::size_t limit) const {
  return state_->read<std::vector<NumberedEvent>>([&]() -> Result<std::vector<NumberedEvent>> {
    SQLite::Statement q(state_->db,
                        "SELECT seq, job, count, time, name, context FROM events WHERE seq >= ? "
                        "ORDER BY seq LIMIT ?");
    q.bind(1, from);
    q.bind(2, static_cast<std::int64_t>(limit));
    std::vector<NumberedEvent> events;
    while (q.executeStep()) {
      auto body = parse_event(q.getColumn(4).getString(), q.getColumn(5).getString());
      if (!body) return tl::unexpected(body.error());
      events.push_back({q.getColumn(0).getInt64(),
                        JobId(static_cast<std::uint64_t>(q.getColumn(1).getInt64())),
                        static_cast<std::uint64_t>(q.getColumn(2).getInt64()),
                        Event{q.getColumn(3).getInt64(), std::move(*body)}});
    }
    return events;
  });
}

Result<std::int64_t> Journal::last_forgotten_event() const {
  const auto known = meta(kLastForgottenEvent);
  if (!known) return tl::unexpected(known.error());
  return *known ? std::strtoll((*known)->c_str(), nullptr, 10) : 0;
}

Result<std::string> Journal::event_era() const {
  auto era = meta(kEventEra);
  if (!era) return tl::unexpected(era.error());
  return era->value_or("");
}

}  // namespace holon::instance
