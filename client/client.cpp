#include "client/client.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/instance_path.hpp"
#include "client/parts.hpp"
#include "msg/usage.hpp"
#include "msg/users.hpp"
#include "transport/munge/munge.hpp"
#include "transport/munge/proof.hpp"
#include "transport/secret.hpp"

namespace holon::client {
namespace {

constexpr std::size_t kIdsAtOnce = 5'000;  // of one request; more go one after the other

// A path that does not begin with "/" starts at the instance that was connected to.
Result<std::string> absolute_path(transport::BlockingClient& client, const std::string& path,
                                  Duration patience) {
  if (path.empty() || path[0] == '/') return join_path("/", path.empty() ? "/" : path);
  auto here = client.call<msg::TreeNode>("status", msg::StatusRequest{}, "", patience);
  if (!here) return tl::unexpected(here.error());
  return join_path(here->path, path);
}

// The ids from the `begin`th on that go into one request.
std::vector<std::uint64_t> part_of(const std::vector<std::uint64_t>& ids, std::size_t begin) {
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin, ids.size()));
  const auto left = static_cast<std::size_t>(ids.end() - first);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(kIdsAtOnce, left))};
}

Error unreachable(const std::string& uri, const Error& error) {
  if (error.code == Errc::not_found)
    return {Errc::disconnected, "no instance listens there; it has ended, or HOLON_URI is wrong",
            uri};
  if (error.code == Errc::invalid_argument)
    return {Errc::disconnected,
            "is no address of an instance; accepted are ipc:///DIR/SOCKET, "
            "tcp://HOST:PORT?key=KEY and the name of a socket",
            uri};
  const bool says_it = error.code == Errc::timed_out;
  return {Errc::disconnected, (says_it ? "" : "the instance does not answer: ") + error.what, uri};
}

// The uri of an address, which may be the name of a socket.
std::string uri_of(const std::string& address) {
  return address.starts_with('/') ? "ipc://" + address : address;
}

// Connects over tcp, with a key of this connection's own. Each time the connection is made a new
// credential says which user it is.
Result<transport::BlockingClient> connect_proved(const transport::KeyedAddress& address,
                                                 Duration patience) {
  const char* const socket = std::getenv("HOLON_MUNGE_SOCKET");
  const auto munge = transport::Munge::load(socket != nullptr ? socket : "");
  if (!munge) return tl::unexpected(munge.error());
  const auto keys = transport::new_key_pair();
  if (!keys) return tl::unexpected(keys.error());
  transport::Options options;
  options.security = {address.server_key, keys->public_key, keys->secret_key};
  auto client = transport::BlockingClient::connect(address.uri, patience, std::move(options));
  if (!client) return client;
  const auto prove = [munge = *munge,
                      text = transport::text_to_prove(address.server_key, keys->public_key)] {
    const auto credential = munge.encode(text);
    return transport::pack(transport::ProveRequest{credential ? *credential : std::string()});
  };
  if (const auto made = munge->encode(""); !made) return tl::unexpected(made.error());
  if (const auto proved = client->call("user.prove", prove(), "", patience); !proved)
    return tl::unexpected(proved.error());
  transport::Client& line = client->client();
  line.on_connected([&line, prove](const transport::PeerInfo&) {
    line.call({"user.prove", prove()}, [](const Result<std::string>&) {});
  });
  return client;
}

// The wall clock by which instances date their records.
std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::optional<struct stat> file_at(const std::string& uri) {
  constexpr std::string_view kIpc = "ipc://";
  struct stat info {};
  const bool is_there = uri.starts_with(kIpc) && stat(uri.substr(kIpc.size()).c_str(), &info) == 0;
  return is_there ? std::optional(info) : std::nullopt;
}

// Does the socket belong to another user? For root it never counts as another's.
bool is_of_another_user(const std::string& uri) {
  const auto file = file_at(uri);
  return geteuid() != 0 && file && file->st_uid != geteuid();
}

