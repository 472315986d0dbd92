#include "instance/broker/broker.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text/printable.hpp"
#include "instance/basics/exit_codes.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/schema.hpp"
#include "transport/bounds.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {
namespace {

constexpr Duration kClockInterval = 1'000;  // between two writings of the clock

// In the runtime directory: a broker of this run has been up.
constexpr const char* kWasUp = "/was-up";
constexpr Duration kLookAtFiles = 1'000;

// Opens the journal to read where the disk takes no more; `trouble` then says why.
Result<Journal> open_again(const std::string& file, Journal::Sync sync, const Journal::Beat& beat,
                           std::optional<Error>& trouble) {
  auto journal = Journal::open(file, sync, Journal::OnDamage::repair, beat);
  if (!journal && journal.error().code == Errc::system) {
    trouble = journal.error();
    return Journal::open_frozen(file, beat);
  }
  if (!journal) return journal;
  if (const auto room = journal->room(); !room) {
    trouble = room.error();
    journal->freeze();
  }
  return journal;
}

std::string meta_or(const Journal& journal, std::string_view key, std::string otherwise) {
  const auto value = journal.meta(key);
  return value && *value ? **value : std::move(otherwise);
}

Result<std::shared_ptr<InstanceClock>> clock_of(const Journal& journal) {
  const auto latest = journal.latest_event();
  if (!latest) return tl::unexpected(latest.error());
  auto clock = std::make_shared<InstanceClock>(boot_id());
  clock->go_on(meta_or(journal, kClock, ""), *latest);
  return clock;
}

// Jobs write there. Anything else with that name is put aside.
void make_output_directory(const std::string& state_dir) {
  const std::string dir = state_dir + "/output";
  std::error_code none;
  if (std::filesystem::exists(dir, none) && !std::filesystem::is_directory(dir, none))
    if (const auto aside = put_aside(dir, wall_clock_ms()))
      spdlog::critical(fmt::format("{} was no directory; it is kept as {}", dir, *aside));
  std::filesystem::create_directories(dir, none);
}

}  // namespace

Broker::Broker(transport::Reactor& reactor, Pulse* pulse, BrokerOptions options,
               config::Config config, Journal journal, std::shared_ptr<InstanceClock> clock,
               std::unique_ptr<transport::Server> server)
    : reactor_(reactor),
      pulse_(pulse),
      options_(std::move(options)),
      config_(std::move(config)),
      journal_(std::move(journal)),
      clock_(std::move(clock)),
      known_offset_(clock_->offset()),
      server_(std::move(server)) {
  reactor_.set_clock([clock = clock_] { return clock->now(); });
}

// Ends the connections first: their requests are answered as they end, by members that end later.
// Both ends of every connection then know that it was lost, and nobody is told that a request was
// forgotten.
Broker::~Broker() {
  if (parent_) parent_->close();
  server_.reset();
}

transport::Options Broker::peer_options(const std::string& name) const {
  transport::Options o;
  o.heartbeat = config_.heartbeat;
  o.peer_timeout = config_.peer_timeout;
  o.name = name;
  return o;
}

// ---- beginning ----

Result<std::unique_ptr<Broker>> Broker::create(transport::Reactor& reactor, BrokerOptions options,
                                               Pulse* pulse, BrokerGround ground) {
  auto config = config::load_config(options.start.conf);
  if (!config) return tl::unexpected(config.error());
  const std::string file =
      options.start.journal ? options.start.state_dir + "/journal.db" : std::string();
  // A later broker of a run continues with what can be read: its jobs run.
  const bool again = std::filesystem::exists(options.runtime_dir + kWasUp);
  std::optional<Error> trouble;
  Journal::Beat beat;
  if (pulse != nullptr) beat = [pulse] { pulse->beat(); };
  auto journal = again ? open_again(file, config->sync, beat, trouble)
                       : Journal::open(file, config->sync, Journal::OnDamage::refuse, beat);
  if (!journal) return tl::unexpected(journal.error());
  auto clock = clock_of(*journal);
  if (!clock) return tl::unexpected(clock.error());
  const auto uri = transport::ipc_uri(options.runtime_dir, "broker");
  if (!uri) return tl::unexpected(uri.error());
  transport::Options listen;
  listen.heartbeat = config->heartbeat;
  listen.peer_timeout = config->peer_timeout;
  listen.name = "broker";
  listen.kept_for = {"agent", "child"};
  listen.for_everybody = options.start.system;
  auto server = transport::Server::listen(reactor, *uri, listen);
  if (!server) return tl::unexpected(server.error());
  std::unique_ptr<Broker> broker(new Broker(reactor, pulse, std::move(options), std::move(*config),
                                            std::move(*journal), std::move(*clock),
                                            std::move(*server)));
  broker->ground_ = std::move(ground);
  if (auto open = broker->open_to_nodes(); !open) return tl::unexpected(open.error());
  broker->show_pulse();
  broker->read_only_ = std::move(trouble);
  if (auto begun = broker->begin(); !begun) return tl::unexpected(begun.error());
  broker->journal_.stop_beating();  // from here on turns are the sign of life
  return broker;
}

