// Cancelling any number of jobs.
#include <algorithm>
#include <utility>

#include "base/idset.hpp"
#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {

// A request has room for so many ids; more go as ranges of numbers.
Result<msg::CancelReply> Client::cancel(const msg::CancelRequest& request) {
  constexpr std::size_t kFewIds = 5'000;
  if (request.ids.size() <= kFewIds)
    return parts_->call<msg::CancelReply>("cancel", request, kBulkTimeout);
  auto sorted = request.ids;
  std::sort(sorted.begin(), sorted.end());
  Idset numbers;
  for (const std::uint64_t id : sorted) numbers.insert(id);
  msg::CancelRequest ask{{}, false, request.reason, numbers.str()};
  auto reply = parts_->call<msg::CancelReply>("cancel", ask, kBulkTimeout);
  if (!reply) return reply;
  for (const auto& [text, ids] : {std::pair(&reply->cancelled_numbers, &reply->cancelled),
                                  {&reply->inactive_numbers, &reply->already_inactive}}) {
    const auto found = Idset::parse(*text);
    if (!found) return tl::unexpected(found.error());
    *ids = found->ids();
  }
  return reply;
}

}  // namespace holon::client
