#include "instance/tree/parent_link.hpp"

#include <unistd.h>

#include <algorithm>

#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kRecordsAtOnce = 1000;
constexpr std::size_t kRecordBytesAtOnce = 8 << 20;  // a message may have 64 MiB
constexpr Duration kHelloTimeout = 60'000;
constexpr Duration kHelloAgain = 1'000;  // after a refusal

// Bytes of a record on the wire, roughly; only members without a bound of their own are counted.
std::size_t size_of(const msg::JobRecord& r) {
  return 1000 + r.name.size() + r.user.size() + r.queue.size() + r.reason.size() +
         r.nodelist.size() + r.output.size() + r.error.size() + 9 * r.pids.size();
}

}  // namespace

ParentLink::ParentLink(transport::Reactor& reactor, Identity identity, Journal& journal,
                       Callbacks callbacks, Duration record_interval)
    : reactor_(reactor),
      identity_(std::move(identity)),
      journal_(journal),
      callbacks_(std::move(callbacks)),
      record_interval_(record_interval) {}

Result<std::unique_ptr<ParentLink>> ParentLink::connect(
    transport::Reactor& reactor, const std::string& uri, transport::Options options,
    Identity identity, Journal& journal, Callbacks callbacks, Duration record_interval) {
  auto client = transport::Client::connect(reactor, uri, std::move(options));
  if (!client) return tl::unexpected(client.error());
  std::unique_ptr<ParentLink> link(
      new ParentLink(reactor, std::move(identity), journal, std::move(callbacks), record_interval));
  link->client_ = std::move(*client);
  auto* self = link.get();
  link->client_->on_connected([self](const transport::PeerInfo&) { self->say_hello(); });
  link->client_->on_lost([self] {
    self->welcome_ = false;
    self->hello_again_.cancel();  // the next connection says hello
    self->callbacks_.lost();
  });
  link->client_->on_request(
      [self](transport::Request request) { self->callbacks_.request(std::move(request)); });
  return link;
}

void ParentLink::close() {
  welcome_ = false;
  timer_.cancel();
  hello_again_.cancel();
  client_.reset();
}

void ParentLink::say_hello() {
  const msg::Hello hello{identity_.token, identity_.job.value(), identity_.uri, identity_.epoch,
                         getpid(),        identity_.invitation};
  client_->call({"hello", transport::pack(hello), "", kHelloTimeout},
                [this](const Result<std::string>& answer) {
                  if (!answer) {
                    // A lost connection says hello again by itself, a busy parent is asked again;
                    // other errors mean no.
                    if (answer.error().code == Errc::disconnected) return;
                    if (answer.error().code == Errc::timed_out) return say_hello();
                    if (answer.error().code == Errc::busy) return say_hello_later();
                    return callbacks_.denied(answer.error());
                  }
                  const auto grant = transport::unpack<msg::Grant>(*answer);
                  if (!grant) return callbacks_.denied(grant.error());
                  welcome_ = true;
                  identity_.epoch = grant->epoch;
                  callbacks_.granted(*grant);
                  schedule();
                });
}

void ParentLink::say_hello_later() {
  hello_again_ = reactor_.after(kHelloAgain, [this] { say_hello(); });
}

void ParentLink::load_outbox() {
  if (const auto paths = journal_.outbox()) dirty_.insert(paths->begin(), paths->end());
}

void ParentLink::changed(const std::string& path) {
  if (!dirty_.insert(path).second) return;
  journal_.add_outbox(path);
  schedule();
}

void ParentLink::say_ending(const msg::Ending& word) {
  if (!welcome_) return;
  client_->call({"ending", transport::pack(word), "", 0}, [](const Result<std::string>&) {});
}

void ParentLink::tell(const char* topic, std::string payload) {
  if (welcome_)
    client_->call({topic, std::move(payload), "", 0}, [](const Result<std::string>&) {});
}

void ParentLink::ask(const char* topic, std::string payload, transport::ReplyHandler on_answer) {
  constexpr Duration kAnswerPatience = 10'000;
  client_->call({topic, std::move(payload), "", kAnswerPatience}, std::move(on_answer));
}

void ParentLink::schedule() {
  if (timer_ || dirty_.empty() || !in_flight_.empty() || !welcome_) return;
  // After a quiet time records go at once: those that the parent does not have are lost when all of
  // this instance is killed.
  const Duration since = reactor_.now() - sent_;
  timer_ =
      reactor_.after(std::clamp<Duration>(record_interval_ - since, 0, record_interval_), [this] {
        timer_.cancel();
        due_ = true;
      });
}

void ParentLink::flush() {
  if (std::exchange(due_, false)) send_now();
}

void ParentLink::send_now() {
  if (!welcome_ || !in_flight_.empty() || dirty_.empty()) return;
  sent_ = reactor_.now();
  msg::Records records;
  std::size_t bytes = 0;
  while (!dirty_.empty() && records.jobs.size() < kRecordsAtOnce && bytes < kRecordBytesAtOnce) {
    auto path = dirty_.extract(dirty_.begin());
    if (auto record = callbacks_.record(path.value())) {
      bytes += size_of(*record);
      records.jobs.push_back(std::move(*record));
    }
    in_flight_.insert(std::move(path.value()));
  }
  client_->call({"record", transport::pack(records), "", 0},
                [this](const Result<std::string>& answer) { acknowledged(answer); });
}

void ParentLink::acknowledged(const Result<std::string>& answer) {
  if (answer) {
    // A path that changed again meanwhile is in `dirty_` and keeps its row.
    for (const auto& path : in_flight_)
      if (dirty_.count(path) == 0) journal_.remove_outbox(path);
  } else {
    dirty_.merge(in_flight_);
  }
  in_flight_.clear();
  if (!answer && answer.error().code == Errc::denied) {
    // Not taken for the child: the answer to a hello tells whether this instance still is.
    welcome_ = false;
    say_hello_later();
  }
  schedule();
}

}  // namespace holon::instance
