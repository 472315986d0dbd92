// Meta key "gate.submit.NAME" or "gate.start.NAME": "open", or "closed" and the reason behind it.
#include "instance/job/queue_gates.hpp"

namespace holon::instance {
namespace {

constexpr std::string_view kOpen = "open";
constexpr std::string_view kClosed = "closed ";

std::string key_of(const std::string& queue, QueueGates::Gate gate) {
  return (gate == QueueGates::Gate::submit ? "gate.submit." : "gate.start.") + queue;
}

}  // namespace

Status QueueGates::tell(const std::string& queue, Gate gate, bool open) {
  return gate == Gate::submit ? scheduler_.enable_queue(queue, open)
                              : scheduler_.start_queue(queue, open);
}

Status QueueGates::restore() {
  for (const auto& queue : scheduler_.queues())
    for (const Gate gate : {Gate::submit, Gate::start}) {
      const auto kept = journal_.meta(key_of(queue.name, gate));
      if (!kept) return tl::unexpected(kept.error());
      if (!*kept || !(*kept)->starts_with(kClosed)) continue;
      closed_[{queue.name, gate}] = (*kept)->substr(kClosed.size());
      if (auto told = tell(queue.name, gate, false); !told) return told;
    }
  return {};
}

Status QueueGates::set(const std::string& queue, Gate gate, bool open, const std::string& reason) {
  if (auto told = tell(queue, gate, open); !told) return told;
  journal_.set_meta(key_of(queue, gate), open ? std::string(kOpen) : std::string(kClosed) + reason);
  if (open)
    closed_.erase({queue, gate});
  else
    closed_[{queue, gate}] = reason;
  return {};
}

std::string QueueGates::reason(const std::string& queue, Gate gate) const {
  const auto found = closed_.find({queue, gate});
  return found == closed_.end() ? std::string() : found->second;
}

}  // namespace holon::instance
