#include "cli/broker.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

#include "cli/find_instance.hpp"
#include "cli/paths.hpp"
#include "instance/clock.hpp"
#include "instance/text.hpp"
#include "transport/blocking_client.hpp"
#include "transport/endpoint.hpp"

namespace holon::cli {

struct Broker::Parts {
  transport::BlockingClient client;
  std::string path;
};

namespace {

// Submitting a million jobs or listing them takes longer than a look at the state does.
constexpr Duration kBulkTimeout = 600'000;
constexpr Duration kForEver = 0;
constexpr std::size_t kIdsAtOnce =
    5'000;  // of one request; more are asked about one after the other
constexpr Duration kCancelPatience = 2'000;

// A path that does not begin with "/" starts at the instance that was connected to.
Result<std::string> absolute_path(transport::BlockingClient& client, const std::string& path) {
  if (path.empty() || path[0] == '/') return join_path("/", path.empty() ? "/" : path);
  auto here = client.call<msg::TreeNode>("status", msg::StatusRequest{});
  if (!here) return tl::unexpected(here.error());
  return join_path(here->path, path);
}

// A broker that crashed is back within a second; one that keeps crashing is given up by its
// supervisor after some more.
constexpr Duration kRestartPatience = 30'000;
constexpr Duration kLookAgain = 50;

// Asks again whoever can be asked again, when the connection was lost: `ask` returns a Result.
template <class Ask>
auto across_restarts(transport::BlockingClient& client, const Ask& ask) {
  auto& reactor = client.reactor();
  auto answer = ask();
  while (!answer && answer.error().code == Errc::disconnected) {
    reactor.turn(kLookAgain);
    const Time give_up = saturating_add(reactor.now(), kRestartPatience);
    while (!client.client().connected()) {
      // A broker that ended in order, as on a full disk, has taken its socket away.
      const auto socket = transport::probe_ipc(client.client().uri());
      const bool gone = !socket || *socket == transport::IpcState::absent;
      const bool ended = gone && !may_come_back(client.client().uri());
      if (ended || reactor.now() > give_up) return answer;
      reactor.turn(kLookAgain);
    }
    answer = ask();
  }
  return answer;
}

// The ids from the `begin`th on that one request is about.
std::vector<std::uint64_t> part_of(const std::vector<std::uint64_t>& ids, std::size_t begin) {
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin, ids.size()));
  const auto left = static_cast<std::size_t>(ids.end() - first);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(kIdsAtOnce, left))};
}

Error unreachable(const std::string& uri, const Error& error) {
  if (error.code == Errc::not_found)
    return {Errc::disconnected, "no instance listens there; it has ended, or HOLON_URI is wrong",
            uri};
  return {Errc::disconnected, "the instance does not answer: " + error.what, uri};
}

// Tries again while somebody is about to start a broker there; says so once.
Result<transport::BlockingClient> connect_patiently(const std::string& uri, std::ostream& notices) {
  const std::int64_t give_up = instance::monotonic_us() + kRestartPatience * 1000;
  for (bool said = false;; said = true) {
    auto client = transport::BlockingClient::connect(uri);
    // One that is there and does not answer is not being started; what this process lacks (open
    // files) does not come back either.
    const bool is_away = !client && (client.error().code == Errc::not_found ||
                                     client.error().code == Errc::disconnected);
    if (!is_away || !may_come_back(uri) || instance::monotonic_us() > give_up) return client;
    if (!said)
      notices << "holon: the broker of this instance is being started again; waiting for it\n"
              << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookAgain));
  }
}

}  // namespace

Broker::Broker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Broker::Broker(Broker&&) noexcept = default;
Broker& Broker::operator=(Broker&&) noexcept = default;
Broker::~Broker() = default;

Result<Broker> Broker::connect(const Invocation& call) {
  const auto uri = find_instance();
  if (!uri) return tl::unexpected(uri.error());
  return connect(*uri, call.instance, &call.io.err);
}

