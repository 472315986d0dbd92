// The part of the Broker that lets agents in on other nodes.
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include "instance/assembly/endpoint.hpp"
#include "instance/broker/broker.hpp"
#include "launch/remote/invitation.hpp"
#include "launch/remote/vouch.hpp"
#include "transport/bounds.hpp"
#include "transport/codec/codec.hpp"
#include "transport/munge/proof.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

constexpr const char* kInvitedNodes = "guests";  // in the journal
// Prefix of a stranger's name; the stranger's key follows.
const std::string kStranger(transport::kStranger);

// Publishes addresses in a file; all may enter its folder, which is made anew at each start.
void publish_address(const std::string& file, const std::string& lines) {
  std::ofstream(file) << lines;
  chmod(file.c_str(), 0644);
}

}  // namespace

// Only an instance that has several nodes, or may get others, has keys, and thus a socket that
// others can reach. A child on one node listens there once others come.
Status Broker::open_to_nodes() {
  if (options_.socket < 0) return {};
  admission_.emplace(options_, config_.orphan_timeout);
  const bool is_alone = options_.start.grant && options_.hosts.size() == 1;
  return is_alone ? Status() : listen_to_nodes();
}

Status Broker::listen_to_nodes() {
  if (is_open_) return {};
  if (options_.socket < 0)
    return fail(Errc::unsupported, "it could not listen for other nodes before");
  if (config_.access.munge) {
    auto munge = transport::Munge::load(config_.access.munge_socket);
    if (!munge) return tl::unexpected(munge.error());
    munge_ = std::move(*munge);
  }
  transport::Admission admission;
  admission.own = options_.secrets.keys.server;
  admission.name_of = [this](const std::string& key) {
    const std::string known = admission_->name_of(key);
    const bool may_prove_itself = munge_ || options_.start.system;
    return known.empty() && may_prove_itself ? kStranger + key : known;
  };
  admission.on_refused = [this](const std::string& source, const std::string& why) {
    if (phase_ == Phase::over) return;  // this broker leaves; those who come back find nobody
    const std::string who = source.empty() ? "somebody" : source;
    if (const auto line = strangers_.note(who, why, reactor_.now()); !line.empty())
      spdlog::warn(line);
  };
  // From here on the socket is the server's, or closed.
  transport::UniqueFd socket(std::exchange(options_.socket, -1));
  const auto listening = server_->also_listen(std::move(socket), std::move(admission));
  if (!listening) return tl::unexpected(listening.error());
  is_open_ = true;
  const auto digits = std::string_view(*listening).substr(listening->rfind(':') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), port_);
  if (munge_) publish_address(options_.runtime_dir + "/address", keyed_addresses());
  return {};
}

// The addresses, for people to copy; they grant no right.
std::string Broker::keyed_addresses() const {
  std::string lines;
  for (const auto& uri : endpoint_addresses(config_.address, port_))
    lines += transport::keyed_uri({uri, options_.secrets.keys.server.public_key}) + "\n";
  return lines;
}

// A peer that proves nothing keeps its place only for a while.
void Broker::watch_stranger(transport::PeerId peer) {
  constexpr Duration kProofPatience = 10'000;
  const auto is_stranger = [this, peer] {
    const auto who = server_->principal_of(peer);
    return who.kind == transport::Principal::Kind::key && who.name.starts_with(kStranger);
  };
  if (!is_stranger()) return;
  unproved_[peer] = reactor_.after(kProofPatience, [this, peer, is_stranger] {
    if (is_stranger()) server_->dismiss(peer);
  });
}

// Reported once a user, or address, and minute, however many processes ask.
void Broker::bound_reached(const transport::Request& told) {
  const auto who = told.principal();
  const std::string source =
      who.kind == transport::Principal::Kind::unknown ? who.name : fmt::format("user {}", who.uid);
  const auto line = strangers_.note(source, told.payload(), reactor_.now());
  if (line.empty()) return;
  spdlog::warn(line);
  if (instance_) instance_->audit.refused(told, {Errc::busy, told.payload(), {}});
}