// The loop turns often enough to be seen even when nothing happens.
void Broker::show_pulse() {
  constexpr Duration kBeats = 8;  // within the watchdog's patience
  if (pulse_ == nullptr) return;
  pulse_->beat();
  config_.scheduler.looking_at = &pulse_->looking_at();
  if (config_.watchdog > 0) beat_ = reactor_.every(config_.watchdog / kBeats, [] {});
}

Beginning Broker::beginning() const {
  Beginning how;
  how.fresh = fresh_;
  how.last_lived = last_lived_;
  if (pulse_ == nullptr) return how;
  how.at = [pulse = pulse_](JobId job) { pulse->beat_at(job); };
  how.suspect = pulse_->take_suspect();
  if (how.suspect)
    spdlog::error(fmt::format("the broker failed twice in a row at job {}{}; it is set aside",
                              how.suspect->job.value(),
                              how.suspect->began ? ", before its first turn" : ""));
  return how;
}

// Is this a later broker of an instance whose supervisor lives, or a new start on an old state
// directory? A run is known once its resources are: a broker that dies before that leaves its
// successor those of the run before, which may have had other nodes.
bool Broker::same_run() const {
  return meta_or(journal_, "runtime_dir", "") == options_.runtime_dir;
}

Status Broker::begin() {
  fresh_ = !same_run();
  last_lived_ = InstanceClock::kept_at(meta_or(journal_, kClock, ""));
  keep_clock();
  if (auto known = recall(); !known) return known;
  server_->on_request([this](const transport::Request& request) { take_request(request); });
  server_->on_peer([this](transport::PeerId peer, const transport::PeerInfo&) {
    if (munge_ || options_.start.system) watch_stranger(peer);
  });
  server_->on_peer_lost([this](transport::PeerId peer) {
    unproved_.erase(peer);
    if (gathering_) gathering_->peer_lost(peer);
    if (!instance_) return;
    instance_->agents.peer_lost(peer);
    instance_->children.peer_lost(peer, reactor_.now());
  });
  turn_end_ = reactor_.at_turn_end([this] { finish_turn(); });
  files_timer_ = reactor_.every(kLookAtFiles, [this] { look_at_files(); });
  gather_timer_ = reactor_.after(config_.gather_timeout, [this] { gathered_enough(); });
  tell_news();
  return options_.start.grant ? begin_child() : begin_root();
}

// Reads what the journal has of the instance itself.
Status Broker::recall() {
  if (fresh_) journal_.set_number(kStarted, reactor_.now());
  const auto started = journal_.number(kStarted);
  if (!started) return tl::unexpected(started.error());
  started_ = started->value_or(reactor_.now());
  const auto grant = journal_.grant();
  if (!grant) return tl::unexpected(grant.error());
  // A run that begins is another holder, also where it goes on from the journal of an earlier one.
  if (!fresh_) grant_ = grant->value_or(HeldGrant());
  return recall_invited_nodes();
}

std::string Broker::resources() const {
  const std::int64_t nodes = instance_->store->total("node");
  return describe(
      {nodes > 1 ? nodes : 0, instance_->store->total("core"), instance_->store->total("gpu"), 0});
}

// Begins a root. Declared resources stay those of the instance until others are declared. A machine
// may have changed since.
Status Broker::begin_root() {
  ResourceSource source{meta_or(journal_, "resources.kind", ""),
                        meta_or(journal_, "resources.text", ""),
                        meta_or(journal_, "resources.bind", "1") == "1"};
  const bool declared = !source.kind.empty() && !source.bind;
  const bool keeps = declared && options_.start.resources.empty();
  if (fresh_ && keeps)
    std::fputs(fmt::format("holon start: it has the resources that it was made with{}; "
                           "--resources {} gives it this machine's\n",
                           source.kind == "shape" ? ", " + source.text : "", kThisMachine)
                   .c_str(),
               stderr);
  if ((fresh_ && !keeps) || source.kind.empty()) {
    auto found = find_own_resources();
    if (!found) return tl::unexpected(found.error());
    return gather(std::move(*found));
  }
  return bring_up_root(source);
}

Result<ResourceSource> Broker::find_own_resources() const {
  if (options_.start.resources.empty() && !ground_.topology.empty())
    return ResourceSource{"hwloc", ground_.topology, true};
  return find_resources(options_.start.resources, options_.most_memory);
}