// Tries again while a broker is about to be started there; says so once.
Result<transport::BlockingClient> connect_patiently(
    const std::string& uri, const Patience& patience,
    const std::function<void(const std::string&)>& on_wait) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + std::chrono::milliseconds(patience.restart);
  for (bool said = false;; said = true) {
    auto client = transport::BlockingClient::connect(uri, patience.connect);
    // A broker that is there and does not answer is not being started; files that this process may
    // not open any more do not come back either.
    const bool is_away = !client && (client.error().code == Errc::not_found ||
                                     client.error().code == Errc::disconnected);
    if (!is_away || !may_come_back(uri) || Clock::now() > give_up) return client;
    if (!said) on_wait("the broker of this instance is being started again; waiting for it");
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookAgain));
  }
}

}  // namespace

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Reached> reach_instance(const Address& address) {
  const auto found = address.uri.empty() ? find_instance() : address.uri;
  if (!found) return tl::unexpected(found.error());
  const auto uri = uri_of(*found);
  if (const auto file = file_at(uri); file && !S_ISSOCK(file->st_mode))
    return fail(Errc::disconnected,
                "what is there is no socket, so no instance listens; HOLON_URI is wrong", uri);
  const auto keyed = transport::parse_keyed_uri(uri);
  if (!keyed) return tl::unexpected(keyed.error());
  auto client = *keyed ? connect_proved(**keyed, address.patience.connect)
                : address.on_wait
                    ? connect_patiently(uri, address.patience, address.on_wait)
                    : transport::BlockingClient::connect(uri, address.patience.connect);
  // Without MUNGE here, or if the other side does not take its word, the address is not at fault.
  const bool is_proof =
      !client && *keyed &&
      (client.error().code == Errc::unsupported || client.error().code == Errc::denied);
  if (is_proof) return tl::unexpected(client.error());
  if (!client) return tl::unexpected(unreachable(uri, client.error()));
  std::string target;
  if (!address.path.empty()) {
    auto absolute = absolute_path(*client, address.path, address.patience.answer);
    if (!absolute) return tl::unexpected(absolute.error());
    target = std::move(*absolute);
  }
  const bool may_have_own = address.path.empty() && (*keyed || is_of_another_user(uri));
  return Reached{std::move(*client), std::move(target), may_have_own};
}

Result<Client> Client::connect(const Address& address) {
  auto reached = reach_instance(address);
  if (!reached) return tl::unexpected(reached.error());
  Client made(
      std::make_unique<Parts>(Parts{std::move(reached->client), std::move(reached->path),
                                    address.on_wait, reached->may_have_own, address.patience}));
  if (auto gone = made.parts_->go_to_own(false); !gone) return tl::unexpected(gone.error());
  return made;
}

Status Client::Parts::go_to_own(bool make) {
  if (!may_have_own) return {};
  path.clear();
  auto own = call<msg::OwnInstanceReply>("user.instance", msg::OwnInstanceRequest{make});
  if (!own) return tl::unexpected<Error>(own.error());
  path = std::move(own->path);
  return {};
}

Status Client::Parts::reach() {
  auto& reactor = client.reactor();
  reactor.turn(0);  // a connection may have been lost before
  const Time give_up = saturating_add(reactor.now(), patience.restart);
  while (!client.client().connected()) {
    const auto& uri = client.client().uri();
    if (has_ended(uri)) return fail(Errc::disconnected, "the instance has ended", uri);
    if (reactor.now() > give_up)
      return fail(Errc::disconnected, "there is no connection to the instance", uri);
    reactor.turn(kLookAgain);
  }
  return {};
}

const std::string& Client::path() const {
  return parts_->path;
}
void Client::set_path(std::string path) {
  parts_->may_have_own = false;
  parts_->path = std::move(path);
}

// Waits; "busy" means that the instance waits for what it has asked for, and says why.
Status Client::Parts::await_own() {
  if (!may_have_own) return {};
  constexpr Duration kUsual = 1'000, kLater = 15'000;  // until something is said, and said anew
  std::string said;
  for (Duration wait = kUsual;; wait = kLater) {
    path.clear();
    auto own = across_restarts(*this, [&] {
      return call<msg::OwnInstanceReply>("user.instance", msg::OwnInstanceRequest{true, wait});
    });
    if (own) {
      path = std::move(own->path);
      return {};
    }
    if (own.error().code != Errc::busy) return tl::unexpected<Error>(own.error());
    if (on_wait && own.error().what != said)
      on_wait(own.error().what + "; what is submitted goes there once it is up");
    said = own.error().what;
    client.reactor().turn(kLookAgain);
  }
}

