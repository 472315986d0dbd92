#include "instance/users/starter_line.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "starter/wire.hpp"

namespace holon::instance {
namespace {

constexpr int kAnswerPatience = 10'000;  // ms; the starter waits for nobody
constexpr Duration kLookForIdle = 10;

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

// Its end of the connection closes with its process. An answer that nobody waited for may lie in
// front of that.
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

// Requests that are being served and tasks that are kept. nullopt: the starter does not answer.
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
