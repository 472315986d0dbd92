// part_fences.hpp - the fences of one agent's part of a job: what its tasks have put, until all
// parts have come.
//
// The broker keeps nothing on disk of a fence. So what was put for the last one that is over is
// kept here, too: after the broker was restarted, other parts may still wait in it.
#pragma once
#include <cstdint>
#include <deque>

#include "launch/messages.hpp"

namespace holon::launch {

class PartFences {
 public:
  explicit PartFences(std::uint64_t job) : job_(job) {}

  // The tasks have all come and put `data`. REQUIRES: is_waiting() is false.
  const msg::FenceRequest& enter(std::string data);
  bool is_waiting() const { return waiting_; }
  // All parts have come to fence `round`. False: it is not the one that is waited in.
  bool release(std::uint64_t round);
  // What is to be said again over a new connection, in this order.
  const std::deque<msg::FenceRequest>& to_say_again() const { return kept_; }

 private:
  std::uint64_t job_;
  std::deque<msg::FenceRequest> kept_;  // at most two
  bool waiting_ = false;
};

}  // namespace holon::launch
