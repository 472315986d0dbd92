// refusal_notes.hpp - refusals by the agent of another node at its socket there, for the audit of
// the instance (holon audit).
//
// A client is told at once; the broker is told when it accepts this agent's messages, again if it
// did not, and only the first refusal of each user and minute: a client that asks without end fills
// neither the memory of the agent nor the audit. The broker does not rely on that (service.cpp).
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
  std::int64_t uid = -1;  // as that node's kernel says; -1: not known
  std::int64_t pid = 0;   // there
  std::string topic;      // of the request
  std::string why;
  HOLON_FIELDS(uid, pid, topic, why)
};

// In one "agent.refused".
inline constexpr std::size_t kMostRefusalsTold = 100;

// "agent.refused": sent by an agent on another node, about clients of its socket. Answer: Empty.
struct RefusedRequest {
  std::vector<Refusal> refused;
  HOLON_FIELDS(refused)
};

}  // namespace msg

class RefusalNotes {
 public:
  // Both arguments must outlive it.
  RefusalNotes(transport::Reactor& reactor, transport::Client& broker)
      : reactor_(reactor), broker_(broker) {}

  // Notes a refusal, and reports it if the broker listens. Keeps at most 100, the oldest ones.
  void add(const transport::Request& request, std::string why);
  // The broker accepts this agent's messages from now on, or does not.
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
  // Gone with this object: a later answer is nobody's.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holon::launch
