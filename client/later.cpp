// Requests beside the call that is under way.
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {
namespace {

constexpr Duration kCancelPatience = 2'000;

}  // namespace

Client::SignalGuard Client::catch_signals(std::function<void(int)> on_signal) {
  auto watches = std::make_shared<std::vector<transport::Subscription>>();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (transport::is_ignored(signal)) continue;
    auto watch =
        parts_->client.reactor().on_signal(signal, [signal, on_signal] { on_signal(signal); });
    if (watch) watches->push_back(std::move(*watch));
  }
  return watches;
}

transport::Reactor& Client::reactor() {
  return parts_->client.reactor();
}

namespace {

transport::Subscription ask_later(transport::BlockingClient& client, transport::Call call,
                                  std::function<void(const Result<std::string>&)> on_answer) {
  const auto wanted = std::make_shared<bool>(true);
  client.client().call(std::move(call), [wanted, on_answer = std::move(on_answer)](
                                            const Result<std::string>& answer) {
    if (*wanted) on_answer(answer);
  });
  return transport::Subscription([wanted] { *wanted = false; });
}

}  // namespace

transport::Subscription Client::cancel_later(const msg::CancelRequest& request,
                                             std::function<void()> on_answer) {
  return ask_later(parts_->client,
                   {"cancel", transport::pack(request), parts_->path, kCancelPatience},
                   [on_answer = std::move(on_answer)](const Result<std::string>&) { on_answer(); });
}

transport::Subscription Client::signal_later(const msg::SignalRequest& request,
                                             std::function<void(const Status&)> on_answer) {
  return ask_later(parts_->client,
                   {"job.signal", transport::pack(request), parts_->path, kCancelPatience},
                   [on_answer = std::move(on_answer)](const Result<std::string>& answer) {
                     on_answer(answer ? Status() : tl::unexpected(answer.error()));
                   });
}

transport::Subscription Client::record_later(std::uint64_t id,
                                             std::function<void(const msg::JobRecord&)> on_answer) {
  msg::JobsRequest request;
  request.all = true;
  request.ids = {id};
  return ask_later(parts_->client, {"jobs", transport::pack(request), parts_->path, kBulkTimeout},
                   [on_answer = std::move(on_answer)](const Result<std::string>& answer) {
                     if (!answer) return;
                     const auto reply = transport::unpack<msg::JobsReply>(*answer);
                     if (reply && !reply->jobs.empty()) on_answer(reply->jobs.front());
                   });
}

transport::Subscription Client::ended_later(std::uint64_t id,
                                            std::function<void(const msg::JobRecord&)> on_end) {
  msg::WaitRequest request;
  request.ids = {id};
  return ask_later(parts_->client, {"job.wait", transport::pack(request), parts_->path, kForEver},
                   [on_end = std::move(on_end)](const Result<std::string>& answer) {
                     const auto reply = answer ? transport::unpack<msg::WaitReply>(*answer)
                                               : tl::unexpected<Error>(answer.error());
                     if (reply && !reply->jobs.empty()) on_end(reply->jobs.front());
                   });
}

transport::Subscription Client::input_later(
    const msg::InputRequest& request,
    std::function<void(const Result<msg::InputReply>&)> on_answer) {
  return ask_later(parts_->client, {"job.input", transport::pack(request), parts_->path, kForEver},
                   [on_answer = std::move(on_answer)](const Result<std::string>& answer) {
                     on_answer(answer ? transport::unpack<msg::InputReply>(*answer)
                                      : tl::unexpected<Error>(answer.error()));
                   });
}

namespace {

// Follows the events of one job until it is over; begins anew with each broker.
class Vigil : public std::enable_shared_from_this<Vigil> {
 public:
  using OnOver = std::function<void(const Result<msg::JobRecord>&)>;
  Vigil(transport::BlockingClient& client, std::string path, Duration patience, std::uint64_t id,
        OnOver on_over)
      : client_(client),
        path_(std::move(path)),
        patience_(patience),
        id_(id),
        on_over_(std::move(on_over)) {}

  void begin() {
    // A question without a connection would wait for ever if the instance has ended.
    if (!client_.client().connected())
      return lost({Errc::disconnected, "the connection was lost", client_.client().uri()});
    streams_ = true;
    lost_at_.reset();
    msg::WatchRequest request;
    request.ids = {id_};
    transport::StreamHandlers handlers;
    handlers.on_chunk = [weak = weak_from_this()](const std::string& bytes) {
      const auto event = transport::unpack<msg::JobEvent>(bytes);
      const auto self = weak.lock();
      if (self && event && (event->name == "exception" || event->name == "finish")) self->look();
    };
    handlers.on_end = [weak = weak_from_this()](const Status& ended) {
      if (const auto self = weak.lock()) self->on_end(ended);
    };
    client_.client().open({"job.watch", transport::pack(request), path_, kForEver},
                          std::move(handlers));
  }

 private:
  void on_end(const Status& ended) {
    streams_ = false;
    ended ? look() : lost(ended.error());
  }

  void look() {
    msg::JobsRequest request;
    request.ids = {id_};
    record_ = ask_later(client_, {"jobs", transport::pack(request), path_, kBulkTimeout},
                        [this](const Result<std::string>& answer) { looked(answer); });
  }

  void looked(const Result<std::string>& answer) {
    const auto reply =
        answer ? transport::unpack<msg::JobsReply>(*answer) : tl::unexpected<Error>(answer.error());
    if (!reply) {
      if (!streams_) lost(reply.error());  // else the stream goes on, or ends as well
      return;
    }
    if (reply->jobs.empty()) return;
    const auto& job = reply->jobs.front();
    if (job.state == "CLEANUP" || job.state == "INACTIVE") over(job);
  }

  void lost(const Error& why) {
    if (why.code != Errc::disconnected) return over(tl::unexpected<Error>(why));
    const Time now = client_.reactor().now();
    if (!lost_at_) lost_at_ = now;
    if (distance(*lost_at_, now) > patience_) return over(tl::unexpected<Error>(why));
    again_ = client_.reactor().after(kLookAgain, [this, why] {
      if (client_.client().connected()) return begin();
      has_ended(client_.client().uri()) ? over(tl::unexpected<Error>(why)) : lost(why);
    });
  }

  void over(const Result<msg::JobRecord>& job) {
    if (auto on_over = std::exchange(on_over_, nullptr)) on_over(job);
  }

  transport::BlockingClient& client_;
  std::string path_;
  Duration patience_;  // without a connection
  std::uint64_t id_;
  OnOver on_over_;
  bool streams_ = false;         // the stream of events goes on
  std::optional<Time> lost_at_;  // there is no connection since
  transport::Subscription record_, again_;
};

}  // namespace

transport::Subscription Client::over_later(
    std::uint64_t id, std::function<void(const Result<msg::JobRecord>&)> on_over) {
  auto vigil = std::make_shared<Vigil>(parts_->client, parts_->path, parts_->patience.restart, id,
                                       std::move(on_over));
  vigil->begin();
  return transport::Subscription([vigil]() mutable { vigil.reset(); });
}

}  // namespace holon::client
