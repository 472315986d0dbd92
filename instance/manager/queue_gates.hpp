// queue_gates.hpp - which queues take jobs and which start them, as an operator set it. Kept in the
// journal, so that a closed gate stays closed whatever happens to the broker.
#pragma once
#include <map>
#include <string>

#include "base/result.hpp"
#include "instance/journal/journal.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

class QueueGates {
 public:
  enum class Gate { submit, start };

  // Both arguments must outlive the QueueGates.
  QueueGates(Journal& journal, qmanager::Scheduler& scheduler)
      : journal_(journal), scheduler_(scheduler) {}

  // Closes the gates that the journal has as closed. Call when recovered jobs are in their queues:
  // a closed queue would not take them. Errors: system.
  Status restore();
  // Errors: not_found.
  Status set(const std::string& queue, Gate gate, bool open, const std::string& reason);
  bool closed(const std::string& queue, Gate gate) const { return closed_.contains({queue, gate}); }
  // Why the gate was closed; empty: it is open, or no reason was given.
  std::string reason(const std::string& queue, Gate gate) const;

 private:
  Status tell(const std::string& queue, Gate gate, bool open);

  Journal& journal_;
  qmanager::Scheduler& scheduler_;
  std::map<std::pair<std::string, Gate>, std::string> closed_;  // with the reason
};

}  // namespace holon::instance