void Broker::answer_proof(const transport::Request& request) {
  const auto who = proved(request);
  if (!who) {
    auto why = who.error();
    why.what = "user.prove: " + why.what;
    return strangers_.refuse(request, why, reactor_.now());
  }
  take_proof(request, *who);
}

// Accepts a proof, unless the user has as many connections as one may have.
void Broker::take_proof(const transport::Request& request, const transport::Principal& who) {
  server_->prove(request.peer(), who);
  if (server_->principal_of(request.peer()) != who)
    return request.fail(
        {Errc::busy,
         fmt::format("user {} has as many connections as one user may have", who.uid),
         {}});
  unproved_.erase(request.peer());
  request.reply(transport::pack(msg::Empty{}));
}

// Handles an agent's word about the user of a connection from its node.
void Broker::answer_vouch(const transport::Request& request) {
  const auto who = vouched(request);
  if (!who) {
    auto why = who.error();
    why.what = "agent.vouch: " + why.what;
    return strangers_.refuse(request, why, reactor_.now());
  }
  take_proof(request, *who);
}

Result<transport::Principal> Broker::vouched(const transport::Request& request) const {
  using Kind = transport::Principal::Kind;
  const auto who = request.principal();
  if (!options_.start.system || who.kind != Kind::key || !who.name.starts_with(kStranger) ||
      !request.path().empty())
    return fail(Errc::denied, "is for connections of users that nobody knows yet");
  const auto ask = transport::unpack<launch::msg::VouchRequest>(request.payload());
  if (!ask) return tl::unexpected(ask.error());
  const auto& secrets = options_.secrets.agents;
  if (ask->rank == 0 || ask->rank >= secrets.size() ||
      !transport::is_same_secret(ask->secret, secrets[ask->rank]))
    return fail(Errc::denied, fmt::format("this is not the agent of rank {}", ask->rank));
  // The former root of that node still has the agent's secret.
  if (instance_ && instance_->leaving_nodes.is_gone(ask->rank))
    return fail(Errc::denied, fmt::format("the node of rank {} has left", ask->rank));
  return transport::Principal{Kind::munge, ask->uid, ask->gid, 0, name_of_agent(ask->rank)};
}

// A credential is good once, and only for the connection whose keys it names.
Result<transport::Principal> Broker::proved(const transport::Request& request) {
  constexpr std::size_t kLongestCredential = 16 << 10;
  using Kind = transport::Principal::Kind;
  const auto who = request.principal();
  if (!munge_ || who.kind != Kind::key || !who.name.starts_with(kStranger) ||
      !request.path().empty())
    return fail(Errc::denied, "is for clients over tcp that nobody knows yet");
  const auto ask = transport::unpack<transport::ProveRequest>(request.payload());
  if (!ask) return tl::unexpected(ask.error());
  if (ask->credential.empty() || ask->credential.size() > kLongestCredential ||
      ask->credential.find('\0') != std::string::npos)
    return fail(Errc::denied, "this is no credential");
  auto proof = munge_->decode(ask->credential);
  if (!proof) return tl::unexpected(proof.error());
  const std::string text = transport::text_to_prove(options_.secrets.keys.server.public_key,
                                                    who.name.substr(kStranger.size()));
  if (proof->text != text)
    return fail(Errc::denied,
                fmt::format("the credential, of user {}, is for another connection", proof->uid));
  return transport::Principal{Kind::munge, proof->uid, proof->gid, 0, std::move(proof->address)};
}

// Invited nodes of an earlier run are gone with it: their keys were for that run's broker.
Status Broker::recall_invited_nodes() {
  if (!admission_) return {};
  if (fresh_) {
    keep_invited_nodes();
    return {};
  }
  const auto kept = journal_.meta(kInvitedNodes);
  if (!kept) return tl::unexpected(kept.error());
  auto guests = *kept ? parse_invited_nodes(**kept) : InvitedNodes();
  if (!guests) {
    spdlog::error("invitations, and the nodes that came by them, are forgotten: " +
                  to_string(guests.error()));
    guests = InvitedNodes();
  }
  for (const auto& node : guests->nodes) {
    options_.hosts.push_back(node.host);
    options_.secrets.agents.push_back(node.secret);
  }
  const bool listens = !guests->nodes.empty();
  admission_->restore(std::move(*guests));
  return listens ? listen_to_nodes() : Status();
}

