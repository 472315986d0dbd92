// journal_schema.hpp - the journal's tables. All times in ms.
//
// meta; specs and batches (what was submitted); events, append-only; allocs (R as shares); jobs
// (final records of own jobs); descendants (records of jobs below); children (grants given);
// outbox; submit_keys.
#pragma once
#include "instance/resources/database_kind.hpp"

namespace holon::instance {

inline constexpr const char* kJournalSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE specs(id INTEGER PRIMARY KEY, jobspec TEXT NOT NULL);
CREATE TABLE batches(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, spec INTEGER NOT NULL,
                     is_instance INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE events(seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, count INTEGER NOT NULL, time INTEGER NOT NULL,
                    name TEXT NOT NULL, context TEXT NOT NULL);
CREATE INDEX events_of_job ON events(job);
CREATE TABLE allocs(job INTEGER PRIMARY KEY, begin INTEGER NOT NULL, end INTEGER NOT NULL, shares BLOB NOT NULL);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, result TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE descendants(path TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE children(job INTEGER PRIMARY KEY, token TEXT NOT NULL, epoch INTEGER NOT NULL, uri TEXT NOT NULL);
CREATE TABLE outbox(path TEXT PRIMARY KEY) WITHOUT ROWID;
)";

// Which jobs a client's key of a submission stands for. Journals of earlier versions lack it: it is
// made where a journal is opened.
inline constexpr const char* kSubmitKeysTable = R"(
CREATE TABLE IF NOT EXISTS submit_keys(key TEXT PRIMARY KEY, first INTEGER NOT NULL,
                                       count INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS submit_keys_of_job ON submit_keys(first);
)";

inline constexpr DatabaseKind kJournalKind{"journal", 0x484f4c4e /* "HOLN" */, 1, kJournalSchema};

// Keys of meta.
inline constexpr const char* kJournalId = "instance.id";    // whose journal it is
inline constexpr const char* kCommits = "journal.commits";  // so many transactions so far
inline constexpr const char* kRebuilt = "journal.rebuilt";  // when, from what could be read
inline constexpr const char* kLastForgotten = "jobs.last-forgotten";  // a number no job gets again

// The number of the last event that was forgotten; no event gets a number up to it.
inline constexpr const char* kLastForgottenEvent = "events.last-forgotten";
// Another one after each loss of commits, whose events' numbers are given again.
inline constexpr const char* kEventEra = "events.era";

inline constexpr const char* kClock = "clock";  // InstanceClock::text_to_keep()
inline constexpr const char* kDefaultQueue = "queue.default";
inline constexpr const char* kForgetting = "jobs.forgetting";  // the rest of a batch that is to go

}  // namespace holon::instance
