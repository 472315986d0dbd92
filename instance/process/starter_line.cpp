#include "instance/process/starter_line.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include "launch/tasks/ask_starter.hpp"
#include "starter/wire.hpp"

namespace holon::instance {
namespace {

constexpr int kAnswerPatience = 10'000;  // ms; the starter waits for nobody
constexpr Duration kLookForIdle = 10;
constexpr Duration kSweepAgain = 20;
constexpr int kTellOfSweepAfter = 500;  // looks for what is left

}  // namespace

std::vector<int> StarterLine::hand_over(std::vector<std::string>& command,
                                        std::vector<int> others) const {
  if (!of_agent_) return others;
  command.insert(command.end(), {"--starter", std::to_string(of_agent_.get())});
  others.push_back(of_agent_.get());
  return others;
}

Status StarterLine::watch(std::function<void()> ended) {
  if (!is_there()) return {};
  auto watch =
      reactor_.on_fd(fd_.get(), transport::kReadable, [this, ended = std::move(ended)](unsigned) {
        char byte = 0;
        if (recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return;
        closed_.cancel();
        ended();
      });
  if (!watch) return tl::unexpected<Error>(watch.error());
  closed_ = std::move(*watch);
  return {};
}

void StarterLine::when_idle(std::function<void()> then) {
  if (!is_there() || count().value_or(0) == 0) return then();
  look_ = reactor_.after(kLookForIdle, [this, then = std::move(then)] { when_idle(then); });
}

void StarterLine::when_none_left(Left left, std::function<void(const std::string&)> tell,
                                 std::function<void()> then) {
  if (!is_there()) return then();
  sweep_ = std::make_unique<Sweep>(Sweep{std::move(left), std::move(tell), std::move(then)});
  sweep();
}

// If the starter cannot be asked it has ended, and so will the owner of this line.
void StarterLine::sweep() {
  starter::Request request;
  request.lineage = sweep_->left.prefix;
  request.path = sweep_->left.state_dir;
  request.flags = sweep_->left.spares ? starter::kSpareStarted : 0;
  auto line = launch::ask_starter(fd_.get(), starter::Kind::sweep, request);
  if (!line) return sweep_again();
  sweep_->line = std::move(*line);
  auto next =
      reactor_.on_fd(sweep_->line.get(), transport::kReadable, [this](unsigned) { swept(); });
  if (!next) return sweep_again();
  sweep_->next = std::move(*next);
}

void StarterLine::swept() {
  starter::Told told;
  const ssize_t n = recv(sweep_->line.get(), &told, sizeof told, MSG_DONTWAIT);
  if (n != static_cast<ssize_t>(sizeof told) || told.what != starter::What::ended)
    return sweep_again();
  sweep_->clear = told.status == 0 ? sweep_->clear + 1 : 0;
  told.text[sizeof told.text - 1] = '\0';
  if (told.text[0] != '\0' && sweep_->clear == 1)
    sweep_->tell("cannot look at all processes of " + std::string(told.text) +
                 ": what an earlier run has left of theirs may run on");
  if (sweep_->clear < 2) return sweep_again();
  const auto then = std::move(sweep_->then);
  sweep_.reset();
  then();
}

void StarterLine::sweep_again() {
  if (++sweep_->looks % kTellOfSweepAfter == 0)
    sweep_->tell("waits for processes of users to end, which an earlier run left behind");
  sweep_->next = reactor_.after(sweep_->clear > 0 ? 0 : kSweepAgain, [this] { sweep(); });
}

// The starter's end of the connection closes with its process. An answer that nobody waited for may
// come before that.
bool StarterLine::end(int patience) {
  if (!is_there()) return true;
  closed_.cancel();
  of_agent_ = {};
  shutdown(fd_.get(), SHUT_WR);
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(patience);
  pollfd look{fd_.get(), POLLIN, 0};
  char byte = 0;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int found = poll(&look, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (found == 1 && recv(fd_.get(), &byte, 1, MSG_DONTWAIT) <= 0) return true;
    if (found == 0 || (found < 0 && errno != EINTR)) return false;
  }
}

// Counts requests being served and tasks kept. nullopt: the starter does not answer.
std::optional<std::uint32_t> StarterLine::count() const {
  starter::Ask ask;
  ask.kind = starter::Kind::count;
  if (send(fd_.get(), &ask, sizeof ask, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof ask))
    return std::nullopt;
  pollfd look{fd_.get(), POLLIN, 0};
  starter::Count count;
  if (poll(&look, 1, kAnswerPatience) != 1 ||
      recv(fd_.get(), &count, sizeof count, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof count))
    return std::nullopt;
  return count.processes;
}

}  // namespace holon::instance
