// audit.hpp - keeps in the journal who asked the instance to change something, and who was refused
// what: the newest `journal.audit` entries. An entry is committed with the change it is about.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "instance/basics/clock.hpp"
#include "instance/journal/journal.hpp"
#include "transport/dispatcher.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Audit {
 public:
  // `keep`: how many entries; 0: none. Journal and clock must outlive it.
  Audit(Journal& journal, InstanceClock& clock, std::uint64_t keep)
      : journal_(journal), clock_(clock), keep_(static_cast<std::int64_t>(keep)) {}
  void add_to(transport::Dispatcher& dispatcher);

  // The request is about to be done, or passed on; its entry says so, and why if it fails.
  // `passed_on`: it came through the instance above. The audit must outlive the request's answer.
  void asked(const transport::Request& request, bool passed_on);
  // The entry of the request that was asked last; 0: it has none.
  std::int64_t last_asked() const { return last_; }
  // Adds the numbers of its jobs to the entry of a request.
  void name_jobs(std::int64_t entry, std::uint64_t first, std::uint64_t count);
  // The request was refused before anything was done.
  void refused(const transport::Request& request, const Error& why);
  // Refusals that an agent tells of are its word alone: one that somebody has taken over could make
  // up so many that nothing else was left. A tenth of the entries may be by the word of one agent.
  bool has_room_for(const std::string& agent);
  // The entry that was made last is by this agent's word.
  std::int64_t newest() const { return newest_; }
  void is_by_word_of(const std::string& agent) { by_word_of_[agent].push_back(newest_); }
  // The system has refused a task what it was to have as its user: a file, a folder, the user
  // itself. `job`: of which one, in words; `uid`: of that user, -1: not known.
  void task_denied(const std::string& job, std::int64_t uid, const std::string& why);

 private:
  AuditRow row_of(const transport::Request& request, bool passed_on) const;
  std::int64_t add(const AuditRow& row);
  void list(const transport::Request& request) const;

  Journal& journal_;
  InstanceClock& clock_;
  std::int64_t keep_;
  std::int64_t last_ = 0;    // the entry of the request that was asked last
  std::int64_t newest_ = 0;  // of this broker; 0: it has made none
  std::map<std::string, std::deque<std::int64_t>> by_word_of_;  // agents; entries that may be kept
};

}  // namespace holon::instance
