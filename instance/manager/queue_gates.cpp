#include "instance/manager/queue_gates.hpp"

#include <set>

namespace holon::instance {
namespace {

std::string name_of(QueueGates::Gate gate) {
  return gate == QueueGates::Gate::submit ? "submit" : "start";
}

}  // namespace

Status QueueGates::tell(const std::string& queue, Gate gate, bool open) {
  return gate == Gate::submit ? scheduler_.enable_queue(queue, open)
                              : scheduler_.start_queue(queue, open);
}

// A gate of a queue that is no longer configured stays closed, for when the queue is back.
Status QueueGates::restore() {
  const auto kept = journal_.closed_gates();
  if (!kept) return tl::unexpected(kept.error());
  std::set<std::string> queues;
  for (const auto& queue : scheduler_.queues()) queues.insert(queue.name);
  for (const auto& closed : *kept) {
    if (!queues.contains(closed.queue)) continue;
    const Gate gate = closed.gate == name_of(Gate::submit) ? Gate::submit : Gate::start;
    closed_[{closed.queue, gate}] = closed.reason;
    if (auto told = tell(closed.queue, gate, false); !told) return told;
  }
  return {};
}

Status QueueGates::set(const std::string& queue, Gate gate, bool open, const std::string& reason) {
  if (auto told = tell(queue, gate, open); !told) return told;
  if (open) {
    journal_.remove_closed(queue, name_of(gate));
    closed_.erase({queue, gate});
  } else {
    journal_.put_closed({queue, name_of(gate), reason});
    closed_[{queue, gate}] = reason;
  }
  return {};
}

std::string QueueGates::reason(const std::string& queue, Gate gate) const {
  const auto found = closed_.find({queue, gate});
  return found == closed_.end() ? std::string() : found->second;
}

}  // namespace holon::instance
