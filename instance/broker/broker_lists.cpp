// The part of the Broker for a journal that cannot be written: nothing changes, lists are shown.
#include <string_view>
#include <utility>

#include "instance/basics/exit_codes.hpp"
#include "instance/broker/broker.hpp"
#include "instance/users/rights.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kListing = 10'000;  // us of a turn for long answers

// Does the sender repeat this request to the next broker by itself?
bool is_asked_again(std::string_view topic) {
  return is_look(topic) || is_repeated(topic);
}

}  // namespace

// Long answers are made in portions, even where nothing may be changed.
void Broker::finish_listing_turn() {
  if (instance_) instance_->portions.turn(kListing);
  after_commit_.run();
  wake_.cancel();
  if (!after_commit_.empty() || (instance_ && !instance_->portions.empty()))
    wake_ = reactor_.after(0, [] {});
}

// Refuses the requests of a turn that cannot be kept. Its changes are thrown away with this
// process: the next broker reads what the journal has, and lists that until there is room again.
// Agents and children repeat their reports.
void Broker::refuse_turn(const Error& why) {
  for (const auto& request : std::exchange(of_this_turn_, {})) {
    if (request.done()) continue;
    const bool again = is_asked_again(request.topic());
    request.fail(
        {again ? Errc::disconnected : why.code, why.what + "; nothing was changed", why.where});
  }
  end_reason_ = why.what;
  read_only_ = why;
  finish(kTryAgain);
}

void Broker::only_list(const transport::Request& request) {
  // Not served once this broker is over: its memory may have more than was kept.
  const bool over = phase_ == Phase::over;
  if (!over && service_ && (is_look(request.topic()) || request.topic() == "shutdown"))
    return service_->handle(request);
  const bool again = is_asked_again(request.topic());
  request.fail({again ? Errc::disconnected : read_only_->code,
                read_only_->what + "; jobs run on, and this instance goes on by itself when it can",
                read_only_->where});
}

}  // namespace holon::instance