Result<Broker> Broker::connect(const std::string& uri, const std::string& path) {
  return connect(uri, path, nullptr);
}

Result<Broker> Broker::connect(const std::string& uri, const std::string& path,
                               std::ostream* notices) {
  auto client = notices != nullptr ? connect_patiently(uri, *notices)
                                   : transport::BlockingClient::connect(uri);
  if (!client) return tl::unexpected(unreachable(uri, client.error()));
  std::string target;
  if (!path.empty()) {
    auto absolute = absolute_path(*client, path);
    if (!absolute) return tl::unexpected(absolute.error());
    target = std::move(*absolute);
  }
  return Broker(std::make_unique<Parts>(Parts{std::move(*client), std::move(target)}));
}

Result<SelectedJobs> connect_to_jobs(Invocation& call, const std::vector<std::string>& words) {
  auto selection = select_jobs(words);
  if (!selection) return tl::unexpected(selection.error());
  if (!selection->instance.empty()) call.instance = selection->instance;
  auto broker = Broker::connect(call);
  if (!broker) return tl::unexpected(broker.error());
  return SelectedJobs{std::move(*broker), std::move(selection->ids)};
}

Result<SelectedJob> connect_to_job(Invocation& call, const std::string& word) {
  const auto jobs = parse_jobs(word);
  if (!jobs) return tl::unexpected(jobs.error());
  if (jobs->size() != 1)
    return fail(Errc::invalid_argument, "one job at a time: an id (7) or a path (/3/7)", word);
  if (!jobs->front().instance.empty()) call.instance = jobs->front().instance;
  auto broker = Broker::connect(call);
  if (!broker) return tl::unexpected(broker.error());
  return SelectedJob{std::move(*broker), jobs->front().id};
}

const std::string& Broker::path() const {
  return parts_->path;
}
void Broker::set_path(std::string path) {
  parts_->path = std::move(path);
}

Result<msg::SubmitReply> Broker::submit(const msg::SubmitRequest& request) {
  return parts_->client.call<msg::SubmitReply>("submit", request, parts_->path, kBulkTimeout);
}

Status Broker::each_page(msg::JobsRequest request,
                         const std::function<bool(std::vector<msg::JobRecord>, bool)>& take) {
  // The next page is on its way while this one is dealt with.
  auto& client = parts_->client.client();
  auto& reactor = parts_->client.reactor();
  std::optional<Result<std::string>> answer;
  const auto ask = [&] {
    answer.reset();
    return client.call({"jobs", transport::pack(request), parts_->path, kBulkTimeout},
                       [&answer](Result<std::string> bytes) { answer = std::move(bytes); });
  };
  reactor.turn(0);  // a connection lost before is made anew first
  auto asked = ask();
  for (;;) {
    reactor.run_until([&] { return answer.has_value(); }, -1);
    if (!*answer) return tl::unexpected(answer->error());
    auto page = transport::unpack<msg::JobsReply>(**answer);
    if (!page) return tl::unexpected(page.error());
    request.after = std::move(page->next);
    const bool more = !request.after.empty();
    if (more) asked = ask();
    if (!take(std::move(page->jobs), more)) {
      client.cancel(asked);
      return {};
    }
    if (!more) return {};
  }
}

Result<msg::JobsReply> Broker::jobs(const msg::JobsRequest& request) {
  std::map<std::string, msg::JobRecord> by_path;
  for (std::size_t done = 0; done == 0 || done < request.ids.size(); done += kIdsAtOnce) {
    msg::JobsRequest part = request;
    part.ids = part_of(request.ids, done);
    const auto listed = each_page(std::move(part), [&](std::vector<msg::JobRecord> page, bool) {
      for (auto& job : page) by_path.try_emplace(job.path, std::move(job));
      return true;
    });
    if (!listed) return tl::unexpected(listed.error());
  }
  msg::JobsReply all;
  for (auto& [path, job] : by_path) all.jobs.push_back(std::move(job));
  if (request.limit > 0 && all.jobs.size() > request.limit) {
    std::sort(all.jobs.begin(), all.jobs.end(), [](const auto& a, const auto& b) {
      return a.t_submit != b.t_submit ? a.t_submit > b.t_submit
                                      : instance::path_before(b.path, a.path);
    });
    all.jobs.resize(request.limit);
  }
  std::sort(all.jobs.begin(), all.jobs.end(),
            [](const auto& a, const auto& b) { return instance::path_before(a.path, b.path); });
  return all;
}