// Nodes that have come to a child have an agent each, and so have its own then.
void Broker::describe_agents(Identity& identity, const ResourceSource& source,
                             const resource::ResourceGraph& graph) const {
  const auto& secrets = options_.secrets.agents;
  const bool has_got_nodes =
      options_.start.grant && admission_ && !admission_->guests().nodes.empty();
  identity.agent_secrets = secrets;
  identity.agents = has_got_nodes ? ranks_of_nodes(graph) : agents_of(source, secrets.size());
  identity.granted = granted_ranks();
}

// A later broker knows the nodes from the places of their agents.
std::vector<std::uint32_t> Broker::granted_ranks() const {
  std::vector<std::uint32_t> ranks;
  if (!options_.start.grant || !admission_) return ranks;
  const auto first = options_.hosts.size() - admission_->guests().nodes.size();
  for (auto rank = static_cast<std::uint32_t>(first); rank < options_.hosts.size(); ++rank)
    if (!admission_->secret_of(rank).empty()) ranks.push_back(rank);
  return ranks;
}

void Broker::serve_granted_nodes() {
  if (!options_.start.grant || !admission_) return;
  GrantedNodes& nodes = instance_->granted_nodes;
  nodes.make_place = [this](const std::string& host) { return place_for_granted(host); };
  nodes.give_up_place = [this](std::uint32_t rank) {
    options_.secrets.agents.at(rank).clear();
    admission_->give_up_place(rank);
    keep_invited_nodes();
  };
}

Result<GrantedNodes::Place> Broker::place_for_granted(const std::string& host) {
  if (auto listens = listen_to_nodes(); !listens) return tl::unexpected(listens.error());
  const auto rank = admission_->make_place(host);
  if (!rank) return tl::unexpected(rank.error());
  if (*rank == options_.hosts.size()) {
    options_.hosts.push_back(host);
    options_.secrets.agents.emplace_back();
  }
  options_.secrets.agents.at(*rank) = admission_->secret_of(*rank);
  keep_invited_nodes();
  return GrantedNodes::Place{*rank, admission_->secret_of(*rank)};
}

void Broker::keep_invited_nodes() {
  journal_.set_meta(kInvitedNodes, write_invited_nodes(admission_->guests()));
}

Result<std::string> Broker::invite(const msg::InviteRequest& ask) {
  constexpr Duration kLongestLife = 366LL * 24 * 3600 * 1000;
  if (!admission_ || options_.start.grant || options_.hosts.empty())
    return fail(Errc::unsupported,
                options_.start.grant
                    ? "a child instance gets its nodes from the instance above"
                    : "this instance has one node and listens at its socket only; `holon start "
                      "--joinable` makes one that others can join");
  if (ask.lifetime <= 0 || ask.lifetime > kLongestLife)
    return fail(Errc::invalid_argument, "more than nothing and at most 366 days are accepted",
                "lifetime");
  if (ask.uses == 0) return fail(Errc::invalid_argument, "at least one node is to come", "uses");
  auto key = admission_->invite(clock_->wall(reactor_.now()) + ask.lifetime, ask.uses);
  if (!key) return tl::unexpected(key.error());
  keep_invited_nodes();
  return launch::write_invitation({endpoint_addresses(config_.address, port_),
                                   options_.secrets.keys.server.public_key, std::move(*key)});
}

// Without hosts no other machine can reach the instance: all its processes are here.
bool Broker::is_one_machine() const {
  if (options_.hosts.empty()) return true;
  const auto invitation = launch::parse_invitation(options_.secrets.invitation);
  return invitation &&
         std::all_of(invitation->addresses.begin(), invitation->addresses.end(),
                     [](const std::string& address) { return address.starts_with("tcp://127."); });
}

// Core numbers are per node, and a child has an agent only where its parent has started one.
Status Broker::can_use(const ResourceSource& source, std::int64_t nodes) const {
  const auto agents = static_cast<std::int64_t>(options_.secrets.agents.size());
  if (!options_.start.grant || !source.bind || nodes <= agents) return {};
  return fail(
      Errc::unsupported,
      fmt::format("it has {} nodes, and its parent has started {} agents for it", nodes, agents));
}

