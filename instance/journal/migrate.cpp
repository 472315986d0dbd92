#include "instance/journal/migrate.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "resource/jobspec/file_archive.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::instance {
namespace {

constexpr int kTyped = 2;         // the first version that has tables for what is not of a job
constexpr int kObeysTaskmap = 5;  // the first version that reads taskmaps and files of jobspecs

// The value of the key "reservations" in version 1.
struct ReservationsOf1 {
  std::map<std::uint64_t, msg::ReserveRequest> requests;
  std::set<std::uint64_t> cancelled;
  HOLON_FIELDS(requests, cancelled)
};

class MetaOf1 {
 public:
  explicit MetaOf1(SQLite::Database& db) : db_(db) {}

  NotUnderstood move() {
    for (const char* key : {kStarted, kLastReservation, kLastForgotten, kCommits, kRebuilt})
      if (const auto number = take_number<std::int64_t>(key)) write_number(db_, key, *number);
    move_forgetting();
    move_grant();
    move_agent();
    move_gates("gate.submit.", "submit");
    move_gates("gate.start.", "start");
    move_drains();
    move_reservations();
    if (const auto aside = take_packed<std::set<std::uint64_t>>("jobs.aside"))
      for (const auto job : *aside) write_aside(db_, JobId(job));
    return std::move(not_understood_);
  }

 private:
  std::optional<std::string> take(const std::string& key) {
    SQLite::Statement q(db_, "SELECT value FROM meta WHERE key=?");
    q.bind(1, key);
    if (!q.executeStep()) return std::nullopt;
    std::string value = q.getColumn(0).getString();
    q.reset();
    SQLite::Statement gone(db_, "DELETE FROM meta WHERE key=?");
    gone.bind(1, key);
    gone.exec();
    return value;
  }

  template <class Number>
  std::optional<Number> take_number(const std::string& key) {
    const auto text = take(key);
    if (!text) return std::nullopt;
    Number number{};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error == std::errc() && end == text->data() + text->size()) return number;
    not_understood_.push_back(fmt::format("{}: '{}' is no number", key, *text));
    return std::nullopt;
  }

  template <class T>
  std::optional<T> take_packed(const std::string& key) {
    const auto bytes = take(key);
    if (!bytes) return std::nullopt;
    auto value = transport::unpack<T>(*bytes);
    if (value) return std::move(*value);
    not_understood_.push_back(fmt::format("{}: {}", key, to_string(value.error())));
    return std::nullopt;
  }

  // "FIRST STOP"; empty: nothing is left of a batch that goes.
  void move_forgetting() {
    std::istringstream text(take("jobs.forgetting").value_or(""));
    std::int64_t first = 0, stop = 0;
    if (!(text >> first >> stop)) return;
    write_number(db_, kForgettingFirst, first);
    write_number(db_, kForgettingStop, stop);
  }

  // At first the end was called an expiration.
  void move_grant() {
    HeldGrant grant;
    const auto epoch = take_number<std::uint64_t>("grant.epoch");
    grant.epoch = epoch.value_or(0);
    grant.path = take("grant.path").value_or("");
    grant.name = take("grant.name").value_or("");
    grant.lease = take_number<std::int64_t>("grant.lease").value_or(0);
    const auto expiration = take_number<Time>("grant.expiration");
    grant.end = take_number<Time>("grant.end").value_or(expiration.value_or(0));
    if (epoch) write_grant(db_, grant);
  }

  // "PID START PID START ..."
  void move_agent() {
    const auto incarnation = take_number<std::uint64_t>("agent.0.incarnation");
    const auto numbering = take("agent.0.numbering");
    if (incarnation || numbering)
      write_agent(db_, {0, incarnation.value_or(0), numbering.value_or("")});
    std::istringstream words(take("agent.0.orphans").value_or(""));
    std::vector<event::Process> orphans;
    for (event::Process p; words >> p.pid >> p.start;) orphans.push_back(p);
    if (!orphans.empty()) write_orphans(db_, 0, orphans);
  }

