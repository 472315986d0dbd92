#include "cli/show/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace holon::cli {

Result<std::unique_ptr<Terminal>> Terminal::create() {
  launch::TerminalLook look;
  if (tcgetattr(STDIN_FILENO, &look.modes) != 0)
    return fail(Errc::invalid_argument, "standard input is no terminal", "--pty");
  ioctl(STDIN_FILENO, TIOCGWINSZ, &look.window);
  auto name = launch::new_socket_name();
  if (!name) return tl::unexpected(name.error());
  auto listener = launch::listen_at(*name);
  if (!listener) return tl::unexpected(listener.error());
  return std::unique_ptr<Terminal>(new Terminal(std::move(*name), std::move(*listener), look));
}

Terminal::Terminal(std::string name, launch::UniqueFd listener, const launch::TerminalLook& look)
    : name_(std::move(name)), listener_(std::move(listener)), look_(look) {}

Terminal::~Terminal() {
  take_back();
}

Status Terminal::begin(transport::Reactor& reactor) {
  reactor_ = &reactor;
  auto watch =
      reactor.on_fd(listener_.get(), transport::kReadable, [this](unsigned) { on_connection(); });
  if (!watch) return tl::unexpected(watch.error());
  connection_ = std::move(*watch);
  // Any end of this program ends the loan first: a second Ctrl-C must be one again.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (transport::is_ignored(signal)) continue;
    auto end = reactor.on_signal(signal, [this] {
      stop_listening();
      take_back();
    });
    if (!end) return tl::unexpected(end.error());
    signals_.push_back(std::move(*end));
  }
  return {};
}

void Terminal::end() {
  if (relay_) relay_->show_the_rest();
  take_back();
}

// A connection that does not come from the task's side is closed again.
void Terminal::on_connection() {
  auto socket = launch::accept_from(listener_.get());
  if (!socket) return;
  stop_listening();
  if (!lend(std::move(*socket))) {
    relay_.reset();  // the task's side sees that, and the job ends
    take_back();
  }
}

Status Terminal::lend(launch::UniqueFd socket) {
  ioctl(STDIN_FILENO, TIOCGWINSZ, &look_.window);
  if (auto sent = launch::send_value(socket.get(), launch::PacketKind::begin, look_); !sent)
    return sent;
  auto resized = reactor_->on_signal(SIGWINCH, [this] {
    winsize window{};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &window) == 0)
      (void)launch::send_value(relay_->socket(), launch::PacketKind::window, window);
  });
  if (resized) signals_.push_back(std::move(*resized));
  relay_ = std::make_unique<launch::TerminalRelay>(*reactor_, std::move(socket), STDIN_FILENO,
                                                   STDOUT_FILENO, [](const launch::Packet&) {});
  termios raw = look_.modes;
  cfmakeraw(&raw);
  is_lent_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  if (!is_lent_) return fail(Errc::system, std::strerror(errno), "--pty");
  return relay_->begin([this] { take_back(); });
}

void Terminal::stop_listening() {
  connection_.cancel();
  listener_ = launch::UniqueFd();
}

void Terminal::take_back() {
  signals_.clear();
  if (std::exchange(is_lent_, false)) tcsetattr(STDIN_FILENO, TCSADRAIN, &look_.modes);
}

}  // namespace holon::cli
