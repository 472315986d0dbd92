#include "instance/journal/rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/core.h>

#include <algorithm>

#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {

template <class... Values>
void run_with(SQLite::Database& db, const char* sql, const Values&... values) {
  SQLite::Statement q(db, sql);
  SQLite::bind(q, values...);
  q.exec();
}

// Unsigned numbers are kept bit by bit.
std::int64_t kept(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}
std::int64_t kept(JobId id) {
  return kept(id.value());
}
std::uint64_t number_at(SQLite::Statement& q, int column) {
  return static_cast<std::uint64_t>(q.getColumn(column).getInt64());
}
JobId id_at(SQLite::Statement& q, int column) {
  return JobId(number_at(q, column));
}
std::string text_at(SQLite::Statement& q, int column) {
  return q.getColumn(column).getString();
}

}  // namespace

// ---- numbers ----

std::optional<std::int64_t> read_number(const SQLite::Database& db, std::string_view key) {
  SQLite::Statement q(db, "SELECT value FROM numbers WHERE key=?");
  q.bind(1, std::string(key));
  return q.executeStep() ? std::optional(q.getColumn(0).getInt64()) : std::nullopt;
}

void write_number(SQLite::Database& db, std::string_view key, std::int64_t value) {
  run_with(db, "INSERT OR REPLACE INTO numbers VALUES(?,?)", std::string(key), value);
}

void remove_number(SQLite::Database& db, std::string_view key) {
  run_with(db, "DELETE FROM numbers WHERE key=?", std::string(key));
}

// ---- the grant of the instance itself ----

std::optional<HeldGrant> read_grant(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT epoch, path, name, lease, end FROM held_grant");
  if (!q.executeStep()) return std::nullopt;
  return HeldGrant{number_at(q, 0), text_at(q, 1), text_at(q, 2), q.getColumn(3).getInt64(),
                   q.getColumn(4).getInt64()};
}

void write_grant(SQLite::Database& db, const HeldGrant& grant) {
  run_with(db, "INSERT OR REPLACE INTO held_grant VALUES(1,?,?,?,?,?)", kept(grant.epoch),
           grant.path, grant.name, grant.lease, grant.end);
}

// ---- agents ----

std::vector<KnownAgent> read_agents(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT rank, incarnation, numbering FROM agents ORDER BY rank");
  std::vector<KnownAgent> agents;
  while (q.executeStep())
    agents.push_back({static_cast<std::uint32_t>(number_at(q, 0)), number_at(q, 1), text_at(q, 2)});
  return agents;
}

void write_agent(SQLite::Database& db, const KnownAgent& agent) {
  run_with(db, "INSERT OR REPLACE INTO agents VALUES(?,?,?)", std::int64_t{agent.rank},
           kept(agent.incarnation), agent.numbering);
}

std::vector<event::Process> read_orphans(const SQLite::Database& db, std::uint32_t rank) {
  SQLite::Statement q(db, "SELECT pid, start FROM orphans WHERE rank=? ORDER BY pid, start");
  q.bind(1, std::int64_t{rank});
  std::vector<event::Process> orphans;
  while (q.executeStep()) orphans.push_back({q.getColumn(0).getInt64(), number_at(q, 1)});
  return orphans;
}

void write_orphans(SQLite::Database& db, std::uint32_t rank,
                   const std::vector<event::Process>& all) {
  run_with(db, "DELETE FROM orphans WHERE rank=?", std::int64_t{rank});
  for (const auto& p : all)
    run_with(db, "INSERT OR IGNORE INTO orphans VALUES(?,?,?)", std::int64_t{rank}, p.pid,
             kept(p.start));
}

std::vector<OfflineAgent> read_offline(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT rank, host, since FROM offline ORDER BY rank");
  std::vector<OfflineAgent> agents;
  while (q.executeStep())
    agents.push_back(
        {static_cast<std::uint32_t>(number_at(q, 0)), text_at(q, 1), q.getColumn(2).getInt64()});
  return agents;
}

void write_offline(SQLite::Database& db, const OfflineAgent& agent) {
  run_with(db, "INSERT OR REPLACE INTO offline VALUES(?,?,?)", std::int64_t{agent.rank}, agent.host,
           agent.since);
}

void remove_offline(SQLite::Database& db, std::uint32_t rank) {
  run_with(db, "DELETE FROM offline WHERE rank=?", std::int64_t{rank});
}

// ---- drained nodes ----

namespace {

std::string key_of_leave(const std::string& host) {
  return kNodeLeaves + host;
}

NodeLeave leave_kept(const SQLite::Database& db, const std::string& host) {
  const auto kept = read_number(db, key_of_leave(host));
  if (kept == static_cast<int>(NodeLeave::leaves)) return NodeLeave::leaves;
  if (kept == static_cast<int>(NodeLeave::comes_back)) return NodeLeave::comes_back;
  return NodeLeave::stays;
}

}  // namespace

std::vector<KeptDrain> read_drains(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT host, above, reason, since FROM drains ORDER BY host, above");
  std::vector<KeptDrain> drains;
  while (q.executeStep()) {
    drains.push_back(
        {text_at(q, 0), q.getColumn(1).getInt() != 0, text_at(q, 2), q.getColumn(3).getInt64()});
    KeptDrain& drain = drains.back();
    if (!drain.above) drain.leave = leave_kept(db, drain.host);
  }
  return drains;
}