Status Broker::begin_child() {
  const auto cut = options_.job_path.rfind('/');
  if (cut == std::string::npos || options_.secrets.token.empty())
    return fail(Errc::invalid_argument, "a child instance needs its job's path and its token");
  ParentLink::Identity identity{
      options_.secrets.token,
      JobId(std::strtoull(options_.job_path.c_str() + cut + 1, nullptr, 10)), server_->uri(),
      grant_.epoch, options_.secrets.invitation};
  ParentLink::Callbacks callbacks;
  callbacks.granted = [this](const msg::Grant& grant) { hear_grant(grant); };
  callbacks.denied = [this](const Error& error) {
    spdlog::error(fmt::format("the parent turned this instance away: {}", to_string(error)));
    if (phase_ == Phase::waiting_for_grant) return finish(kCannotStart);
    end_unasked("it does not hold its grant any more");
  };
  callbacks.lost = [this] { await_parent(); };
  callbacks.request = [this](const transport::Request& request) { take_request(request); };
  callbacks.record = [this](const std::string& path) {
    return instance_ ? instance_->records.find(path) : std::optional<msg::JobRecord>();
  };
  auto link = ParentLink::connect(reactor_, options_.parent_uri,
                                  peer_options("child " + options_.job_path), std::move(identity),
                                  journal_, std::move(callbacks), config_.record_interval);
  if (!link) return tl::unexpected(link.error());
  parent_ = std::move(*link);
  parent_->load_outbox();
  await_parent();
  // A later broker continues with the grant it knows; the parent confirms or fences that when it
  // answers.
  if (const auto text = meta_or(journal_, "resources.text", ""); !text.empty() && !fresh_) {
    Identity known;
    known.path = grant_.path;
    known.name = grant_.name;
    return bring_up({"jgf", text, meta_or(journal_, "resources.bind", "1") == "1"},
                    std::move(known), grant_.end == 0 ? kTimeMax : grant_.end);
  }
  return {};
}

Status Broker::bring_up(const ResourceSource& source, Identity identity, Time lease_end) {
  auto spec = read_resources(source);
  if (!spec) return tl::unexpected(spec.error());
  if (pulse_ != nullptr) pulse_->beat();
  resource::StoreOptions store_options;
  store_options.match_policy = config_.match_policy;
  store_options.prune_filters = config_.prune_filters;
  store_options.horizon = {0, lease_end};
  auto store = resource::ResourceStore::load(*spec, store_options);
  if (!store) return tl::unexpected(store.error());
  if (auto can = can_use(source, store->total("node")); !can) return can;
  journal_.set_meta(kDefaultQueue, config_.scheduler.default_queue);  // for readers of the journal
  journal_.set_meta("runtime_dir", options_.runtime_dir);
  journal_.set_meta("resources.kind", source.kind);
  journal_.set_meta("resources.text", source.text);
  journal_.set_meta("resources.bind", source.bind ? "1" : "0");
  identity.uri = server_->uri();
  identity.state_dir = options_.start.state_dir;
  identity.binary = options_.binary;
  identity.belongs_to = ground_.belongs_to;
  describe_agents(identity, source, store->graph());
  identity.bind = source.bind;
  identity.hosts = options_.hosts;
  identity.spreads = !options_.hosts.empty();
  identity.serves_users = options_.start.system;
  identity.is_one_machine = is_one_machine();
  identity.started = started_;
  identity.lease_end = lease_end;
  make_output_directory(identity.state_dir);
  auto core = Instance::create(reactor_, *clock_, *server_, journal_, config_, after_commit_,
                               std::move(identity), std::move(*store), parent_.get(), beginning());
  if (!core) return tl::unexpected(core.error());
  instance_ = std::move(*core);
  serve_granted_nodes();
  strangers_.on_logged = [this](const transport::Request& request, const Error& why) {
    instance_->audit.refused(request, why);
  };
  instance_->on_node_lost = [this](std::uint32_t rank) { lose_node(rank); };
  if (read_only_) instance_->only_list(read_only_->what);
  Service::Hooks hooks;
  hooks.shutdown = [this](const std::string& reason) { end(reason); };
  hooks.ending = [this] { return phase_ != Phase::up; };
  hooks.lease = [this](const msg::Lease& told) { move_lease(told); };
  if (parent_)
    hooks.forward_up = [this](const transport::Request& request, const std::string& path) {
      parent_->forward(request, path);
    };
  hooks.agent_up = [this] { tell_when_ready(); };
  hooks.invite = [this](const msg::InviteRequest& ask) { return invite(ask); };
  instance_->provisions.invite = hooks.invite;
  hooks.conf = options_.start.conf;
  hooks.told = {{"instance.state-dir", options_.start.state_dir, state_dir_source(options_)}};
  hooks.begin_again = [this] {
    end_reason_ = "its configuration is another one";
    reactor_.defer([this] { finish(kBeginAgain); });
  };
  service_ = std::make_unique<Service>(reactor_, *server_, *instance_, std::move(hooks));
  phase_ = Phase::up;
  std::ofstream(options_.runtime_dir + kWasUp).flush();
  const Planted::Asked tree{options_.start.tree, options_.start.level_conf};
  if (auto planted = instance_->planted.begin(tree, fresh_, reactor_.now()); !planted)
    return planted;
  watch_lease(lease_end);
  if (config_.idle_timeout > 0 && options_.start.background)
    idle_end_.emplace(reactor_, instance_->jobs, config_.idle_timeout, [this] {
      end(fmt::format("it had nothing to do for {} (instance.idle-timeout)",
                      duration_text(config_.idle_timeout)));
    });
  go_on_ending();
  for (const auto& request : std::exchange(early_, {}))
    if (!request.done()) service_->handle(request);  // the sender may be gone
  return {};
}

