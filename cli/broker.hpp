// broker.hpp - an instance as a verb sees it: connect, then one method per request
// (docs/protocol.md).
//
// Thread rule: one thread; calls block until the answer is there or the connection is lost.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/verb.hpp"
#include "msg/input.hpp"
#include "msg/instance.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "msg/schedule.hpp"
#include "transport/reactor.hpp"

namespace holon::cli {

class Broker {
 public:
  // The instance that -i, HOLON_URI or, without both, the user's only running root instance says.
  // Errors: disconnected (none, several, or no answer: the message says what to do),
  // invalid_argument (a path that is not one).
  static Result<Broker> connect(const Invocation& call);
  // A known address and the path to ask for there; "" is the instance at the address itself.
  static Result<Broker> connect(const std::string& uri, const std::string& path);
  // The same. With `notices` it waits for a broker that is being started again, and says so there.
  static Result<Broker> connect(const std::string& uri, const std::string& path,
                                std::ostream* notices);
  Broker(Broker&&) noexcept;
  Broker& operator=(Broker&&) noexcept;
  ~Broker();

  // Where the requests go: an absolute path, or "" for the instance connected to.
  const std::string& path() const;
  void set_path(std::string path);

  Result<msg::SubmitReply> submit(const msg::SubmitRequest& request);
  // Page by page as they come: in the order of their ids (with a limit: reversed), or in none if
  // `recursive`; then a path may come twice. `take(page, more)` returns false to leave early.
  Status each_page(msg::JobsRequest request,
                   const std::function<bool(std::vector<msg::JobRecord>, bool)>& take);
  // All of them, ordered by path; of a limit the newest.
  Result<msg::JobsReply> jobs(const msg::JobsRequest& request);
  Result<msg::JobInfoReply> info(std::uint64_t id);
  // The record of a job of this path's instance, also where that instance is gone: its ancestors
  // keep its records. Errors: not_found.
  Result<msg::JobRecord> record(std::uint64_t id);
  // Waits for as long as it takes, also while a broker that crashed is started again.
  Result<msg::WaitReply> wait(const msg::WaitRequest& request);
  // The same for every job that is active now.
  Result<msg::WaitReply> wait_for_all();
  Result<msg::CancelReply> cancel(const msg::CancelRequest& request);
  Result<msg::ResourceReply> resources();
  Status drain(const msg::DrainRequest& request);
  Result<msg::TreeNode> tree();
  Result<msg::TreeNode> status();
  Result<msg::PriorityReply> priority(const msg::PriorityRequest& request);
  Result<msg::ExplainReply> explain(const msg::ExplainRequest& request);
  Result<msg::WindowsReply> windows();
  Status plan(const msg::PlanRequest& request, const std::function<void(msg::PlanPart)>& on_part);
  Status set_urgency(const msg::UrgencyRequest& request);
  Status set_gate(const msg::GateRequest& request);
  Result<msg::StatsReply> stats();
  Result<msg::ReserveReply> reserve(const msg::ReserveRequest& request);
  Result<msg::ReservationsReply> reservations();
  Status unreserve(const msg::UnreserveRequest& request);
  Status shutdown(const msg::ShutdownRequest& request);

  // Streams: `on_item` returns false to leave early. Both go on where they were after a restart of
  // the broker. REQUIRES: watch() is of named jobs.
  Status watch(const msg::WatchRequest& request,
               const std::function<bool(const msg::JobEvent&)>& on_item);
  Status attach(std::uint64_t id, const std::function<bool(const msg::OutputChunk&)>& on_item);

  // While it lives, SIGINT, SIGTERM and SIGHUP call `on_signal(signal)` instead of ending the
  // process, during any call above. (shared_ptr only to hide what it holds: there is one owner.)
  using SignalGuard = std::shared_ptr<void>;
  [[nodiscard]] SignalGuard catch_signals(std::function<void(int signal)> on_signal);
  // What turns during any call above, for what is to go on meanwhile.
  transport::Reactor& reactor();
  // Requests beside the call that is under way; the callback is not called any more when what is
  // returned has gone. cancel_later()'s is called once it has been answered, or was not within two
  // seconds; input_later() waits for as long as it takes.
  [[nodiscard]] transport::Subscription cancel_later(const msg::CancelRequest& request,
                                                     std::function<void()> on_answer);
  [[nodiscard]] transport::Subscription record_later(
      std::uint64_t id, std::function<void(const msg::JobRecord&)> on_answer);
  [[nodiscard]] transport::Subscription input_later(
      const msg::InputRequest& request,
      std::function<void(const Result<msg::InputReply>&)> on_answer);

  // Calls `on_over` once during later calls: when the job is over, or about to be, with its record;
  // or with an error when its instance has gone for good. Nothing any more when what is returned
  // has gone.
  [[nodiscard]] transport::Subscription over_later(
      std::uint64_t id, std::function<void(const Result<msg::JobRecord>&)> on_over);

  // Returns once the broker connected to has gone, or after `timeout` ms (false).
  bool wait_until_gone(std::int64_t timeout);

 private:
  struct Parts;
  explicit Broker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The jobs that a command line names, and the instance they are in.
struct SelectedJobs {
  Broker broker;
  std::vector<std::uint64_t> ids;
};
// Reads `words` (cli/paths.hpp) and connects. Errors: those of select_jobs() and Broker::connect().
Result<SelectedJobs> connect_to_jobs(Invocation& call, const std::vector<std::string>& words);

struct SelectedJob {
  Broker broker;
  std::uint64_t id = 0;
};
// The same for a verb that is about one job. Errors: also invalid_argument where `word` names
// several.
Result<SelectedJob> connect_to_job(Invocation& call, const std::string& word);

}  // namespace holon::cli