void write_drains(SQLite::Database& db, const std::vector<KeptDrain>& all) {
  run_with(db, "DELETE FROM drains");
  run_with(db, fmt::format("DELETE FROM numbers WHERE key GLOB '{}*'", kNodeLeaves).c_str());
  for (const auto& d : all) {
    run_with(db, "INSERT OR REPLACE INTO drains VALUES(?,?,?,?)", d.host, d.above ? 1 : 0, d.reason,
             d.since);
    if (d.leave != NodeLeave::stays)
      write_number(db, key_of_leave(d.host), static_cast<int>(d.leave));
  }
}

// ---- gates of queues ----

std::vector<ClosedGate> read_gates(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT queue, gate, reason FROM gates ORDER BY queue, gate");
  std::vector<ClosedGate> gates;
  while (q.executeStep()) gates.push_back({text_at(q, 0), text_at(q, 1), text_at(q, 2)});
  return gates;
}

void close_gate(SQLite::Database& db, const ClosedGate& gate) {
  run_with(db, "INSERT OR REPLACE INTO gates VALUES(?,?,?)", gate.queue, gate.gate, gate.reason);
}

void open_gate(SQLite::Database& db, const std::string& queue, const std::string& gate) {
  run_with(db, "DELETE FROM gates WHERE queue=? AND gate=?", queue, gate);
}

// ---- advance reservations ----

namespace {

std::vector<GrantEntry> grant_entries_of(SQLite::Statement& query) {
  std::vector<GrantEntry> entries;
  while (query.executeStep())
    entries.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt64(),
                       query.getColumn(2).getString()});
  return entries;
}

}  // namespace

std::vector<GrantEntry> read_grant_entries(const SQLite::Database& db, std::int64_t from) {
  SQLite::Statement q(
      db, "SELECT number, time, entry FROM grant_entries WHERE number>=? ORDER BY number");
  q.bind(1, from);
  return grant_entries_of(q);
}

std::vector<GrantEntry> read_last_grant_entries(const SQLite::Database& db, std::int64_t most) {
  SQLite::Statement q(db,
                      "SELECT number, time, entry FROM grant_entries ORDER BY number DESC LIMIT ?");
  q.bind(1, most);
  std::vector<GrantEntry> entries = grant_entries_of(q);
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::int64_t add_grant_entry(SQLite::Database& db, Time time, const std::string& entry) {
  SQLite::Statement q(db, "INSERT INTO grant_entries VALUES(NULL,?,?)");
  q.bind(1, time);
  q.bind(2, entry);
  q.exec();
  return db.getLastInsertRowid();
}

void drop_grant_entries(SQLite::Database& db, std::int64_t before) {
  SQLite::Statement q(db, "DELETE FROM grant_entries WHERE number<?");
  q.bind(1, before);
  q.exec();
}

std::vector<KeptReservation> read_reservations(const SQLite::Database& db) {
  SQLite::Statement q(db,
                      "SELECT id, jobspec, begin, end, name, user, cancelled FROM reservations "
                      "ORDER BY id");
  SQLite::Statement users(db, "SELECT user FROM reservation_users WHERE id=? ORDER BY place");
  std::vector<KeptReservation> reservations;
  while (q.executeStep()) {
    KeptReservation r{id_at(q, 0),
                      {text_at(q, 1),
                       q.getColumn(2).getInt64(),
                       q.getColumn(3).getInt64(),
                       text_at(q, 4),
                       text_at(q, 5),
                       {}},
                      q.getColumn(6).getInt() != 0};
    users.reset();
    users.bind(1, kept(r.id));
    while (users.executeStep()) r.request.users.push_back(text_at(users, 0));
    reservations.push_back(std::move(r));
  }
  return reservations;
}

void write_reservations(SQLite::Database& db, const std::vector<KeptReservation>& all) {
  run_with(db, "DELETE FROM reservation_users");
  run_with(db, "DELETE FROM reservations");
  for (const auto& r : all) {
    const msg::ReserveRequest& asked = r.request;
    run_with(db, "INSERT INTO reservations VALUES(?,?,?,?,?,?,?)", kept(r.id), asked.jobspec,
             asked.begin, asked.end, asked.name, asked.user, r.cancelled ? 1 : 0);
    for (std::size_t i = 0; i < asked.users.size(); ++i)
      run_with(db, "INSERT INTO reservation_users VALUES(?,?,?)", kept(r.id), kept(i),
               asked.users[i]);
  }
}

// ---- jobs that were set aside ----

std::vector<JobId> read_aside(const SQLite::Database& db) {
  SQLite::Statement q(db, "SELECT job FROM aside ORDER BY job");
  std::vector<JobId> jobs;
  while (q.executeStep()) jobs.push_back(id_at(q, 0));
  return jobs;
}

void write_aside(SQLite::Database& db, JobId job) {
  run_with(db, "INSERT OR IGNORE INTO aside VALUES(?)", kept(job));
}

void remove_aside(SQLite::Database& db, JobId job) {
  run_with(db, "DELETE FROM aside WHERE job=?", kept(job));
}

}  // namespace holon::instance
