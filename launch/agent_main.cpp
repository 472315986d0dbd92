// `holon agent`: signals, the tie to the process that has started it, and the exit code.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "launch/agent.hpp"
#include "launch/lifeline.hpp"
#include "launch/tracking/process.hpp"
#include "transport/tcp_connection.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {
namespace {

constexpr Duration kHurry = 15'000;  // after the supervisor's end, for all work of an agent
constexpr Duration kLookForInstance = 2'000;
constexpr Duration kInstancePatience = 500;  // for its machine to say that nobody listens
constexpr int kRefusals = 3;                 // in a row: a firewall may refuse for a moment

int report_failure(const Error& error) {
  std::fprintf(stderr, "holon agent: %s\n", to_string(error).c_str());
  return kAgentCouldNotBegin;
}

// The socket of an instance on another node listens as long as the instance lives, even while its
// broker is restarted. An agent that did not hear of the end (it was on the way to its broker, or
// cut off from it) and runs nothing has nothing to wait for once that socket is gone.
transport::Subscription look_for_instance(transport::Reactor& reactor, Agent& agent,
                                          const AgentOptions& options) {
  if (options.security.secret_key.empty()) return {};
  return reactor.every(kLookForInstance, [&, refusals = 0]() mutable {
    const bool is_gone =
        agent.is_left_alone() && transport::is_nobody_there(options.broker_uri, kInstancePatience);
    refusals = is_gone ? refusals + 1 : 0;
    if (refusals != kRefusals) return;
    std::fprintf(stderr, "holon agent: nobody listens at %s any more: the instance has ended\n",
                 options.broker_uri.c_str());
    agent.shut_down(0);
  });
}

}  // namespace

int agent_main(const AgentOptions& options) {
  transport::take_standard_descriptors();  // they must be nobody's socket, nor a task's
  setpgid(0, 0);  // signals meant for the launching group, Ctrl-C or a time limit of the job
                  // around, are not for it
  for (const int ignored : {SIGPIPE, SIGHUP, SIGQUIT}) std::signal(ignored, SIG_IGN);
  if (!options.at_hand) std::signal(SIGINT, SIG_IGN);
  std::unique_ptr<Lifeline> lifeline;
  if (options.supervisor > 0) {
    auto tied = Lifeline::to_parent(options.supervisor, kHurry);
    if (!tied) return report_failure(tied.error());
    lifeline = std::move(*tied);
  }
  auto reactor = transport::Reactor::create();
  if (!reactor) return report_failure(reactor.error());
  auto agent = Agent::create(**reactor, options);
  if (!agent) return report_failure(agent.error());
  const auto term = (*reactor)->on_signal(SIGTERM, [&] { (*agent)->shut_down(2000); });
  if (!term) return report_failure(term.error());
  transport::Subscription interrupt;
  if (options.at_hand && !transport::is_ignored(SIGINT)) {
    auto watch = (*reactor)->on_signal(SIGINT, [&] { (*agent)->shut_down(2000); });
    if (!watch) return report_failure(watch.error());
    interrupt = std::move(*watch);
  }
  transport::Subscription alone;
  if (lifeline) {
    auto watch = (*reactor)->on_fd(lifeline->descriptor(), transport::kReadable, [&](unsigned) {
      alone.cancel();
      (*agent)->lose_supervisor();
    });
    if (!watch) return report_failure(watch.error());
    alone = std::move(*watch);
  }
  const auto look = look_for_instance(**reactor, **agent, options);
  while (!(*agent)->exit_code()) (*reactor)->run();
  end_own_children();
  return *(*agent)->exit_code();
}

}  // namespace holon::launch
