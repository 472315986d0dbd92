// policies.hpp - the policies of queues while the instance runs: those that somebody has set in
// place of the configuration's, the state that policies written by users keep, and their failures.
// The first two are in the journal, and outlive the broker.
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
  std::string name;  // of a built-in policy, or of a file, "mine.lua" ...
  std::string text;  // ... with its contents

  bool operator==(const NamedPolicy&) const = default;
};

// Null for a built-in one. Errors: invalid_argument with the place.
Result<std::shared_ptr<const qmanager::PolicyProgram>> program_of(const NamedPolicy& policy);

// A failure, and which policy decides: "mine.lua:4: ...; easy decides now".
std::string in_words(const qmanager::HookStatus& status);

class Policies {
 public:
  // All arguments must outlive it.
  Policies(Journal& journal, qmanager::Scheduler& scheduler, const config::Config& config)
      : journal_(journal), scheduler_(scheduler), config_(config) {}

  // Call before jobs are recovered. Entries that are of no use any more (the queue is gone, or the
  // policy has another text) are skipped with a line in the log. Errors: system.
  Status restore();
  // Restores policies in advance reservations; call once the reservations are restored.
  Status restore_within();
  // Journals the state of policies where it has changed, and logs their failures. Call before each
  // commit, so that the state is written with the events that the policies were told.
  void keep();

  // Sets the policy of the queue. Errors: not_found, invalid_argument; nothing has changed then.
  // changed then.
  Status load(const std::string& queue, const NamedPolicy& policy, Time now);
  // Sets the configuration's policy again; if a user wrote that, its base. Returns the name.
  // Errors: not_found.
  Result<std::string> disable(const std::string& queue, Time now);
  // The policy of the queue in the configuration. REQUIRES: there is such a queue.
  const std::string& configured(const std::string& queue) const;
  // The name of the policy of the default queue, or of the first one.
  std::string of_default_queue() const;
  // The text of the queue's policy, if a user wrote it; "": it has a built-in policy.
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
  std::map<std::string, std::set<std::string>> told_;  // failures that were logged, by queue
  // Queues with a policy state in the journal, by advance reservation.
  std::map<JobId, std::set<std::string>> within_;
};

}  // namespace holon::instance
