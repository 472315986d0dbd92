#include "launch/remote/refusal_notes.hpp"

#include <algorithm>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr Duration kToldAgain = 1'000;       // ms after an answer that was an error
constexpr std::size_t kLongestReason = 500;  // bytes of a topic or a reason

// A broker of another version may take no refusals, or fewer: then repeating is of no use.
bool may_be_told_later(Errc why) {
  return why != Errc::unsupported && why != Errc::out_of_range && why != Errc::invalid_argument &&
         why != Errc::denied;
}

}  // namespace

void RefusalNotes::add(const transport::Request& request, std::string why) {
  const auto& who = request.principal();
  const bool is_known = who.kind == transport::Principal::Kind::ipc;
  msg::Refusal note;
  if (is_known) note.uid = who.uid, note.pid = who.pid;
  if (untold_.size() >= msg::kMostRefusalsTold) return;
  std::string user = std::to_string(note.uid);
  if (!counts_.tell(user, reactor_.now())) return;
  note.topic = request.topic().substr(0, kLongestReason);
  note.why = std::move(why);
  note.why.resize(std::min(note.why.size(), kLongestReason));
  untold_.push_back(std::move(note));
  tell();
}

void RefusalNotes::resume() {
  is_open_ = true;
  tell();
}

void RefusalNotes::tell() {
  if (!is_open_ || is_told_ || untold_.empty()) return;
  is_told_ = true;
  const msg::RefusedRequest request{untold_};
  broker_.call({"agent.refused", transport::pack(request), "", 0},
               [this, is_here = std::weak_ptr<bool>(alive_),
                told = untold_.size()](const Result<std::string>& answer) {
                 if (is_here.expired()) return;
                 is_told_ = false;
                 if (!answer && may_be_told_later(answer.error().code)) {
                   again_ = reactor_.after(kToldAgain, [this] { tell(); });
                   return;
                 }
                 untold_.erase(untold_.begin(),
                               untold_.begin() + static_cast<std::ptrdiff_t>(told));
                 tell();
               });
}

}  // namespace holon::launch