bool Client::Parts::has_taken_one(std::int64_t since) {
  msg::JobsRequest request;
  request.all = true;
  do {
    auto page = call<msg::JobsReply>("jobs", request, kBulkTimeout);
    if (!page) return true;  // nobody knows
    for (const auto& job : page->jobs)
      if (job.t_submit >= since) return true;
    request.after = std::move(page->next);
  } while (!request.after.empty());
  return false;
}

template <class Reply, class Ask>
Result<Reply> Client::Parts::submit(const std::string& topic, const Ask& ask) {
  const std::int64_t begin = wall_clock();
  while (true) {
    if (auto gone = await_own(); !gone) return tl::unexpected<Error>(gone.error());
    const std::string asked = path;
    bool is_unsure = false;  // one that was lost on its way may have arrived
    auto answer = across_restarts(
        *this,
        [&] {
          auto told = call<Reply>(topic, ask, kBulkTimeout);
          is_unsure |= !told && told.error().code == Errc::disconnected;
          return told;
        },
        patience.restart);
    if (answer || asked.empty() || !may_have_own) return answer;
    const Errc code = answer.error().code;
    if (code != Errc::busy && code != Errc::not_found && code != Errc::disconnected) return answer;
    if (is_unsure && has_taken_one(begin)) return answer;
    if (!await_own() || path == asked) return answer;
  }
}

Result<msg::SubmitReply> Client::submit(msg::SubmitRequest request) {
  if (request.key.empty()) request.key = transport::new_secret();
  return parts_->submit<msg::SubmitReply>("submit", request);
}

Result<msg::GraphReply> Client::submit_graph(msg::GraphRequest request) {
  if (request.key.empty()) request.key = transport::new_secret();
  return parts_->submit<msg::GraphReply>("submit.graph", request);
}

Status Client::check_serves_users() {
  const auto told = parts_->call<msg::OwnInstanceReply>("user.instance", msg::OwnInstanceRequest{});
  if (!told) return tl::unexpected<Error>(told.error());
  if (told->serves_users) return {};
  return fail(Errc::unsupported,
              "this instance starts everything as its own user; one that root has started with "
              "--system starts jobs as others");
}

Result<msg::ExtendReply> Client::extend(msg::ExtendRequest request) {
  if (request.key.empty() && request.tasks > 0) request.key = transport::new_secret();
  return across_restarts(
      *parts_, [&] { return parts_->call<msg::ExtendReply>("job.extend", request, kBulkTimeout); },
      parts_->patience.restart);
}