  // Values: "open", or "closed" and the reason.
  void move_gates(const std::string& prefix, const std::string& gate) {
    std::vector<std::string> keys;
    SQLite::Statement q(db_, "SELECT key FROM meta WHERE substr(key, 1, ?) = ?");
    q.bind(1, static_cast<std::int64_t>(prefix.size()));
    q.bind(2, prefix);
    while (q.executeStep()) keys.push_back(q.getColumn(0).getString());
    constexpr std::string_view kClosed = "closed ";
    for (const auto& key : keys)
      if (const auto value = take(key); value && value->starts_with(kClosed))
        close_gate(db_, {key.substr(prefix.size()), gate, value->substr(kClosed.size())});
  }

  void move_drains() {
    const auto drained = take_packed<msg::DrainedAbove>("drains");
    if (!drained) return;
    std::vector<KeptDrain> drains;
    for (const auto& node : drained->nodes)
      drains.push_back({node.host, node.above, node.reason, node.since});
    write_drains(db_, drains);
  }

  void move_reservations() {
    const auto kept = take_packed<ReservationsOf1>("reservations");
    if (!kept) return;
    std::vector<KeptReservation> all;
    for (const auto& [id, request] : kept->requests)
      all.push_back({JobId(id), request, kept->cancelled.contains(id)});
    write_reservations(db_, all);
  }

  SQLite::Database& db_;
  NotUnderstood not_understood_;
};

// May the jobspec have such attributes? A key may be written with escapes.
bool may_be_changed(const std::string& jobspec) {
  for (const char* const part : {"taskmap", "files", "\\u"})
    if (jobspec.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

std::string modern_jobspec(std::string jobspec, int version) {
  using nlohmann::ordered_json;
  const ordered_json::json_pointer system("/attributes/system");
  const auto options = system / "shell" / "options";
  if (version >= kObeysTaskmap || !may_be_changed(jobspec)) return jobspec;
  auto spec = ordered_json::parse(jobspec, nullptr, false);
  bool is_changed = false;
  if (spec.contains(options / "taskmap")) is_changed = spec[options].erase("taskmap") > 0;
  if (spec.contains(system / "files") &&
      !resource::read_file_archive(spec[system / "files"].dump()))
    is_changed |= spec[system].erase("files") > 0;
  return is_changed ? spec.dump() : jobspec;
}

void modernize_jobspecs(SQLite::Database& journal, int version) {
  if (version >= kObeysTaskmap) return;
  SQLite::Statement specs(journal, "SELECT id, jobspec FROM specs");
  SQLite::Statement change(journal, "UPDATE specs SET jobspec = ? WHERE id = ?");
  while (specs.executeStep()) {
    const std::string before = specs.getColumn(1).getString();
    const std::string after = modern_jobspec(before, version);
    if (after == before) continue;
    change.bind(1, after);
    change.bind(2, specs.getColumn(0).getInt64());
    change.exec();
    change.reset();
  }
}

NotUnderstood move_meta_rows(SQLite::Database& journal) {
  return MetaOf1(journal).move();
}

NotUnderstood migrate(SQLite::Database& journal) {
  if (version_of(journal) >= kJournalKind.version) return {};
  SQLite::Transaction whole(journal);
  journal.exec(kJournalSchema);  // existing tables stay
  NotUnderstood not_understood;
  if (version_of(journal) < kTyped) not_understood = move_meta_rows(journal);
  modernize_jobspecs(journal, version_of(journal));
  journal.exec(fmt::format("PRAGMA user_version={}", kJournalKind.version));
  whole.commit();
  // The tables are not in the log: a lost log takes no more than the commits in it.
  journal.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return not_understood;
}

TypedTables::TypedTables(SQLite::Database& journal) : journal_(journal) {
  if (version_of(journal) >= kTyped) return;
  moved_ =
      std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  moved_->exec(kJournalSchema);
  SQLite::Statement from(journal, "SELECT key, value FROM meta");
  SQLite::Statement to(*moved_, "INSERT INTO meta VALUES(?,?)");
  while (from.executeStep()) {
    to.bind(1, from.getColumn(0).getString());
    to.bind(2, from.getColumn(1).getString());
    to.exec();
    to.reset();
  }
  not_understood_ = move_meta_rows(*moved_);
}

}  // namespace holon::instance
