// part_fences.hpp - the fences of one agent's part of a job: data put by its tasks, until all parts
// have come.
//
// The broker keeps fences in memory only. So the data of the last completed fence is kept here,
// too: after a restart of the broker other parts may still wait in that fence.
#pragma once
#include <cstdint>
#include <deque>

#include "launch/messages.hpp"

namespace holon::launch {

class PartFences {
 public:
  explicit PartFences(std::uint64_t job) : job_(job) {}

  // All tasks have come and put `data`. REQUIRES: is_waiting() is false.
  const msg::FenceRequest& enter(std::string data);
  bool is_waiting() const { return waiting_; }
  // All parts have come to fence `round`. False: no task waits in that fence.
  bool release(std::uint64_t round);
  // The fences to be sent again over a new connection, in this order.
  const std::deque<msg::FenceRequest>& to_say_again() const { return kept_; }

 private:
  std::uint64_t job_;
  std::deque<msg::FenceRequest> kept_;  // at most two
  bool waiting_ = false;
};

}  // namespace holon::launch