Status Client::each_page(msg::JobsRequest request,
                         const std::function<bool(std::vector<msg::JobRecord>, bool)>& take) {
  // The next page is on its way while this one is handled.
  auto& client = parts_->client.client();
  auto& reactor = parts_->client.reactor();
  std::optional<Result<std::string>> answer;
  const auto ask = [&] {
    answer.reset();
    return client.call({"jobs", transport::pack(request), parts_->path, kBulkTimeout},
                       [&answer](Result<std::string> bytes) { answer = std::move(bytes); });
  };
  if (const auto there = parts_->reach(); !there) return there;
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

Result<msg::JobsReply> Client::jobs(const msg::JobsRequest& request) {
  std::map<std::string, msg::JobRecord> by_path;
  std::optional<Error> unknown;  // of a part of the ids
  for (std::size_t done = 0; done == 0 || done < request.ids.size(); done += kIdsAtOnce) {
    msg::JobsRequest part = request;
    part.ids = part_of(request.ids, done);
    const auto listed = each_page(std::move(part), [&](std::vector<msg::JobRecord> page, bool) {
      for (auto& job : page) {
        auto& known = by_path[job.path];
        if (known.path.empty() || known.as_of > 0) known = std::move(job);
      }
      return true;
    });
    if (!listed && listed.error().code != Errc::not_found) return tl::unexpected(listed.error());
    if (!listed) unknown = listed.error();
  }
  if (unknown && by_path.empty()) return tl::unexpected(*unknown);
  msg::JobsReply all;
  for (auto& [path, job] : by_path) all.jobs.push_back(std::move(job));
  if (request.limit > 0 && all.jobs.size() > request.limit) {
    std::sort(all.jobs.begin(), all.jobs.end(), [](const auto& a, const auto& b) {
      return a.t_submit != b.t_submit ? a.t_submit > b.t_submit : path_before(b.path, a.path);
    });
    all.jobs.resize(request.limit);
  }
  std::sort(all.jobs.begin(), all.jobs.end(),
            [](const auto& a, const auto& b) { return path_before(a.path, b.path); });
  return all;
}

Result<std::vector<msg::StateCount>> Client::count_jobs(msg::JobsRequest request) {
  std::map<std::string, std::uint64_t> counts;
  request.stats = true;
  do {
    auto page = parts_->call<msg::JobsReply>("jobs", request, kBulkTimeout);
    if (!page) return tl::unexpected(page.error());
    for (const auto& count : page->counts) counts[count.state] += count.jobs;
    request.after = std::move(page->next);
  } while (!request.after.empty());
  std::vector<msg::StateCount> all;
  for (const auto& [state, jobs] : counts) all.push_back({state, jobs});
  return all;
}

Result<std::vector<msg::Usage>> Client::usage(msg::JobsRequest request) {
  msg::UsageTable table;
  do {
    auto page = parts_->call<msg::JobsReply>("jobs", request, kBulkTimeout);
    if (!page) return tl::unexpected(page.error());
    for (const auto& usage : page->usage) msg::add_usage(table, usage);
    request.after = std::move(page->next);
  } while (!request.after.empty());
  std::vector<msg::Usage> all;
  for (auto& [key, usage] : table) all.push_back(std::move(usage));
  return all;
}

Result<msg::TasksReply> Client::tasks(const msg::TasksRequest& request) {
  return parts_->call<msg::TasksReply>("job.tasks", request);
}

Result<msg::CompactReply> Client::compact_journal() {
  return parts_->call<msg::CompactReply>("journal.compact", msg::Empty{}, kBulkTimeout);
}

Result<msg::JobInfoReply> Client::info(std::uint64_t id) {
  msg::JobInfoRequest request;
  request.id = id;
  return parts_->call<msg::JobInfoReply>("job.info", request);
}

Result<msg::JobRecord> Client::record(std::uint64_t id) {
  std::string instance = parts_->path;
  if (instance.empty()) {
    auto here = status();
    if (!here) return tl::unexpected(here.error());
    instance = std::move(here->path);
  }
  const std::string path = (instance == "/" ? "" : instance) + "/" + std::to_string(id);
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

Result<std::vector<std::uint64_t>> Client::active_jobs() {
  return across_restarts(*parts_, [&]() -> Result<std::vector<std::uint64_t>> {
    std::vector<std::uint64_t> ids;
    bool has_children = false;
    auto pages = each_page({}, [&](const std::vector<msg::JobRecord>& page, bool) {
      for (const auto& job : page) ids.push_back(job.id);
      for (const auto& job : page) has_children = has_children || job.is_instance;
      return true;
    });
    if (!pages) return tl::unexpected(pages.error());
    if (!has_children) return ids;
    const auto here = status();
    if (!here) return tl::unexpected(here.error());
    const std::set<std::uint64_t> planted(here->planted.begin(), here->planted.end());
    std::erase_if(ids, [&planted](std::uint64_t id) { return planted.contains(id); });
    return ids;
  });
}

Result<msg::WaitReply> Client::wait_for_all() {
  // Waits by ids: after a restart of the broker jobs that ended meanwhile are still asked for.
  auto ids = active_jobs();
  if (!ids) return tl::unexpected(ids.error());
  if (ids->empty()) return msg::WaitReply{};
  return wait({std::move(*ids)});
}

Result<msg::WaitReply> Client::wait(const msg::WaitRequest& request) {
  msg::WaitReply all;
  for (std::size_t done = 0; done < request.ids.size(); done += kIdsAtOnce) {
    const msg::WaitRequest part{part_of(request.ids, done)};
    auto reply = across_restarts(
        *parts_, [&] { return parts_->call<msg::WaitReply>("job.wait", part, kForEver); });
    if (!reply) return reply;
    std::move(reply->jobs.begin(), reply->jobs.end(), std::back_inserter(all.jobs));
  }
  return all;
}

Result<msg::ResourceReply> Client::resources() {
  return parts_->call<msg::ResourceReply>("resource.list", msg::Empty{});
}

Status Client::drain(const msg::DrainRequest& request) {
  const auto answer = parts_->call<msg::Empty>("resource.drain", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<std::string> Client::invite(const msg::InviteRequest& request) {
  auto answer = parts_->call<msg::InviteReply>("node.invite", request);
  if (!answer) return tl::unexpected(answer.error());
  return std::move(answer->invitation);
}

Status Client::leave(const msg::LeaveRequest& request) {
  const auto answer = across_restarts(
      *parts_, [&] { return parts_->call<msg::Empty>("node.leave", request, kForEver); });
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::ProvisionReply> Client::provision(const msg::ProvisionRequest& request) {
  return parts_->call<msg::ProvisionReply>("provision.add", request);
}

Result<msg::ProvisionsReply> Client::provisions() {
  return parts_->call<msg::ProvisionsReply>("provision.list", msg::Empty{});
}

Status Client::change_provision(const msg::ProvisionChange& request) {
  const auto answer = parts_->call<msg::Empty>("provision.change", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::TreeNode> Client::tree() {
  return parts_->call<msg::TreeNode>("tree", msg::TreeRequest{});
}

Result<msg::TreeNode> Client::status() {
  return parts_->call<msg::TreeNode>("status", msg::StatusRequest{});
}

Result<msg::PriorityReply> Client::priority(const msg::PriorityRequest& request) {
  return parts_->call<msg::PriorityReply>("priority", request, kBulkTimeout);
}

Result<msg::ExplainReply> Client::explain(const msg::ExplainRequest& request) {
  return parts_->call<msg::ExplainReply>("explain", request, kBulkTimeout);
}

Result<msg::WindowsReply> Client::windows() {
  return parts_->call<msg::WindowsReply>("windows", msg::Empty{});
}

Status Client::plan(const msg::PlanRequest& request,
                    const std::function<void(msg::PlanPart)>& on_part) {
  const auto take = [&on_part](msg::PlanPart part) {
    on_part(std::move(part));
    return true;
  };
  return parts_->stream<msg::PlanPart>("plan", request, take, kBulkTimeout);
}

Status Client::signal(const msg::SignalRequest& request) {
  const auto answer = parts_->call<msg::Empty>("job.signal", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Client::update(const msg::UpdateRequest& request) {
  const auto answer = parts_->call<msg::Empty>("job.update", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Client::suspend(const msg::SuspendRequest& request) {
  const auto answer = parts_->call<msg::Empty>("job.suspend", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Client::set_urgency(const msg::UrgencyRequest& request) {
  const auto answer = parts_->call<msg::Empty>("urgency", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Client::set_gate(const msg::GateRequest& request) {
  const auto answer = parts_->call<msg::Empty>("queue.gate", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::StatsReply> Client::stats() {
  return parts_->call<msg::StatsReply>("stats", msg::Empty{});
}

Result<msg::ConfigReply> Client::config(const msg::ConfigRequest& request) {
  return parts_->call<msg::ConfigReply>("config.get", request);
}

Result<msg::ReloadReply> Client::reload_config() {
  return parts_->call<msg::ReloadReply>("config.reload", msg::Empty{});
}

Status Client::load_policy(const msg::PolicyLoadRequest& request) {
  const auto answer = parts_->call<msg::Empty>("policy.load", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<msg::PolicyDisableReply> Client::disable_policy(const msg::PolicyDisableRequest& request) {
  return parts_->call<msg::PolicyDisableReply>("policy.disable", request);
}

Result<msg::PolicyShown> Client::show_policy(const msg::PolicyShowRequest& request) {
  return parts_->call<msg::PolicyShown>("policy.show", request);
}

Result<msg::WhatIfReply> Client::what_if(const msg::WhatIfRequest& request) {
  return parts_->call<msg::WhatIfReply>("policy.what-if", request);
}

Result<msg::AuditReply> Client::audit(const msg::AuditRequest& request) {
  return parts_->client.call<msg::AuditReply>("audit", request, parts_->path);
}

Status Client::shutdown(const msg::ShutdownRequest& request) {
  const auto answer = parts_->call<msg::Empty>("shutdown", request);
  // The broker may be gone before its answer is out, as the request asks.
  if (!answer && answer.error().code != Errc::disconnected) return tl::unexpected(answer.error());
  return {};
}

bool Client::wait_until_gone(Duration timeout) {
  auto& client = parts_->client.client();
  return parts_->client.reactor().run_until([&] { return !client.connected(); }, timeout);
}

}  // namespace holon::client