void Broker::take_request(const transport::Request& request) {
  if (request.topic() == transport::kBoundReached && request.peer().value() == 0)
    return bound_reached(request);
  if (request.topic() == "agent.join") return answer_join(request);
  if (request.topic() == "user.prove") return answer_proof(request);
  if (request.topic() == "agent.vouch") return answer_vouch(request);
  if (read_only_) return only_list(request);
  if (phase_ == Phase::over) return request.fail(last_word());
  of_this_turn_.push_back(request);
  if (service_)
    service_->handle(request);
  else if (early_.size() < 10'000)
    early_.push_back(request);
  else
    request.fail({Errc::busy, "this instance has no resources yet", {}});
  if (!gathering_) return;
  gathering_->hear(request);
  if (gathering_->complete()) begin_with_gathered();
}

// ---- a turn ----

void Broker::keep_clock() {
  clock_kept_ = reactor_.now();
  journal_.set_meta(kClock, clock_->text_to_keep());
}

void Broker::look_at_wall_clock() {
  const Duration by = clock_->offset() - known_offset_;
  if (by == 0) return;
  known_offset_ = clock_->offset();
  const Duration seconds = (std::abs(by) + 500) / 1000;
  spdlog::warn(
      fmt::format("the wall clock was set {} {}; the time of this instance goes on as before",
                  duration_text(seconds * 1000), by > 0 ? "forward" : "back"));
  keep_clock();
  if (instance_) instance_->jobs.wall_clock_was_set();
}

void Broker::finish_turn() {
  if (pulse_ != nullptr) {
    pulse_->turn();
    ask_for_agent();
  }
  if (phase_ == Phase::over) return;
  if (read_only_) return finish_listing_turn();
  const Time now = reactor_.now();
  // Timers stand still while the machine sleeps, leases do not.
  if (is_lease_over()) end_with_lease();
  look_at_wall_clock();
  std::optional<Time> next;
  if (instance_) next = instance_->turn(now);
  // Kept while jobs run, even when nothing else happens: how long they have run must be known when
  // all of this is killed.
  const bool is_to_keep =
      journal_.has_changes() || (instance_ && !instance_->jobs.holding().empty());
  if (is_to_keep && now >= clock_kept_ + kClockInterval) keep_clock();
  if (auto committed = journal_.commit(); !committed) {
    // Nothing of this turn was acknowledged. To continue would promise what is not written.
    spdlog::critical(to_string(committed.error()));
    return refuse_turn(committed.error());
  }
  of_this_turn_.clear();
  tell_news();
  after_commit_.run();
  if (instance_) instance_->flush();
  if (parent_) parent_->flush();
  if (phase_ == Phase::draining || phase_ == Phase::flushing) drained();
  wake_.cancel();
  if (!after_commit_.empty()) next = reactor_.now();
  if (next) wake_ = reactor_.after(std::max<Duration>(0, *next - reactor_.now()), [] {});
}

// A failure is reported by the next commit.
void Broker::look_at_files() {
  if (read_only_) {
    if (journal_.room()) finish(kTryAgain);
    return;
  }
  std::error_code ignored;
  if (instance_ && !std::filesystem::exists(uri().substr(std::strlen("ipc://")), ignored)) {
    end_reason_ = "its runtime directory was removed";
    return finish(kTryAgain);
  }
  if (const auto looked = journal_.look(); !looked) spdlog::critical(to_string(looked.error()));
}

// Reports news of the journal. If all of the state directory is gone, its other folders are made
// again, too: jobs write there.
void Broker::tell_news() {
  const auto news = journal_.take_news();
  for (const auto& item : news) spdlog::critical(item);
  if (news.empty() || !instance_) return;
  make_output_directory(instance_->identity.state_dir);
}

}  // namespace holon::instance
