// journal.hpp - what an instance must remember, in one SQLite database (WAL) of its state
// directory.
//
// Writes collect in one open transaction; commit() makes them durable together, once a turn of the
// broker's loop, and only then are answers sent. What is committed survives the death of any
// process, at any time. Whether it also outlives a power cut is the choice of Sync. The first
// failed write makes commit() fail, and every one after it: a broker whose journal is broken stops,
// so that nothing is acknowledged that was not written. One writer at a time: the state directory
// is locked while its journal is open.
//
// Changes to the files are noticed. The instance's identity and how far its journal had come are
// kept beside it (instance_id.hpp, mark.hpp): a journal that is gone, another's, damaged, or has
// lost its end is never taken for a new one. A file that is removed or shortened while it is open
// is written again from what is open.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "config/sync.hpp"
#include "instance/job/job.hpp"
#include "instance/journal/audit_rows.hpp"
#include "instance/journal/rows.hpp"
#include "resource/allocation.hpp"

namespace holon::msg {
struct JobRecord;
}

namespace holon::instance {

struct LostNumbers;
struct ShownRecord;
struct TaskWords;

// Equal jobs first .. first+count-1, submitted in one request: one row, however many they are.
struct Batch {
  JobId first;
  std::uint64_t count = 1;
  std::string jobspec;  // JSON
  bool is_instance = false;

  bool contains(JobId id) const { return first <= id && id.value() - first.value() < count; }
  bool operator==(const Batch&) const = default;
};

// Equal tasks first .. first+count-1 of an array that are over (job/ended.hpp).
struct EndedTasks {
  JobId first;
  std::uint64_t count = 1;
  std::string life;  // pack_ended()
};
// A task of an array to which something has happened, and which is not over.
struct TaskRun {
  JobId id;
  std::vector<Event> events;  // of the task's own, behind those of its array
};

// Where the output of a job is in the log of outputs (output/output_log.hpp).
struct OutputPlace {
  JobId job;
  std::int64_t segment = 0, begin = 0;  // `begin` in bytes
  std::int64_t output = 0, error = 0;   // bytes of stdout, and of stderr behind it
};
inline constexpr std::int64_t kMostLogged = 1 << 20;  // bytes of each; more makes no sense

// The jobs that were submitted with one key of a client.
struct SubmitKey {
  JobId first;
  std::uint64_t count = 1;  // as asked for; a refused submission has one record

  bool operator==(const SubmitKey&) const = default;
};

// A graph that was taken, and whose tasks become batches one after the other.
struct KeptGraph {
  JobId first;
  std::uint64_t numbers = 1;        // that all of its tasks take
  std::string user;                 // its owner
  std::vector<std::uint32_t> ways;  // the one that each task takes
  std::string request;              // msg::GraphRequest, packed
  Duration default_limit = 0;       // ms, of those of its tasks that ask for none; 0: none

  bool operator==(const KeptGraph&) const = default;
};

// An event as it was written: for `count` jobs from `first` on. Numbers ascend.
struct NumberedEvent {
  std::int64_t number = 0;
  JobId first;
  std::uint64_t count = 1;
  Event event;
};

// The grant to a child instance, which is the job `job`.
struct ChildGrant {
  JobId job;
  std::string token;        // the child shows it in each hello, see children.hpp
  std::uint64_t epoch = 0;  // 0: not yet given
  std::string uri;          // where the child listens, once known

  bool operator==(const ChildGrant&) const = default;
};

// An INACTIVE job, or tasks of an array that are over in the same way, as they are counted.
struct EndedRow {
  JobId id;
  std::uint64_t count = 1;
  std::string result;
  std::string user = {}, queue = {};  // of a task: its array's, as far as that is known
  bool is_array = false;              // an array as a whole: its tasks are rows of their own
  bool is_task = false;
};

// The jobs that a call of Journal::forget() took away.
struct Forgotten {
  std::vector<std::pair<JobId, JobId>> jobs;        // the first, and the one after the last
  std::vector<std::pair<JobId, JobId>> with_files;  // those of `jobs` that may have left files
  std::vector<JobId> instances;                     // those of `jobs` that were children
  std::vector<EndedRow> rows;                       // the forgotten jobs and tasks; no arrays
  std::uint64_t count = 0;                          // of jobs, in `rows`
  bool more = false;  // a batch is half gone or half read, or more are to go
};

class Journal {
 public:
  using Sync = config::Sync;
  enum class OnDamage {
    refuse,  // and say what can be done
    repair,  // makes a new journal of what can be read, keeps the old one, and says so in the news
  };
  // Called again and again during work that may take long.
  using Beat = std::function<void()>;
  // Opens or creates. An empty name: in memory, gone with the process. Looks for damage for a
  // second at most. `beat` is called in here, at each read and write until stop_beating(), and
  // later while lost files are rewritten. It must outlive the journal. Errors: invalid_argument
  // (the file is no journal, has another version, is another instance's, is damaged, or is gone),
  // busy (another broker has it open), system.
  static Result<Journal> open(const std::string& file, Sync sync,
                              OnDamage on_damage = OnDamage::refuse, Beat beat = {});
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) noexcept;
  ~Journal();

