#include "launch/remote/refusal_notes.hpp"

#include <algorithm>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr Duration kQuiet = 60'000;       // between two notes of one user
constexpr std::size_t kMostUntold = 100;  // while there is no broker
constexpr std::size_t kMostUsers = 1'000;
constexpr std::size_t kLongestReason = 500;  // bytes of a topic or a reason

}  // namespace

void RefusalNotes::add(const transport::Request& request, std::string why) {
  const auto& who = request.principal();
  const bool is_known = who.kind == transport::Principal::Kind::ipc;
  msg::Refusal note;
  if (is_known) note.uid = who.uid, note.pid = who.pid;
  const Time now = reactor_.now();
  std::erase_if(noted_at_,
                [now](const auto& known) { return distance(known.second, now) >= kQuiet; });
  if (untold_.size() >= kMostUntold || noted_at_.size() >= kMostUsers) return;
  if (!noted_at_.emplace(note.uid, now).second) return;
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
                 if (!answer) return;  // with the next one, or when the broker is back
                 untold_.erase(untold_.begin(),
                               untold_.begin() + static_cast<std::ptrdiff_t>(told));
                 tell();
               });
}

}  // namespace holon::launch
