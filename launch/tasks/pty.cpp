// pty.cpp - the program leads a session, and so a process group, of its own: the agent's signals to
// the task's group reach only this process, and are passed on.
#include "launch/tasks/pty.hpp"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "launch/exit_code.hpp"
#include "launch/tasks/terminal_relay.hpp"

namespace holon::launch {
namespace {

constexpr int kNoTerminal = 125;
constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};

int report_pty_failure(const Error& error) {
  std::fprintf(stderr, "holon pty: %s\n", to_string(error).c_str());
  return kNoTerminal;
}

Result<TerminalLook> receive_look(int socket) {
  const auto packet = receive_packet(socket);
  if (!packet) return tl::unexpected<Error>(packet.error());
  TerminalLook look;
  if (packet->kind != PacketKind::begin || packet->bytes.size() != sizeof look)
    return fail(Errc::protocol, "it does not say what it looks like", "terminal");
  std::memcpy(&look, packet->bytes.data(), sizeof look);
  return look;
}

// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& words) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGHUP, SIGINT, SIGQUIT}) std::signal(ignored, SIG_DFL);
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  std::fprintf(stderr, "holon run: %s: %s\n", argv[0], std::strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

class Pty {
 public:
  Pty(transport::Reactor& reactor, pid_t program, UniqueFd master, UniqueFd socket)
      : reactor_(reactor),
        program_(program),
        master_(std::move(master)),
        master_out_(fcntl(master_.get(), F_DUPFD_CLOEXEC, 3)),
        relay_(reactor, std::move(socket), master_.get(), master_out_.get(),
               [this](const Packet& packet) { resize(packet); }) {
    fcntl(master_.get(), F_SETFL, O_NONBLOCK);  // and of master_out_
  }

  Result<int> run() {
    if (auto begun = begin(); !begun) {
      kill(-program_, SIGKILL);
      return tl::unexpected<Error>(begun.error());
    }
    reactor_.run();
    if (master_.get() >= 0) relay_.send_the_rest();
    return exit_code_of(status_);
  }

 private:
  Status begin() {
    auto exit = reactor_.on_child(program_, [this](const transport::ChildExit& how) {
      status_ = how.status;
      reactor_.stop();
    });
    if (!exit) return tl::unexpected<Error>(exit.error());
    watches_.push_back(std::move(*exit));
    for (const int signal : kPassedOn) {
      auto watch = reactor_.on_signal(signal, [this, signal] { pass_on(signal); });
      if (!watch) return tl::unexpected<Error>(watch.error());
      watches_.push_back(std::move(*watch));
    }
    return relay_.begin([this] { hang_up(); });
  }

  void hang_up() {
    relay_.stop();
    pass_on(SIGHUP);
    master_ = UniqueFd();
    master_out_ = UniqueFd();
  }

  // Signals the foreground group of the terminal, and the program that was started in it.
  void pass_on(int signal) const {
    const pid_t foreground = tcgetpgrp(master_.get());
    if (foreground > 0 && foreground != program_) kill(-foreground, signal);
    kill(-program_, signal);
  }

  void resize(const Packet& packet) const {
    winsize window{};
    if (packet.kind != PacketKind::window || packet.bytes.size() != sizeof window) return;
    std::memcpy(&window, packet.bytes.data(), sizeof window);
    ioctl(master_.get(), TIOCSWINSZ, &window);  // the kernel tells the program
  }

  transport::Reactor& reactor_;
  pid_t program_;
  UniqueFd master_, master_out_;
  TerminalRelay relay_;
  int status_ = 0;
  std::vector<transport::Subscription> watches_;
};

Result<int> run(const PtyOptions& options) {
  auto socket = connect_to(options.socket);
  if (!socket) return tl::unexpected<Error>(socket.error());
  const auto look = receive_look(socket->get());
  if (!look) return tl::unexpected<Error>(look.error());
  auto reactor = transport::Reactor::create();
  if (!reactor) return tl::unexpected<Error>(reactor.error());
  int master = -1;
  const pid_t program = forkpty(&master, nullptr, &look->modes, &look->window);
  if (program < 0) return fail(Errc::system, std::strerror(errno), "pseudo terminal");
  if (program == 0) become(options.argv);
  fcntl(master, F_SETFD, FD_CLOEXEC);
  Pty pty(**reactor, program, UniqueFd(master), std::move(*socket));
  return pty.run();
}

}  // namespace

int pty_main(const PtyOptions& options) {
  const auto code = run(options);
  return code ? *code : report_pty_failure(code.error());
}

}  // namespace holon::launch
