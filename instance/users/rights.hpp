// rights.hpp - who may ask a broker what, how far that travels in the tree, what answers for an
// instance that is gone, and what may be asked where nothing can be written: the only place that
// knows. A topic without a row does not exist (docs/security.md has the same table for people).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::instance {

// What the other end of a connection has proved to be; several may be true of one.
enum Asker : unsigned {
  kOwner = 1,     // a process of the instance's own user, or root: by the kernel's word
  kAgent = 2,     // the agent that said hello last and showed the secret
  kChild = 4,     // a child instance that said hello with its token, from within its job
  kParent = 8,    // over the connection that this broker made to its parent
  kInvited = 16,  // who has shown the key of an invitation, and nothing else
  // Of an instance that serves several users (users/access.hpp); an operator has the latter, too.
  kOperator = 32,
  kMember = 64,    // a user whose jobs it runs
  kVisitor = 128,  // anybody on this machine
};

// May the request be passed on through the tree, or do only neighbours say it to each other?
enum class Reach { tree, neighbours };

// What answers a request for an instance that has ended, from what it has left
// (tree/ended_instances.hpp).
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
  bool audited = false;  // it changes something: who asked is kept (audit.hpp)
  WhenEnded when_ended = WhenEnded::refusal;
  bool repeated = false;  // its sender says it again by itself where it was not taken
};

std::span<const Right> rights();

// May an asker of these kinds ask for it? `passed_on`: the request names a path. Errors:
// unsupported (no such topic), denied.
Status may_ask(std::string_view topic, unsigned askers, bool passed_on);
// Of a topic that does not exist these say false, or nothing.
bool is_audited(std::string_view topic);
bool is_repeated(std::string_view topic);
WhenEnded answer_when_ended(std::string_view topic);
// Does it only look at what there is? So it may be asked of a broker that cannot write.
bool is_look(std::string_view topic);

}  // namespace holon::instance
