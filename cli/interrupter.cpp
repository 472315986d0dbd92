#include "cli/interrupter.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <ostream>
#include <utility>

namespace holon::cli {
namespace {

// Time for a job to end after this process, asked to end, has cancelled it.
constexpr Duration kCancelPatience = 30'000;

}  // namespace

Interrupter::Interrupter(Invocation& call, Client& client, std::uint64_t job, std::string verb)
    : call_(call), client_(client), job_(job), verb_(std::move(verb)) {
  guard_ = client.catch_signals([this](int signal) { on_signal(signal); });
  before_pipe_ = std::signal(SIGPIPE, SIG_IGN);  // a failed write says the same
}

Interrupter::~Interrupter() {
  std::signal(SIGPIPE, before_pipe_);
}

void Interrupter::pass_on_other_signals() {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGQUIT}) {
    if (transport::is_ignored(signal)) continue;
    auto watch = client_.reactor().on_signal(signal, [this, signal] { pass_on(signal); });
    if (watch) passed_on_.push_back(std::move(*watch));
  }
}

void Interrupter::pass_on(int signal) {
  msg::SignalRequest request;
  request.ids = {job_};
  request.signal = signal;
  told_.push_back(client_.signal_later(request, [this, signal](const Status& told) {
    if (!told) on_signal(signal);
  }));
}

void Interrupter::output_is_gone(const std::string& why) {
  if (signal_ != 0) return;
  signal_ = SIGPIPE;
  call_.io.err << fmt::format("{}: {}; cancelling job {}\n", verb_, why, job_) << std::flush;
  cancel_job(why);
}

void Interrupter::on_signal(int signal) {
  const bool first = std::exchange(signal_, signal) == 0;
  if (first) {
    // After SIGTERM or SIGHUP there may be no person left to press Ctrl-C again.
    if (signal != SIGINT)
      again_ = client_.reactor().after(kCancelPatience, [this] { on_signal(signal_); });
    call_.io.err << fmt::format("{}: cancelling job {}\n", verb_, job_) << std::flush;
    return cancel_job(signal == SIGINT
                          ? "Ctrl-C in " + verb_
                          : fmt::format("{} was ended by SIG{}", verb_, sigabbrev_np(signal)));
  }
  // A second signal: the person does not want to wait for the job's end.
  if (!std::exchange(leaving_, true))
    call_.io.err << fmt::format("{}: job {} is being ended; not waiting for it\n", verb_, job_)
                 << std::flush;
  else
    answered_ = true;  // a third time: nor for the broker
  if (answered_) leave();
}

void Interrupter::cancel_job(const std::string& reason) {
  msg::CancelRequest request;
  request.ids = {job_};
  request.reason = reason;
  // Two signals may come in one turn, before anything was sent: a process that ended then would
  // leave its job behind.
  answer_ = client_.cancel_later(request, [this] {
    answered_ = true;
    if (leaving_) leave();
  });
}

void Interrupter::leave() {
  call_.io.out << std::flush;
  guard_.reset();
  raise(signal_);
}

}  // namespace holon::cli
