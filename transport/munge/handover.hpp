// handover.hpp - a text for other processes of the same user on other machines, which have nothing
// in common yet but the site's MUNGE key and the name of what they want.
//
// Who asks sends one line, a credential over the name and a number of its own; the answer is one
// line, a credential over the same and the text. Both are encrypted, and MUNGE decodes them for
// processes of this user only, and once. So who reads along learns nothing, who sends again what
// was heard gets nothing, and what another user has put at the port is not taken for an answer.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/munge/munge.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::transport {

// The ports at which a text of this name is given: they follow from the name, and are below those
// that the kernel gives away by itself.
std::vector<std::uint16_t> handover_ports(const std::string& name);

// The side that has the text.
class Handover {
 public:
  // Listens at the first free one of handover_ports() of this machine, until the object's end.
  // Errors: unsupported (no daemon answers), system (no port is free).
  static Result<std::unique_ptr<Handover>> open(Reactor& reactor, Munge munge, std::string name,
                                                std::string text);
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

 private:
  struct Asker {
    UniqueFd fd;
    std::string line;
    Subscription readable, patience;
  };
  using Askers = std::list<Asker>;
  Handover(Reactor& reactor, Munge munge, std::string name, std::string text)
      : reactor_(reactor),
        munge_(std::move(munge)),
        name_(std::move(name)),
        text_(std::move(text)) {}
  Status listen();
  Status watch();
  void let_in();
  void rest();
  void read(Askers::iterator asker);
  Result<std::string> answer(const std::string& credential) const;

  Reactor& reactor_;
  Munge munge_;
  std::string name_, text_;
  UniqueFd socket_;
  Subscription incoming_, rested_;
  Askers askers_;  // the oldest first
};

// The other side: asks at `port` of `host`, one of handover_ports(), for the text of this name.
// Waits at most `patience` ms for the connection and as long again for the answer; looking up the
// host's name and the daemon of this machine take their own time. Errors: disconnected (nobody is
// there), timed_out, denied (the other side is not this user's, or has another text), unsupported
// (no daemon answers here), not_found (no such host), system.
Result<std::string> ask_for_handover(const Munge& munge, const std::string& host,
                                     std::uint16_t port, const std::string& name,
                                     Duration patience);

}  // namespace holon::transport