  // ---- writing; nothing is durable before commit() ----
  void add_batch(const Batch& batch);
  // Adds a batch whose jobspec is that of the batch `same`, whatever `batch` has.
  void add_batch_like(const Batch& batch, JobId same);
  // Adds what a task of a graph has for itself, beside its batch.
  void add_words(JobId task, const TaskWords& words);
  // Adds a graph; from then on its numbers are given. remove_graph(): all its tasks are batches.
  void add_graph(const KeptGraph& graph);
  void remove_graph(JobId first);
  // Adds the same event for `count` jobs as one row. More than one job means a whole batch, `first`
  // being its first.
  void add_event(JobId first, std::uint64_t count, const Event& event);
  // Adds a client's key for submitted jobs; it goes with the first job's record.
  void add_submit_key(std::string_view key, const SubmitKey& jobs);
  void add_allocation(const resource::Allocation& allocation);
  // Adds the final record of a job of this instance, which is INACTIVE from here on.
  void add_inactive(const msg::JobRecord& record);
  // Adds an array, whose batch has one number more than the array has tasks. Events of a task are
  // kept until it is over: one row a task, written with the commit.
  void add_array(JobId array, std::uint64_t tasks);
  // Sets an array's new number of tasks in all, and its new jobspec.
  void extend_array(JobId array, std::uint64_t tasks, const std::string& jobspec);
  void add_task_event(JobId task, const Event& event);
  // Adds tasks that ended alike: COMPLETED, FAILED, ... All else that was kept of them goes.
  void add_ended_tasks(const EndedTasks& tasks, const std::string& result);
  void add_output(const OutputPlace& place);
  // Puts the record of a job of a descendant. False: the known record is the same or newer
  // (record_order.hpp).
  bool put_descendant(const msg::JobRecord& record);
  // Puts a record that is about to be shown, and returns it or the known one, whichever is further
  // on: nothing is shown that a later answer from here could be behind of.
  ShownRecord show_descendant(msg::JobRecord record);
  void put_child(const ChildGrant& child);
  void set_meta(std::string_view key, std::string_view value);
  void set_number(std::string_view key, std::int64_t value);
  void put_grant(const HeldGrant& grant);
  void put_agent(const KnownAgent& agent);
  void put_orphans(std::uint32_t rank, const std::vector<event::Process>& all);
  void put_offline(const OfflineAgent& agent);
  void remove_offline(std::uint32_t rank);
  void put_drains(const std::vector<KeptDrain>& all);
  void put_closed(const ClosedGate& gate);
  void remove_closed(const std::string& queue, const std::string& gate);
  void put_reservations(const std::vector<KeptReservation>& all);
  void add_aside(JobId job);
  void remove_aside(JobId job);
  // Adds an entry about a grant and returns its number; drops those before a number.
  std::int64_t add_grant_entry(Time time, const std::string& entry);
  void drop_grant_entries(std::int64_t before);
  // Adds a row of the audit and returns its number; 0 where nothing can be written.
  std::int64_t add_audit(const AuditRow& row);
  void set_audit_what(std::int64_t number, const std::string& what);
  void set_audit_refused(std::int64_t number, const std::string& why);
  void drop_audit(std::int64_t up_to);
  // Paths whose newest record the parent has not acknowledged yet.
  void add_outbox(std::string_view path);
  void remove_outbox(std::string_view path);
  // Was something written since the last commit()?
  bool has_changes() const;
  // Errors: system; the text tells a full disk and a read-only one apart. O(what was written).
  Status commit();
  // Are the files still the ones that are open? If not, they are written again. Call once in a
  // while; commit() checks, too. Errors: system. O(1) while all is well.
  Status look();
  // Is there room for more than a few commits? Errors: system, naming what is wrong with the disk.
  Status room();
  // Ends all writing; commit() does nothing. What there is can be read on a disk that takes no
  // more.
  void freeze();
  // Opens a frozen journal, where open() fails only because of the disk. Errors: system.
  static Result<Journal> open_frozen(const std::string& file, Beat beat = {});
  void stop_beating();
  // The journal's contents make no sense, for this reason: its next opener takes it for damaged.
  // Returns the error to end with, which says so and what can be done: `system`, for a broker that
  // is started again repairs it.
  Error condemn(const Error& why);
  // News about the journal that somebody should be told; each is returned once.
  std::vector<std::string> take_news();
  // Was the journal made from what could be read of a damaged one? Events may be missing then.
  bool rebuilt() const;
  // Numbers at the journal's end that were given to jobs and tasks of which nothing is left.
  const std::vector<LostNumbers>& lost() const;
  // Notes that nobody has, or gets, the numbers first .. stop-1.
  void leave_unused(JobId first, JobId stop);
  // Forgets the oldest INACTIVE jobs, with their events, R and the records below them: batches that
  // are wholly over, until at least `surplus` jobs have gone, and then those that were over before
  // `before` (by the wall clock, as in their records; 0: none). A batch of more than `at_most` jobs
  // goes in several calls, also across a restart. Numbers are not given again, and the file shrinks
  // by and by. Errors: system. O(at_most).
  Result<Forgotten> forget(std::uint64_t surplus, std::uint64_t at_most, Time before = 0);
  // Forgets some records below forgotten children. False: there are none, and were none.
  Result<bool> forget_below();
  // Gives at most `pages` empty pages back to the disk. Returns how many are left. Errors: system.
  Result<std::int64_t> give_back(std::int64_t pages);
  // Call after a commit: the write-ahead log goes into the database, which shrinks. Returns the
  // bytes of both then. Errors: system.
  Result<std::int64_t> shrink_log();
  // The bytes of the database and its log.
  std::int64_t size() const;

