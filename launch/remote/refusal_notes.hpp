// refusal_notes.hpp - whom the agent of another node has refused something at its socket there, for
// the audit of the instance (holon audit).
//
// A client is told at once; the broker is told when it takes what the agent says, again where it
// did not, of each user and minute the first refusal only: whoever asks without end fills neither
// the memory of the agent nor the audit. The broker does not count on that (service.cpp).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"
#include "transport/refusal_counts.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {

namespace msg {

struct Refusal {
  std::int64_t uid = -1;  // by the kernel of that node; -1: not known
  std::int64_t pid = 0;   // there
  std::string topic;      // that was asked for
  std::string why;
  HOLON_FIELDS(uid, pid, topic, why)
};

// Of one "agent.refused".
inline constexpr std::size_t kMostRefusalsTold = 100;

// "agent.refused": asked by an agent on another node, of clients of its socket. Answer: Empty.
struct RefusedRequest {
  std::vector<Refusal> refused;
  HOLON_FIELDS(refused)
};

}  // namespace msg

class RefusalNotes {
 public:
  // Both must outlive it.
  RefusalNotes(transport::Reactor& reactor, transport::Client& broker)
      : reactor_(reactor), broker_(broker) {}

  // Notes it, and tells the broker where that listens. At most 100 are kept, the oldest ones.
  void add(const transport::Request& request, std::string why);
  // The broker takes what the agent says from now on, or does not.
  void resume();
  void pause() { is_open_ = false; }

 private:
  void tell();

  transport::Reactor& reactor_;
  transport::Client& broker_;
  bool is_open_ = false;
  bool is_told_ = false;              // an answer is awaited
  std::vector<msg::Refusal> untold_;  // the oldest first
  transport::RefusalCounts counts_;   // by user
  transport::Subscription again_;
  // Goes with it: an answer that comes later is nobody's.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holon::launch
