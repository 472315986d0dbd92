#include "instance/basics/walltime.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <utility>

#include "instance/basics/clock.hpp"

namespace holon::instance {
namespace {

// Batch systems tell whole seconds, LSF whole minutes: the computed end moves by that much from one
// answer to the next, and means the same.
Duration grain_of(batch::System system) {
  return system == batch::System::lsf ? 61'000 : 2'000;
}

}  // namespace

Result<std::string> output_of(const Result<launch::msg::CaptureReply>& reply,
                              const std::string& program) {
  if (!reply) return tl::unexpected(reply.error());
  if (reply->status == 0) return reply->output;
  const auto line = reply->error.substr(0, reply->error.find('\n'));
  return fail(Errc::system, line.empty() ? "it failed" : line, program);
}

Walltime::Walltime(transport::Reactor& reactor, batch::Allocation allocation, Settings settings,
                   Ask ask, std::function<void(Time)> on_moved)
    : reactor_(reactor),
      allocation_(std::move(allocation)),
      settings_(settings),
      ask_(std::move(ask)),
      on_moved_(std::move(on_moved)) {}

std::string Walltime::name() const {
  return fmt::format("the walltime of {}{}{}", title_of(allocation_.system),
                     allocation_.job.empty() ? "" : " job ", allocation_.job);
}

void Walltime::begin(std::function<void()> known) {
  known_ = std::move(known);
  take(known_time_left(allocation_, wall_clock_ms() / 1000));
  patience_ = reactor_.after(settings_.patience, [this] {
    spdlog::warn(fmt::format("{} is not known yet: there was no answer within {} s", name(),
                             settings_.patience / 1000));
    be_known();
  });
  ask();
}

void Walltime::ask() {
  auto command = time_left_command(allocation_);
  if (command.empty()) return be_known();
  ask_(std::move(command), [this](const Result<std::string>& answer) { hear(answer); });
}

void Walltime::hear(const Result<std::string>& answer) {
  const auto left = answer ? read_time_left(allocation_, *answer, wall_clock_ms() / 1000)
                           : tl::unexpected(answer.error());
  if (left) take(*left);
  // The end that was known before still holds.
  if (!left && !std::exchange(is_deaf_, true))
    spdlog::warn(fmt::format("{} cannot be asked for: {}", name(), to_string(left.error())));
  if (left) is_deaf_ = false;
  be_known();
  next_ = reactor_.after(settings_.interval, [this] { ask(); });
}

void Walltime::take(const batch::TimeLeft& left) {
  if (left.kind == batch::TimeLeft::Kind::unknown) return;
  const bool limited = left.kind == batch::TimeLeft::Kind::limited;
  const Time end =
      limited ? saturating_add(reactor_.now(), left.left) - settings_.margin : kTimeMax;
  const bool is_same =
      end_ != 0 && (end == end_ || (limited && end_ != kTimeMax &&
                                    std::abs(end - end_) <= grain_of(allocation_.system)));
  if (is_same) return;
  end_ = end;
  on_moved_(end);
}

void Walltime::be_known() {
  patience_.cancel();
  if (auto known = std::exchange(known_, nullptr)) known();
}

}  // namespace holon::instance
