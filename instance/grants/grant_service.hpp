// grant_service.hpp - the requests about grants that move.
#pragma once
#include "instance/grants/grants.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class GrantService {
 public:
  GrantService(transport::Reactor& reactor, Grants& grants, AfterCommit& after_commit)
      : reactor_(reactor), grants_(grants), after_commit_(after_commit) {}

  void add_to(transport::Dispatcher& dispatcher);

 private:
  template <class Ask, class Answer>
  void answer(const transport::Request& request, const Answer& to);
  void release(const transport::Request& request);
  void recall(const transport::Request& request);
  Result<msg::GrantHistory> history(const msg::GrantHistoryRequest& what) const;

  transport::Reactor& reactor_;
  Grants& grants_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
