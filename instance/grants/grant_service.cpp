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
  dispatcher.add("grant.release", [this](const Request& r) { release(r); });
  dispatcher.add("grant.recall", [this](const Request& r) { recall(r); });
  dispatcher.add("grant.history", [this](const Request& r) { history(r); });
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

void GrantService::history(const transport::Request& request) {
  const auto what = transport::unpack<msg::GrantHistoryRequest>(request.payload());
  if (!what) return request.fail(what.error());
  if (what->limit > kMostHistory)
    return request.fail({Errc::out_of_range,
                         fmt::format("at most {} entries are told at once", kMostHistory),
                         "limit"});
  auto found = grants_.history(what->limit);
  if (!found) return request.fail(found.error());
  after_commit_.add(
      [request, reply = std::move(*found)] { request.reply(transport::pack(reply)); });
}

}  // namespace holon::instance
