// schema.hpp - the journal's tables. All times in ms.
//
// specs and batches (what was submitted); events, append-only; allocs (R as shares); jobs (final
// records of own jobs); descendants (records of jobs below); children (grants given); outbox;
// submit_keys. Beside the jobs (rows.hpp): numbers and meta, whole numbers and texts by name;
// held_grant, of the instance itself; agents, the orphans that they are to end, and which agents
// are offline; drains; gates; reservations with their users; aside.
// Versions 1 to 4 were those of programs that were never released.
#pragma once
#include "instance/journal/database_kind.hpp"

namespace holon::instance {

inline constexpr const char* kJournalSchema = R"(
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS specs(id INTEGER PRIMARY KEY, jobspec TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batches(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, spec INTEGER NOT NULL,
                     is_instance INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, count INTEGER NOT NULL, time INTEGER NOT NULL,
                    name TEXT NOT NULL, context TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_of_job ON events(job);
CREATE TABLE IF NOT EXISTS allocs(job INTEGER PRIMARY KEY, begin INTEGER NOT NULL, end INTEGER NOT NULL, shares BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS jobs(id INTEGER PRIMARY KEY, result TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS descendants(path TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS children(job INTEGER PRIMARY KEY, token TEXT NOT NULL, epoch INTEGER NOT NULL, uri TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outbox(path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held_grant(one INTEGER PRIMARY KEY CHECK(one = 1), epoch INTEGER NOT NULL, path TEXT NOT NULL,
                        name TEXT NOT NULL, lease INTEGER NOT NULL, end INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS agents(rank INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, numbering TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS orphans(rank INTEGER NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL,
                     PRIMARY KEY(rank, pid, start)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offline(rank INTEGER PRIMARY KEY, host TEXT NOT NULL, since INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS drains(host TEXT NOT NULL, above INTEGER NOT NULL, reason TEXT NOT NULL, since INTEGER NOT NULL,
                    PRIMARY KEY(host, above)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gates(queue TEXT NOT NULL, gate TEXT NOT NULL, reason TEXT NOT NULL,
                   PRIMARY KEY(queue, gate)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations(id INTEGER PRIMARY KEY, jobspec TEXT NOT NULL, begin INTEGER NOT NULL,
                          end INTEGER NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL,
                          cancelled INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS reservation_users(id INTEGER NOT NULL, place INTEGER NOT NULL, user TEXT NOT NULL,
                               PRIMARY KEY(id, place)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS aside(job INTEGER PRIMARY KEY) STRICT;
)";

// Tables that the first journals of this version lack; they are made when a journal is opened. In
// order: the jobs of a client's submission key; who asked for what (audit_rows.hpp); arrays, their
// tasks to which something has happened, and tasks that are over; records that others are compared
// with; the own words of tasks of graphs (job/task_words.hpp), whose batches may share a jobspec;
// where small tasks' output is in the log; what has become of grants that move (grants/), from the
// first entry on that kGrantsSince names; packs of older events, by the number of the last event,
// with the range of their jobs; graphs that are taken and not all of whose tasks are batches yet.
inline constexpr const char* kLaterTables = R"(
CREATE TABLE IF NOT EXISTS submit_keys(key TEXT PRIMARY KEY, first INTEGER NOT NULL,
                                       count INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS submit_keys_of_job ON submit_keys(first);
CREATE TABLE IF NOT EXISTS audit(number INTEGER PRIMARY KEY, time INTEGER NOT NULL, uid INTEGER NOT NULL,
                                 pid INTEGER NOT NULL, passed_on INTEGER NOT NULL, topic TEXT NOT NULL,
                                 path TEXT NOT NULL, what TEXT NOT NULL, refused TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS arrays(id INTEGER PRIMARY KEY, tasks INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS task_runs(id INTEGER PRIMARY KEY, events BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS task_ends(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, result TEXT NOT NULL,
                                     life BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS record_bases(id INTEGER PRIMARY KEY, first INTEGER NOT NULL,
                                        record BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS graph_tasks(id INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS outputs(id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, begin INTEGER NOT NULL,
                                   output INTEGER NOT NULL, error INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS event_packs(last INTEGER PRIMARY KEY, count INTEGER NOT NULL, low INTEGER NOT NULL,
                                       high INTEGER NOT NULL, span INTEGER NOT NULL, jobs TEXT NOT NULL,
                                       checksum INTEGER NOT NULL, events BLOB NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS event_packs_of_jobs ON event_packs(span, low, high);
CREATE INDEX IF NOT EXISTS batches_of_spec ON batches(spec);
CREATE TABLE IF NOT EXISTS grant_entries(number INTEGER PRIMARY KEY, time INTEGER NOT NULL,
                                         entry TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS graphs(first INTEGER PRIMARY KEY, numbers INTEGER NOT NULL, user TEXT NOT NULL,
                                  ways BLOB NOT NULL, request BLOB NOT NULL) STRICT;
)";

inline constexpr DatabaseKind kJournalKind{"journal", 0x484f4c4e /* "HOLN" */, 5, kJournalSchema};

// Keys of numbers.
inline constexpr const char* kOpenAsk = "grants.open-ask";      // of Elastic; 0: none
inline constexpr const char* kOpenLeast = "grants.open-least";  // its cores; negative: on nodes
inline constexpr const char* kToldMost = "grants.told-most";    // of Elastic; negative: nothing
inline constexpr const char* kGrantsSince = "grants.since";     // all entries before are history
inline constexpr const char* kStarted = "started";              // when it was, in instance time
inline constexpr const char* kCommits = "journal.commits";      // transactions so far
inline constexpr const char* kLatestOfTasks = "tasks.latest-event";  // when it was
inline constexpr const char* kRebuilt = "journal.rebuilt";  // when, from what could be read
inline constexpr const char* kLastForgotten = "jobs.last-forgotten";  // a number no job gets again
inline constexpr const char* kLastReservation = "reservations.last";  // neither this one
// A prefix before the number of a reservation, over or not; no job has that number.
inline constexpr const char* kReservationNumber = "reservations.number.";
// A prefix before the first of some unused numbers, the value being the one after the last: no job
// has them, or has left anything, and no job gets them again.
inline constexpr const char* kUnusedNumbers = "jobs.unused.";
// A prefix before the host of a node that leaves; the value is a NodeLeave.
inline constexpr const char* kNodeLeaves = "drains.leave.";
// What is left to forget of a batch: the first number, and the one after the last.
inline constexpr const char* kForgettingFirst = "jobs.forgetting.first";
inline constexpr const char* kForgettingStop = "jobs.forgetting.stop";
// A prefix before the path of a forgotten child, of whose jobs some records are still there.
inline constexpr const char* kForgettingBelow = "jobs.forgetting.below.";

// A prefix before the first number of a graph in `graphs`; the value is the limit, in ms, of those
// of its tasks that ask for none.
inline constexpr const char* kGraphLimit = "graphs.default-limit.";

// Keys of meta.
inline constexpr const char* kJournalId = "instance.id";        // of the journal's instance
inline constexpr const char* kCondemned = "journal.condemned";  // what made no sense in the journal
inline constexpr const char* kClock = "clock";                  // InstanceClock::text_to_keep()
// The number of the last event that was forgotten; no event gets a number up to it.
inline constexpr const char* kLastForgottenEvent = "events.last-forgotten";
// Of the tree that the instance has planted (instance/shape): its shape, as --tree takes it, the
// configuration of its levels as a list in JSON, and the first of the jobs that its children are.
inline constexpr const char* kTreeShape = "tree.shape";
inline constexpr const char* kTreeConf = "tree.conf";
inline constexpr const char* kTreeFirst = "tree.first";
// Changes after each loss of commits, whose event numbers are given again.
inline constexpr const char* kEventEra = "events.era";

// In jobs.result, for a record that is no job's: an array whose tasks have their own records.
inline constexpr const char* kNotCounted = "";

inline constexpr const char* kDefaultQueue = "queue.default";

}  // namespace holon::instance
