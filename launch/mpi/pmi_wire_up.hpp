// pmi_wire_up.hpp - PMI-1 and PMI-2 for the tasks of one job on this node: a socket pair a task,
// the protocol of pmi/server.hpp over it. MPICH and its descendants, and Slurm's libpmi2, find
// their end by PMI_FD.
//
// A task is read only while it has taken all answers, and no more than one buffer a turn: whatever
// it sends, and however fast, costs the agent bounded memory and no other job its turn. A task that
// sends anything but PMI is not heard any more; nothing else happens to it.
#pragma once
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"
#include "launch/mpi/kept_bytes.hpp"
#include "launch/mpi/wire_up.hpp"
#include "pmi/server.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class PmiWireUp final : public WireUp {
 public:
  // `kept`: bounds what jobs keep here; nullptr: no bound. Both arguments must outlive it. Errors:
  // system (no descriptors are left).
  static Result<std::unique_ptr<PmiWireUp>> create(transport::Reactor& reactor,
                                                   std::shared_ptr<KeptBytes> kept,
                                                   const msg::Start& start, pmi::Versions versions,
                                                   WireUpEvents events);

  std::map<std::string, std::string> variables(std::size_t place) const override;
  int descriptor(std::size_t place) const override { return seats_[place].theirs.get(); }
  void done_opening() override;
  Status release(const std::vector<std::string>& parts) override;
  bool ended(std::size_t place) override;

 private:
  struct Seat {
    std::uint64_t rank = 0;
    transport::UniqueFd ours, theirs;
    std::string unsent;
    transport::Subscription ready;
  };

  PmiWireUp(transport::Reactor& reactor, std::shared_ptr<KeptBytes> kept, const msg::Start& start,
            pmi::Versions versions, WireUpEvents events);
  Status add_seat(std::uint64_t rank);
  void wait_for(std::size_t place, unsigned what);
  bool hear(std::size_t place);
  void flush(std::size_t place);
  void close(std::size_t place);
  void let_leave();

  transport::Reactor& reactor_;
  WireUpEvents events_;
  std::string job_;
  std::uint64_t size_;
  KeptBytes::Part kept_;  // outlives what it counts
  pmi::Server server_;
  std::vector<Seat> seats_;
  transport::Subscription leave_;  // for tasks that wait in their last fence
};

}  // namespace holon::launch