// Answers even before there are resources: these are put together from the nodes that join.
void Broker::answer_join(const transport::Request& request) {
  if (!admission_ || !is_joiner(request.principal()) || !request.path().empty())
    return strangers_.refuse(
        request, {Errc::denied, "agent.join is taken from who has an invitation only", {}},
        reactor_.now());
  const auto ask = transport::unpack<launch::msg::JoinRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto place = place_for(request, *ask);
  if (!place) return strangers_.refuse(request, place.error(), reactor_.now());
  after_commit_.add([request, place = *place] { request.reply(transport::pack(place)); });
}

Result<launch::msg::JoinReply> Broker::place_for(const transport::Request& request,
                                                 const launch::msg::JoinRequest& ask) {
  // An agent without a starter would run everybody's tasks as its own user.
  if (options_.start.system != ask.for_users)
    return fail(Errc::denied, ask.for_users
                                  ? "agent.join: this instance is of one user; without --system"
                                  : "agent.join: this instance serves several users; root lets a "
                                    "node join it by holon join --system");
  if (request.principal().name != kJoiner) return place_for_invited(request, ask);
  return admission_->place_for(ask, [this](std::uint32_t rank) {
    return gathering_ ? gathering_->has(rank) : instance_ && instance_->agents.is_connected(rank);
  });
}

Result<launch::msg::JoinReply> Broker::place_for_invited(const transport::Request& request,
                                                         const launch::msg::JoinRequest& ask) {
  if (!instance_ || phase_ != Phase::up)
    return fail(Errc::busy, "the instance has not begun yet, or is about to end");
  // A later broker would know neither the node nor that the invitation was used.
  if (read_only_) return fail(Errc::busy, "its journal cannot be written: " + read_only_->what);
  const std::size_t before = admission_->guests().nodes.size();
  auto place = admission_->place_for_invited(
      request.principal(), ask,
      [this](std::uint32_t rank) {
        return instance_->agents.is_connected(rank) && !instance_->leaving_nodes.is_sent_home(rank);
      },
      clock_->wall(reactor_.now()));
  keep_invited_nodes();
  if (place) instance_->leaving_nodes.expect_back(place->rank, clock_->wall(reactor_.now()));
  if (admission_->guests().nodes.size() == before) return place;
  const InvitedNodes::Node& guest = admission_->guests().nodes.back();
  options_.hosts.push_back(guest.host);
  options_.secrets.agents.push_back(guest.secret);
  instance_->joining_nodes.expect(guest.host);
  instance_->agents.expect(guest.secret);
  return place;
}

// Ends the instance, but not in the middle of a turn.
void Broker::lose_node(std::uint32_t rank) {
  if (!options_.start.exit_on_loss) return;
  const std::string name =
      rank < options_.hosts.size() ? options_.hosts[rank] : fmt::format("agent {}", rank);
  loss_timer_ = reactor_.after(0, [this, name] {
    spdlog::warn(name + " is lost, and the instance ends for that (--exit-on-loss)");
    end_unasked(name + " is lost (--exit-on-loss)");
  });
}

// At the end the supervisor starts no other agent unasked.
void Broker::ask_for_agent() {
  if (pulse_->agent_given_up()) give_up_agent();
  pulse_->ask_for_agent(phase_ == Phase::draining && instance_->needs_agent_to_end() &&
                        !instance_->agents.beside_broker().connected());
}

// While the instance ends: true when connected agents have nothing left to report, and the others
// have had some time. Tasks on nodes without a connection, if any, end for want of a broker. The
// supervisor restarts the agent beside it, unless the supervisor is gone or has given up: then the
// agent may have ended, with its tasks, before the broker heard of it.
bool Broker::only_lost_run() const {
  if (!waited_for_lost_ || options_.hosts.empty()) return false;
  for (const JobId id : instance_->jobs.holding())
    for (const Part& part : instance_->jobs.find(id)->life.parts)
      if (next_step(instance_->jobs.find(id)->life, part.rank) != Step::none &&
          ((part.rank == 0 && !nobody_starts_agents()) ||
           instance_->agents.is_connected(part.rank)))
        return false;
  return true;
}

}  // namespace holon::instance
