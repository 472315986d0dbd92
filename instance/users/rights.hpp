// rights.hpp - who may ask a broker what, how far that travels in the tree, what answers for an
// ended instance, and what may be asked if nothing can be written: all of this is known only here.
// A topic without a row does not exist (docs/security.md has the same table for people).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::instance {

// What the sender has proved to be; several may be true of one.
enum Asker : unsigned {
  kOwner = 1,     // a process of the instance's own user, or root, as the kernel says
  kAgent = 2,     // the agent that last said hello and showed the secret
  kChild = 4,     // a child instance that said hello with its token, from within its job
  kParent = 8,    // over this broker's own connection to its parent
  kInvited = 16,  // has shown the key of an invitation, and nothing else
  // In an instance that serves several users (users/access.hpp); an operator is also a member.
  kOperator = 32,
  kMember = 64,    // a user whose jobs the instance runs
  kVisitor = 128,  // anybody on this machine
};

// May the request be passed on through the tree, or is it only for neighbours?
enum class Reach { tree, neighbours };

// What answers a request for an ended instance, from what it has left
// (listing/ended_instances.hpp).
enum class WhenEnded {
  refusal,   // nothing: it has ended
  job_list,  // a page of the records of its jobs
  info,      // all that is kept about a job
  events,    // the events of jobs, to their ends
  records,   // the records of jobs
  output,    // the output of a job
  counts,    // how many jobs it had
};

struct Right {
  std::string_view topic;
  unsigned askers;  // any of these
  Reach reach;
  bool audited = false;  // it changes something: the sender is kept (audit.hpp)
  WhenEnded when_ended = WhenEnded::refusal;
  bool repeated = false;  // its sender repeats it by itself if it was not taken
};

std::span<const Right> rights();

// May a sender of these kinds ask for it? `passed_on`: the request names a path. Errors:
// unsupported (no such topic), denied.
Status may_ask(std::string_view topic, unsigned askers, bool passed_on);
// False for a topic that does not exist.
bool is_audited(std::string_view topic);
bool is_repeated(std::string_view topic);
WhenEnded answer_when_ended(std::string_view topic);
// Does it only look? Then a broker that cannot write may answer it.
bool is_look(std::string_view topic);

}  // namespace holon::instance
