// The part of the Journal that lets clients continue where they were: numbers of events, keys of
// submissions.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/events/packing.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {

std::int64_t Journal::State::last_event() const {
  return std::max(last_event_number(db), forgotten_event());
}

std::int64_t Journal::State::forgotten_event() const {
  SQLite::Statement q(db, "SELECT CAST(value AS INTEGER) FROM meta WHERE key=?");
  q.bind(1, kLastForgottenEvent);
  return q.executeStep() ? q.getColumn(0).getInt64() : 0;
}

std::int64_t Journal::State::oldest_unpacked_event() const {
  SQLite::Statement q(db, "SELECT coalesce(min(seq), 0) FROM events WHERE seq > ?");
  q.bind(1, packed_to);
  q.executeStep();
  return q.getColumn(0).getInt64();
}

void Journal::State::note_forgotten_events(JobId first, JobId stop) {
  const std::int64_t last = last_event_of(db, static_cast<std::int64_t>(first.value()),
                                          static_cast<std::int64_t>(stop.value()) - 1);
  put_meta(kLastForgottenEvent, std::to_string(std::max(last, forgotten_event())));
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

// Event numbers have gaps where jobs were forgotten: the result may be too early.
std::int64_t Journal::State::first_pack_from() const {
  const std::int64_t oldest = oldest_unpacked_event();
  return (oldest > 0 ? oldest : next_seq) + kEventsUnpacked + kEventsInPack;
}

void Journal::State::pack_some_events() {
  constexpr int kPacksAtOnce = 2;  // later turns catch up with one that has written more
  for (int i = 0; i < kPacksAtOnce && next_seq >= pack_from; ++i) {
    const Packing done = pack_oldest_events(db, packed_to, next_seq - kEventsUnpacked);
    packed_to = done.up_to;
    pack_from = done.missing > 0 ? next_seq + done.missing : first_pack_from();
  }
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
    std::vector<NumberedEvent> events;
    Status sound;
    const auto take = [&](const EventRow& row) {
      if (events.size() == limit) return false;
      auto event = event_in(row);
      if (!event) sound = tl::unexpected(event.error());
      if (!event) return false;
      events.push_back({row.number, JobId(static_cast<std::uint64_t>(row.job)),
                        static_cast<std::uint64_t>(row.count), std::move(*event)});
      return events.size() < limit;
    };
    if (auto read = each_event(state_->db, from, {take}); !read)
      return tl::unexpected(read.error());
    if (!sound) return tl::unexpected(sound.error());
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