Result<msg::JobInfoReply> Broker::info(std::uint64_t id) {
  msg::JobInfoRequest request;
  request.id = id;
  return parts_->client.call<msg::JobInfoReply>("job.info", request, parts_->path);
}

Result<msg::JobRecord> Broker::record(std::uint64_t id) {
  const std::string path = (parts_->path == "/" ? "" : parts_->path) + "/" + std::to_string(id);
  msg::JobsRequest request;
  request.all = true;
  request.recursive = true;
  request.ids = {std::strtoull(path.c_str() + 1, nullptr, 10)};  // the one below the root
  const std::string here = std::exchange(parts_->path, "/");
  std::optional<msg::JobRecord> found;
  const auto listed = each_page(request, [&](std::vector<msg::JobRecord> page, bool) {
    for (auto& job : page)
      if (job.path == path) found = std::move(job);
    return !found;
  });
  parts_->path = here;
  if (!listed) return tl::unexpected(listed.error());
  if (!found) return fail(Errc::not_found, "there is no such job", path);
  return std::move(*found);
}

Result<msg::WaitReply> Broker::wait_for_all() {
  // By their ids: after a restart of the broker those that ended meanwhile are still asked for.
  msg::WaitRequest request;
  const auto listed = across_restarts(parts_->client, [&]() -> Result<msg::Empty> {
    request.ids.clear();
    auto pages = each_page({}, [&](const std::vector<msg::JobRecord>& page, bool) {
      for (const auto& job : page) request.ids.push_back(job.id);
      return true;
    });
    if (!pages) return tl::unexpected(pages.error());
    return msg::Empty{};
  });
  if (!listed) return tl::unexpected(listed.error());
  if (request.ids.empty()) return msg::WaitReply{};
  return wait(request);
}

Result<msg::WaitReply> Broker::wait(const msg::WaitRequest& request) {
  msg::WaitReply all;
  for (std::size_t done = 0; done < request.ids.size(); done += kIdsAtOnce) {
    const msg::WaitRequest part{part_of(request.ids, done)};
    auto reply = across_restarts(parts_->client, [&] {
      return parts_->client.call<msg::WaitReply>("job.wait", part, parts_->path, kForEver);
    });
    if (!reply) return reply;
    std::move(reply->jobs.begin(), reply->jobs.end(), std::back_inserter(all.jobs));
  }
  return all;
}

Result<msg::CancelReply> Broker::cancel(const msg::CancelRequest& request) {
  msg::CancelReply all;
  std::size_t done = 0;
  do {
    const msg::CancelRequest part{part_of(request.ids, done), request.all, request.reason};
    auto reply = parts_->client.call<msg::CancelReply>("cancel", part, parts_->path, kBulkTimeout);
    if (!reply) return reply;
    all.cancelled.insert(all.cancelled.end(), reply->cancelled.begin(), reply->cancelled.end());
    all.already_inactive.insert(all.already_inactive.end(), reply->already_inactive.begin(),
                                reply->already_inactive.end());
    done += kIdsAtOnce;
  } while (done < request.ids.size());
  return all;
}

Result<msg::ResourceReply> Broker::resources() {
  return parts_->client.call<msg::ResourceReply>("resource.list", msg::Empty{}, parts_->path);
}

