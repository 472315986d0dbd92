// policies.hpp - the policies of queues while the instance runs: which one somebody has set in
// place of that of the configuration, what policies that users wrote keep for later (`state`), and
// what goes wrong in them. The first two are in the journal, and outlive the broker.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/journal/journal.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

// A policy as a client names it.
struct NamedPolicy {
  std::string name;  // of a built-in one, or of a file, "mine.lua" ...
  std::string text;  // ... with what stands in it

  bool operator==(const NamedPolicy&) const = default;
};

// Null for a built-in one. Errors: invalid_argument with the place.
Result<std::shared_ptr<const qmanager::PolicyProgram>> program_of(const NamedPolicy& policy);

// What went wrong, and who decides: "mine.lua:4: ...; easy decides now".
std::string in_words(const qmanager::HookStatus& status);

class Policies {
 public:
  // All must outlive it.
  Policies(Journal& journal, qmanager::Scheduler& scheduler, const config::Config& config)
      : journal_(journal), scheduler_(scheduler), config_(config) {}

  // Before jobs are recovered. What is of no use any more, because the configuration has no such
  // queue or a policy has another text now, is passed over with a line in the log. Errors: system.
  Status restore();
  // The same of policies in advance reservations, once these are there.
  Status restore_within();
  // Writes down what policies keep, where that has changed, and tells the log what went wrong in
  // them. Before each commit, so that it is written with the events that the policies were told.
  void keep();

  // From now on this policy decides for the queue. Errors: not_found, invalid_argument; nothing has
  // changed then.
  Status load(const std::string& queue, const NamedPolicy& policy, Time now);
  // The policy of the configuration again; the base of one that a user wrote. Returns its name.
  // Errors: not_found.
  Result<std::string> disable(const std::string& queue, Time now);
  // Of the configuration. REQUIRES: there is such a queue.
  const std::string& configured(const std::string& queue) const;
  // The name of the policy of the default queue, or of the first one.
  std::string of_default_queue() const;
  // What a user wrote that the queue has now; "": it has a built-in policy.
  std::string text_of(const std::string& queue) const;
  bool is_set_live(const std::string& queue) const { return live_.contains(queue); }
  // A line for each queue whose policy has had trouble; "": none has.
  std::string troubles() const;

 private:
  Status restore_live(const std::string& queue);
  Status restore_state(const qmanager::QueueStatus& queue, JobId advance = {});
  void forget_past_advances();
  Status set(const std::string& queue, const NamedPolicy& policy, Time now);
  void tell_troubles();

  Journal& journal_;
  qmanager::Scheduler& scheduler_;
  const config::Config& config_;
  std::map<std::string, NamedPolicy> live_;            // by queue: set by load() or disable()
  std::map<std::string, std::set<std::string>> told_;  // what the log has been told, by queue
  // The queues of which something is written down, by advance reservation.
  std::map<JobId, std::set<std::string>> within_;
};

}  // namespace holon::instance