  // ---- reading: uncommitted writes are seen, too. Errors: system ----
  Result<std::optional<std::string>> meta(std::string_view key) const;
  Result<std::optional<std::int64_t>> number(std::string_view key) const;
  // Rows that are not of a job, see rows.hpp.
  Result<std::optional<HeldGrant>> grant() const;
  Result<std::optional<KnownAgent>> agent(std::uint32_t rank) const;
  Result<std::vector<event::Process>> orphans(std::uint32_t rank) const;
  Result<std::vector<OfflineAgent>> offline() const;
  Result<std::vector<KeptDrain>> drains() const;
  Result<std::vector<ClosedGate>> closed_gates() const;
  Result<std::vector<KeptReservation>> reservations() const;
  Result<std::vector<JobId>> aside() const;
  // The entries about grants with numbers from `from` on, in order.
  Result<std::vector<GrantEntry>> grant_entries(std::int64_t from) const;
  // The last of them, at most so many, in order.
  Result<std::vector<GrantEntry>> last_grant_entries(std::int64_t most) const;
  // At most `limit` rows of the audit with numbers below `before`, the newest first. O(rows).
  Result<std::vector<AuditRow>> audit(std::int64_t before, std::size_t limit,
                                      bool refused_only) const;
  // How many tasks an array has (nullopt: it is none); which of its tasks are over, and to which
  // something has happened, in the order of their ids.
  Result<std::optional<std::uint64_t>> tasks_of_array(JobId array) const;
  Result<std::vector<JobId>> arrays_over() const;  // INACTIVE arrays
  Status each_ended(
      JobId first, std::uint64_t count,
      const std::function<void(const EndedTasks&, const std::string& result)>& take) const;
  // The first rows of tasks that are over, at most `limit`.
  Result<std::vector<EndedTasks>> ended_tasks(JobId first, std::uint64_t count,
                                              std::size_t limit) const;
  Result<std::vector<TaskRun>> runs_of(JobId first, std::uint64_t count) const;
  // nullopt: this task is not over, or does not exist.
  Result<std::optional<EndedTasks>> ended_task(JobId task) const;
  // nullopt: the log of outputs has nothing of this job.
  Result<std::optional<OutputPlace>> output_of(JobId job) const;
  Result<std::set<std::int64_t>> output_segments() const;  // O(outputs)
  // Batches with a job that is not INACTIVE, ascending.
  Result<std::vector<Batch>> active_batches() const;
  // All events since the oldest active batch was submitted, in order. O(these).
  Status replay(
      const std::function<void(JobId first, std::uint64_t count, const Event&)>& take) const;
  // At most `limit` events with numbers from `from` on, in order.
  Result<std::vector<NumberedEvent>> events_from(std::int64_t from, std::size_t limit) const;
  // The number of the next event; and that of the last forgotten event, before which others may be
  // missing (0: none is forgotten).
  std::int64_t next_event() const;
  Result<std::int64_t> last_forgotten_event() const;
  // Event numbers keep their meaning while the era is the same.
  Result<std::string> event_era() const;
  Result<std::optional<SubmitKey>> jobs_of_key(std::string_view key) const;
  // The latest time among the last events; 0: there are none. O(1).
  Result<Time> latest_event() const;
  Result<std::optional<resource::Allocation>> allocation(JobId job) const;
  // The grants of children whose job is not INACTIVE.
  Result<std::vector<ChildGrant>> children() const;
  Result<std::vector<std::string>> outbox() const;
  Result<std::vector<KeptGraph>> graphs() const;  // by their first numbers
  // The number after the last one below `stop` of which the journal has something; 1: of none.
  Result<JobId> entered_before(JobId stop) const;
  // Those of the jobs first .. first+count-1 that have words of their own, ascending.
  Result<std::vector<std::pair<JobId, TaskWords>>> words_of(JobId first, std::uint64_t count) const;
  // The batch that a job came with (for a task of a graph, its jobspec is the task's own), the
  // job's own events in order, its final record. Errors: not_found.
  Result<Batch> batch_of(JobId job) const;
  Result<std::vector<Event>> events_of(JobId job) const;
  // The result of a job, without its record; nullopt: none is kept. "": only its record has it.
  Result<std::optional<std::string>> result_of(JobId job) const;
  Result<std::optional<msg::JobRecord>> inactive(JobId job) const;
  // Final records of the `limit` jobs next to `job`: with higher ids, ascending; with lower ids,
  // descending.
  Result<std::vector<msg::JobRecord>> inactive_after(JobId job, std::size_t limit) const;
  Result<std::vector<msg::JobRecord>> inactive_before(JobId job, std::size_t limit) const;
  // Final records of jobs that held resources and were to hold them beyond `after`, by id.
  // O(allocations ever made).
  Status ended_after(Time after, const std::function<void(const msg::JobRecord&)>& take) const;
  // The next `limit` records of descendants whose path starts with `prefix` ("/3/"), in the order
  // of their paths as text, behind `after`. REQUIRES: prefix is not empty.
  Result<std::vector<msg::JobRecord>> descendants_after(std::string_view prefix,
                                                        std::string_view after,
                                                        std::size_t limit) const;
  Result<std::optional<msg::JobRecord>> descendant(std::string_view path) const;
  // Ids of the INACTIVE jobs in [first, first + count), ascending.
  Result<std::vector<JobId>> inactive_ids(JobId first, std::uint64_t count) const;
  // The number after the highest id ever given.
  Result<JobId> next_id() const;
  // The next rows behind the id `after`, at most `limit`, in the order of their ids. Rows of tasks
  // have no user and no queue.
  Result<std::vector<EndedRow>> ended_rows(JobId after, std::size_t limit) const;
  // Is a batch half forgotten?
  bool is_forgetting() const;
  // How many INACTIVE jobs there are, by result ("COMPLETED", ...).
  Result<std::map<std::string, std::int64_t>> inactive_counts() const;

 private:
  struct State;
  Result<std::vector<msg::JobRecord>> inactive_beside(const char* query, JobId job,
                                                      std::size_t limit) const;
  explicit Journal(std::unique_ptr<State> state);
  Result<std::vector<Event>> events_of_task(JobId array, JobId task) const;
  Status rescue();
  std::unique_ptr<State> state_;
};

}  // namespace holon::instance
