// rows.hpp - what an instance keeps beside its jobs, one type a table; and how these tables are
// read and written. The functions throw what SQLiteCpp throws: the Journal catches at its edge.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong.hpp"
#include "base/time.hpp"
#include "instance/job/job.hpp"
#include "msg/reservation.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

// The grant from the instance above. A root has none.
struct HeldGrant {
  std::uint64_t epoch = 0;
  std::string path, name;
  std::int64_t lease = 0;  // the parent's name for that end
  Time end = 0;            // 0: none

  bool operator==(const HeldGrant&) const = default;
};

// An agent as it was last welcomed.
struct KnownAgent {
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;
  std::string numbering;  // of processes, see launch::process_numbering()

  bool operator==(const KnownAgent&) const = default;
};

// An agent that has been away for so long that its nodes count as down.
struct OfflineAgent {
  std::uint32_t rank = 0;
  std::string host;
  Time since = 0;  // by the wall clock

  bool operator==(const OfflineAgent&) const = default;
};

// Does a drained node leave the instance?
enum class NodeLeave : std::uint8_t {
  stays,
  leaves,      // its agent is told to end once nothing runs there, or was told
  comes_back,  // it had left, and its place was given to a node again
};

// A node that takes no new work.
struct KeptDrain {
  std::string host;
  bool above = false;  // an instance above drained it
  std::string reason;  // for people
  Time since = 0;      // by the wall clock
  NodeLeave leave = NodeLeave::stays;

  bool operator==(const KeptDrain&) const = default;
};

// A gate of a queue that an operator closed: "submit" or "start".
struct ClosedGate {
  std::string queue, gate, reason;

  bool operator==(const ClosedGate&) const = default;
};

// An advance reservation as it was requested.
struct KeptReservation {
  JobId id;
  msg::ReserveRequest request;
  bool cancelled = false;  // cancelled, but its jobs have not ended yet
};

// What has become of a grant (grants/kept_book.hpp).
struct GrantEntry {
  std::int64_t number = 0;
  Time time = 0;
  std::string entry;

  bool operator==(const GrantEntry&) const = default;
};

// Whole numbers, kept by name.
std::optional<std::int64_t> read_number(const SQLite::Database& db, std::string_view key);
void write_number(SQLite::Database& db, std::string_view key, std::int64_t value);
void remove_number(SQLite::Database& db, std::string_view key);

std::optional<HeldGrant> read_grant(const SQLite::Database& db);
void write_grant(SQLite::Database& db, const HeldGrant& grant);

// By rank.
std::vector<KnownAgent> read_agents(const SQLite::Database& db);
void write_agent(SQLite::Database& db, const KnownAgent& agent);
// Processes that an agent is to end before anything else is started.
std::vector<event::Process> read_orphans(const SQLite::Database& db, std::uint32_t rank);
void write_orphans(SQLite::Database& db, std::uint32_t rank,
                   const std::vector<event::Process>& all);

// By rank.
std::vector<OfflineAgent> read_offline(const SQLite::Database& db);
void write_offline(SQLite::Database& db, const OfflineAgent& agent);
void remove_offline(SQLite::Database& db, std::uint32_t rank);

// By host.
std::vector<KeptDrain> read_drains(const SQLite::Database& db);
void write_drains(SQLite::Database& db, const std::vector<KeptDrain>& all);

// By queue.
std::vector<ClosedGate> read_gates(const SQLite::Database& db);
void close_gate(SQLite::Database& db, const ClosedGate& gate);
void open_gate(SQLite::Database& db, const std::string& queue, const std::string& gate);

// In order; all, or those with numbers from `from` on.
std::vector<GrantEntry> read_grant_entries(const SQLite::Database& db, std::int64_t from);
std::vector<GrantEntry> read_last_grant_entries(const SQLite::Database& db, std::int64_t most);
std::int64_t add_grant_entry(SQLite::Database& db, Time time, const std::string& entry);
void drop_grant_entries(SQLite::Database& db, std::int64_t before);

// By number.
std::vector<KeptReservation> read_reservations(const SQLite::Database& db);
void write_reservations(SQLite::Database& db, const std::vector<KeptReservation>& all);

// Pending jobs at which brokers failed, ascending.
std::vector<JobId> read_aside(const SQLite::Database& db);
void write_aside(SQLite::Database& db, JobId job);
void remove_aside(SQLite::Database& db, JobId job);

}  // namespace holon::instance
