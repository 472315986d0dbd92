// topic.hpp - what can be asked of a process of holon: the request, its answer, who may ask, how
// far that travels in the tree, what answers for an ended instance, and what is kept about who
// asked. The rows are in topics.cpp, and those between a broker and its agents in
// launch/topics.cpp; a topic without a row does not exist (docs/security.md has the same table for
// people).
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "transport/codec/shape.hpp"

namespace holon::msg {

// What the sender has proved to be; several may be true of one.
enum Asker : unsigned {
  kOwner = 1,     // a process of the instance's own user, or root, as the kernel says
  kAgent = 2,     // the agent that last said hello and showed the secret
  kChild = 4,     // a child instance that said hello with its token, from within its job
  kParent = 8,    // over this broker's own connection to its parent
  kInvited = 16,  // has shown the key of an invitation, and nothing else
  // In an instance that serves several users (instance/users/access.hpp); an operator is also a
  // member.
  kOperator = 32,
  kMember = 64,    // a user whose jobs the instance runs
  kVisitor = 128,  // anybody on this machine
};

// May the request be passed on through the tree, or is it only for neighbours?
enum class Reach { tree, neighbours };

// It changes something: the sender is kept (instance/users/audit.hpp).
enum class Audited { no, yes };

// What answers a request for an ended instance, from what it has left
// (instance/listing/ended_instances.hpp).
enum class WhenEnded {
  refusal,   // nothing: it has ended
  job_list,  // a page of the records of its jobs
  info,      // all that is kept about a job
  events,    // the events of jobs, to their ends
  records,   // the records of jobs
  output,    // the output of a job
  counts,    // how many jobs it had
};

// Does its sender repeat the request by itself if it was not taken?
enum class Repeated { no, yes };

struct Rights {
  unsigned askers;  // any of these
  Reach reach;
  Audited audited = Audited::no;
  WhenEnded when_ended = WhenEnded::refusal;
  Repeated repeated = Repeated::no;
};

// All brokers of a tree run as one user, which both ends of their connections prove: requests that
// they pass on come from the owner.
inline constexpr unsigned kUser = kOwner | kParent;
inline constexpr unsigned kOperators = kUser | kOperator;  // not over other users
inline constexpr unsigned kUsers = kOperators | kMember;   // about their own jobs: Access

// Requests that look, and those that change something.
inline constexpr Rights kAllAsk{kUsers | kVisitor, Reach::tree};
inline constexpr Rights kUsersAsk{kUsers, Reach::tree};
inline constexpr Rights kUsersChange{kUsers, Reach::tree, Audited::yes};
inline constexpr Rights kOperatorsAsk{kOperators, Reach::tree};
inline constexpr Rights kOperatorsChange{kOperators, Reach::tree, Audited::yes};
inline constexpr Rights kOwnerChanges{kUser, Reach::tree, Audited::yes};
// With these agents and children prove what they are: before that they are clients, or have an
// invitation.
inline constexpr Rights kOwnerProves{kOwner, Reach::neighbours};
inline constexpr Rights kUsersProve{kOwner | kMember, Reach::neighbours};
inline constexpr Rights kInvitedAsk{kInvited, Reach::neighbours};
inline constexpr Rights kAgentsSay{kAgent, Reach::neighbours};
inline constexpr Rights kChildrenSay{kChild, Reach::neighbours};
inline constexpr Rights kParentSays{kParent, Reach::neighbours};
inline constexpr Rights kKinSay{kChild | kParent, Reach::neighbours};
// What only agents answer: nobody asks it of a broker.
inline constexpr Rights kOfAgents{0, Reach::neighbours};

constexpr Rights ended(Rights rights, WhenEnded by) {
  rights.when_ended = by;
  return rights;
}
constexpr Rights repeated(Rights rights) {
  rights.repeated = Repeated::yes;
  return rights;
}

struct Topic {
  transport::Topic shape;
  Rights rights;
};

template <class Request, class Answer>
constexpr Topic topic(std::string_view name, Rights rights) {
  return {transport::topic<Request, Answer>(name), rights};
}
template <class Request, class Part>
constexpr Topic stream(std::string_view name, Rights rights) {
  return {transport::stream<Request, Part>(name), rights};
}

// The names and messages alone.
inline std::vector<transport::Topic> shapes_of(std::span<const Topic> topics) {
  std::vector<transport::Topic> shapes;
  for (const Topic& topic : topics) shapes.push_back(topic.shape);
  return shapes;
}

}  // namespace holon::msg
