#include "instance/grants/grant_service.hpp"

#include <fmt/core.h>

#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::uint64_t kMostHistory = 10'000;
constexpr std::size_t kLongestWhy = 4'096;  // bytes

}  // namespace

void GrantService::add_to(transport::Dispatcher& dispatcher) {
  using transport::Request;
  dispatcher.add("grant", [this](const Request& r) { grants_.take(r, reactor_.now()); });
  dispatcher.add("grant.ask", [this](const Request& r) { grants_.ask(r, reactor_.now()); });
  dispatcher.add("grant.show", [this](const Request& r) {
    after_commit_.add([r, reply = grants_.show()] { r.reply(transport::pack(reply)); });
  });
  dispatcher.add("grant.wait", [this](const Request& r) { grants_.wait(r); });
  dispatcher.add("grant.explain", [this](const Request& r) { grants_.explain(r, reactor_.now()); });
  dispatcher.add("grant.could", [this](const Request& r) { grants_.could(r, reactor_.now()); });
  dispatcher.add("grant.pulse", [this](const Request& r) { grants_.pulse(r, reactor_.now()); });
  dispatcher.add("grant.release", [this](const Request& r) { release(r); });
  dispatcher.add("grant.recall", [this](const Request& r) { recall(r); });
  dispatcher.add("grant.lend", [this](const Request& r) {
    answer<msg::GrantLend>(r, [this, &r](const auto& what) {
      return grants_.lend(what, transport::user_of(r.principal()), reactor_.now());
    });
  });
  dispatcher.add("grant.history", [this](const Request& r) {
    answer<msg::GrantHistoryRequest>(r, [this](const auto& what) { return history(what); });
  });
}

template <class Ask, class Answer>
void GrantService::answer(const transport::Request& request, const Answer& to) {
  const auto what = transport::unpack<Ask>(request.payload());
  if (!what) return request.fail(what.error());
  auto answered = to(*what);
  if (!answered) return request.fail(answered.error());
  after_commit_.add(
      [request, reply = std::move(*answered)] { request.reply(transport::pack(reply)); });
}

void GrantService::release(const transport::Request& request) {
  const auto what = transport::unpack<msg::GrantRelease>(request.payload());
  if (!what) return request.fail(what.error());
  if (auto done = grants_.release(*what, reactor_.now()); !done) return request.fail(done.error());
  after_commit_.add([request] { request.reply(transport::pack(msg::Empty{})); });
}

void GrantService::recall(const transport::Request& request) {
  const auto what = transport::unpack<msg::GrantRecall>(request.payload());
  if (!what) return request.fail(what.error());
  if (what->notice < 0)
    return request.fail(
        {Errc::invalid_argument, "is negative; a time from now is accepted", "notice"});
  if (what->reason.size() > kLongestWhy)
    return request.fail(
        {Errc::invalid_argument,
         fmt::format("has {} bytes; at most {} are accepted", what->reason.size(), kLongestWhy),
         "reason"});
  if (auto done = grants_.recall(*what, reactor_.now()); !done) return request.fail(done.error());
  after_commit_.add([request] { request.reply(transport::pack(msg::Empty{})); });
}

Result<msg::GrantHistory> GrantService::history(const msg::GrantHistoryRequest& what) const {
  if (what.limit > kMostHistory)
    return fail(Errc::out_of_range,
                fmt::format("at most {} entries are told at once", kMostHistory), "limit");
  return grants_.history(what.limit);
}

}  // namespace holon::instance
