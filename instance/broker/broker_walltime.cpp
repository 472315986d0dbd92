// The end of a root: by its own time limit, and by the walltime of the batch job around it.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/broker/broker.hpp"

namespace holon::instance {
namespace {

// A batch system that does not answer must not keep the initial program from running.
constexpr Duration kFirstPatience = 10'000;

}  // namespace

// The end by `-t`, for a root; kTimeMax: none.
Time Broker::end_of_limit() const {
  const Duration limit = options_.start.limit_ms;
  return limit > 0 ? saturating_add(started_, limit) : kTimeMax;
}

void Broker::follow_walltime(batch::Allocation allocation) {
  const bool is_said = allocation.ends_at || !time_left_command(allocation).empty();
  if (options_.start.grant || !config_.follow_walltime || !is_said) return;
  walltime_ = std::make_unique<Walltime>(
      reactor_, std::move(allocation),
      Walltime::Settings{config_.walltime_interval, config_.walltime_margin, kFirstPatience},
      [this](std::vector<std::string> command, const Walltime::Answer& answer) {
        ask_beside(std::move(command), answer);
      },
      [this](Time end) { move_walltime(end); });
}

void Broker::agents_are_up() {
  if (!walltime_) return on_ready_();
  walltime_->begin([this] {
    if (phase_ == Phase::up) on_ready_();
  });
}

void Broker::ask_beside(std::vector<std::string> command, const Walltime::Answer& answer) {
  if (!instance_->agents.beside_broker().connected())
    return answer(fail(Errc::disconnected, "the agent is being started again"));
  const std::string program = command.front();
  instance_->agents.beside_broker().capture(
      std::move(command), [answer, program](const Result<launch::msg::CaptureReply>& reply) {
        answer(output_of(reply, program));
      });
}

void Broker::move_walltime(Time end) {
  if (phase_ != Phase::up) return;
  const Time sooner = std::min(end, end_of_limit());
  if (sooner <= reactor_.now()) {
    spdlog::warn(
        fmt::format("{} leaves less than batch.margin: the instance ends", walltime_->name()));
    return begin_end("timeout", "its time is over");
  }
  watch_lease(sooner);
  if (read_only_) return;  // nothing can be written, so nothing changes
  instance_->set_lease(sooner, reactor_.now());
}

}  // namespace holon::instance
