// Grants that move.
#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {

namespace {

Status done(const Result<msg::Empty>& answer) {
  return answer ? Status() : tl::unexpected(answer.error());
}

}  // namespace

Result<msg::GrantReply> Client::grants() {
  return parts_->call<msg::GrantReply>("grant.show", msg::Empty{});
}

Result<msg::GrantAnswer> Client::ask_grant(const msg::GrantAsk& request) {
  return parts_->call<msg::GrantAnswer>("grant.ask", request, kForEver);
}

Result<msg::GrantReply> Client::wait_for_grants(std::uint64_t epoch) {
  return across_restarts(*parts_, [&] {
    return parts_->call<msg::GrantReply>("grant.wait", msg::GrantWait{epoch}, kForEver);
  });
}

Result<msg::GrantExplained> Client::explain_grant(const msg::GrantExplain& request) {
  return parts_->call<msg::GrantExplained>("grant.explain", request);
}

Status Client::release_grant(const msg::GrantRelease& request) {
  return done(parts_->call<msg::Empty>("grant.release", request));
}

Status Client::recall_grant(const msg::GrantRecall& request) {
  return done(parts_->call<msg::Empty>("grant.recall", request));
}

Result<msg::GrantLent> Client::lend_grant(const msg::GrantLend& request) {
  return parts_->call<msg::GrantLent>("grant.lend", request);
}

Result<msg::GrantHistory> Client::grant_history(const msg::GrantHistoryRequest& request) {
  return parts_->call<msg::GrantHistory>("grant.history", request);
}

}  // namespace holon::client