Status Broker::drain(const msg::DrainRequest& request) {
  const auto answer = parts_->client.call<msg::Empty>("resource.drain", request, parts_->path);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::TreeNode> Broker::tree() {
  return parts_->client.call<msg::TreeNode>("tree", msg::TreeRequest{}, parts_->path);
}

Result<msg::TreeNode> Broker::status() {
  return parts_->client.call<msg::TreeNode>("status", msg::StatusRequest{}, parts_->path);
}

Result<msg::PriorityReply> Broker::priority(const msg::PriorityRequest& request) {
  return parts_->client.call<msg::PriorityReply>("priority", request, parts_->path, kBulkTimeout);
}

Result<msg::ExplainReply> Broker::explain(const msg::ExplainRequest& request) {
  return parts_->client.call<msg::ExplainReply>("explain", request, parts_->path, kBulkTimeout);
}

Result<msg::WindowsReply> Broker::windows() {
  return parts_->client.call<msg::WindowsReply>("windows", msg::Empty{}, parts_->path);
}

Status Broker::plan(const msg::PlanRequest& request,
                    const std::function<void(msg::PlanPart)>& on_part) {
  const auto take = [&on_part](msg::PlanPart part) {
    on_part(std::move(part));
    return true;
  };
  return parts_->client.stream<msg::PlanPart>("plan", request, parts_->path, take, kBulkTimeout);
}

Status Broker::set_urgency(const msg::UrgencyRequest& request) {
  const auto answer = parts_->client.call<msg::Empty>("urgency", request, parts_->path);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Broker::set_gate(const msg::GateRequest& request) {
  const auto answer = parts_->client.call<msg::Empty>("queue.gate", request, parts_->path);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::StatsReply> Broker::stats() {
  return parts_->client.call<msg::StatsReply>("stats", msg::Empty{}, parts_->path);
}

Result<msg::ReserveReply> Broker::reserve(const msg::ReserveRequest& request) {
  return parts_->client.call<msg::ReserveReply>("reserve", request, parts_->path);
}

Result<msg::ReservationsReply> Broker::reservations() {
  return parts_->client.call<msg::ReservationsReply>("reservations", msg::Empty{}, parts_->path);
}

Status Broker::unreserve(const msg::UnreserveRequest& request) {
  const auto answer = parts_->client.call<msg::Empty>("unreserve", request, parts_->path);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Broker::shutdown(const msg::ShutdownRequest& request) {
  const auto answer = parts_->client.call<msg::Empty>("shutdown", request, parts_->path);
  // The broker may be gone before its answer is out; that is what was asked for.
  if (!answer && answer.error().code != Errc::disconnected) return tl::unexpected(answer.error());
  return {};
}

Status Broker::watch(const msg::WatchRequest& request,
                     const std::function<bool(const msg::JobEvent&)>& on_item) {
  using Seen =
      std::map<std::uint64_t, std::size_t>;  // events of a job; a stream begins with its first
  Seen seen;
  return across_restarts(parts_->client, [&] {
    Seen skip = seen;
    return parts_->client.stream<msg::JobEvent>(
        "job.watch", request, parts_->path,
        [&](const msg::JobEvent& event) {
          if (std::size_t& known = skip[event.id]; known > 0) {
            --known;
            return true;
          }
          ++seen[event.id];
          return on_item(event);
        },
        kForEver);
  });
}

Status Broker::attach(std::uint64_t id,
                      const std::function<bool(const msg::OutputChunk&)>& on_item) {
  msg::AttachRequest request;
  request.id = id;
  using File = std::pair<std::int32_t, bool>;
  std::map<File, std::size_t> shown;  // bytes; a stream begins with the first one each time
  return across_restarts(parts_->client, [&] {
    auto skip = shown;
    return parts_->client.stream<msg::OutputChunk>(
        "job.attach", request, parts_->path,
        [&](const msg::OutputChunk& chunk) {
          const File file{chunk.task, chunk.error};
          const std::size_t known = std::min(skip[file], chunk.data.size());
          skip[file] -= known;
          shown[file] += chunk.data.size() - known;
          return known == chunk.data.size() ||
                 on_item({chunk.task, chunk.error, chunk.data.substr(known)});
        },
        kForEver);
  });
}

Broker::SignalGuard Broker::catch_signals(std::function<void(int)> on_signal) {
  auto watches = std::make_shared<std::vector<transport::Subscription>>();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    auto watch =
        parts_->client.reactor().on_signal(signal, [signal, on_signal] { on_signal(signal); });
    if (watch) watches->push_back(std::move(*watch));
  }
  return watches;
}

transport::Reactor& Broker::reactor() {
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

transport::Subscription Broker::cancel_later(const msg::CancelRequest& request,
                                             std::function<void()> on_answer) {
  return ask_later(parts_->client,
                   {"cancel", transport::pack(request), parts_->path, kCancelPatience},
                   [on_answer = std::move(on_answer)](const Result<std::string>&) { on_answer(); });
}

transport::Subscription Broker::record_later(std::uint64_t id,
                                             std::function<void(const msg::JobRecord&)> on_answer) {
  msg::JobsRequest request;
  request.ids = {id};
  return ask_later(parts_->client, {"jobs", transport::pack(request), parts_->path, kBulkTimeout},
                   [on_answer = std::move(on_answer)](const Result<std::string>& answer) {
                     if (!answer) return;
                     const auto reply = transport::unpack<msg::JobsReply>(*answer);
                     if (reply && !reply->jobs.empty()) on_answer(reply->jobs.front());
                   });
}

transport::Subscription Broker::input_later(
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
  Vigil(transport::BlockingClient& client, std::string path, std::uint64_t id, OnOver on_over)
      : client_(client), path_(std::move(path)), id_(id), on_over_(std::move(on_over)) {}

  void begin() {
    msg::WatchRequest request;
    request.ids = {id_};
    transport::StreamHandlers handlers;
    handlers.on_chunk = [weak = weak_from_this()](const std::string& bytes) {
      const auto event = transport::unpack<msg::JobEvent>(bytes);
      const auto self = weak.lock();
      if (self && event && (event->name == "exception" || event->name == "finish")) self->look();
    };
    handlers.on_end = [weak = weak_from_this()](const Status& ended) {
      if (const auto self = weak.lock()) ended ? self->look() : self->lost(ended.error());
    };
    client_.client().open({"job.watch", transport::pack(request), path_, kForEver},
                          std::move(handlers));
  }

 private:
  void look() {
    msg::JobsRequest request;
    request.ids = {id_};
    record_ = ask_later(client_, {"jobs", transport::pack(request), path_, kBulkTimeout},
                        [this](const Result<std::string>& answer) {
                          if (!answer) return;  // the stream ends as well
                          const auto reply = transport::unpack<msg::JobsReply>(*answer);
                          if (!reply || reply->jobs.empty()) return;
                          const auto& job = reply->jobs.front();
                          if (job.state == "CLEANUP" || job.state == "INACTIVE") over(job);
                        });
  }

  void lost(const Error& why) {
    if (why.code != Errc::disconnected) return over(tl::unexpected<Error>(why));
    again_ = client_.reactor().after(kLookAgain, [this, why] {
      const bool there = client_.client().connected() || may_come_back(client_.client().uri());
      there ? begin() : over(tl::unexpected<Error>(why));
    });
  }

  void over(const Result<msg::JobRecord>& job) {
    if (auto on_over = std::exchange(on_over_, nullptr)) on_over(job);
  }

  transport::BlockingClient& client_;
  std::string path_;
  std::uint64_t id_;
  OnOver on_over_;
  transport::Subscription record_, again_;
};

}  // namespace

transport::Subscription Broker::over_later(
    std::uint64_t id, std::function<void(const Result<msg::JobRecord>&)> on_over) {
  auto vigil = std::make_shared<Vigil>(parts_->client, parts_->path, id, std::move(on_over));
  vigil->begin();
  return transport::Subscription([vigil]() mutable { vigil.reset(); });
}

bool Broker::wait_until_gone(std::int64_t timeout) {
  auto& client = parts_->client.client();
  return parts_->client.reactor().run_until([&] { return !client.connected(); }, timeout);
}

}  // namespace holon::cli
