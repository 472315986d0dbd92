// What planted faults do to messages on their way (plants.hpp).
#include "instance/grants/grant_codec.hpp"
#include "launch/messages.hpp"
#include "msg/grant.hpp"
#include "msg/instance.hpp"
#include "msg/provision.hpp"
#include "msg/users.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/envelope.hpp"
#include "world/machine.hpp"
#include "world/seams/network.hpp"
#include "world/seams/process.hpp"

namespace holon::world {
namespace {

namespace lm = launch::msg;
using transport::Envelope;
using transport::Kind;

// A request made by a plant has a number that no session reaches.
constexpr std::uint64_t kForged = std::uint64_t{1} << 40;

constexpr Duration kLongerThanAnyWorld = 3'600'000;  // ms

bool is_over(const msg::JobRecord& record) {
  return record.state == "INACTIVE";
}

bool is_fence(const Envelope& message) {
  const auto told = transport::unpack<msg::GrantMessage>(message.payload);
  const auto what = instance::parse_message(told->message, 0);
  return what && std::holds_alternative<holdings::Fenced>(*what);
}

// An extend of something that may be fenced, with twice that time; nullopt: it is another message.
std::optional<msg::GrantMessage> fenced_later(const Envelope& message) {
  auto told = *transport::unpack<msg::GrantMessage>(message.payload);
  auto what = instance::parse_message(told.message, 0);
  auto* const extend = what ? std::get_if<holdings::Extend>(&*what) : nullptr;
  if (extend == nullptr || extend->fence == 0) return std::nullopt;
  extend->fence *= 2;
  told.message = instance::text_of(*what, 0);
  return told;
}

// False: it is about no loan.
bool make_loan_longer(std::string& payload) {
  constexpr Duration kLonger = 10'000;
  auto told = *transport::unpack<msg::GrantMessage>(payload);
  auto what = *instance::parse_message(told.message, 0);
  auto* const release = std::get_if<holdings::Release>(&what);
  if (release == nullptr || release->back_at == kTimeMax) return false;
  release->back_at += kLonger;
  told.message = instance::text_of(what, 0);
  payload = transport::pack(told);
  return true;
}

}  // namespace

// The content of a message, for the history.
std::string Wires::summary(const transport::Envelope& message) {
  std::string text;
  if (message.topic == "agent.report") {
    const auto report = *transport::unpack<lm::Report>(message.payload);
    for (const auto& started : report.started) text += fmt::format(" +{}", started.job);
    for (const auto& finished : report.finished)
      text += fmt::format(" -{} {} {} {}", finished.job, finished.reason, finished.exit_code,
                          finished.what);
  } else if (message.topic == "agent.start") {
    const auto request = *transport::unpack<lm::StartRequest>(message.payload);
    for (const auto& start : request.jobs)
      text += fmt::format(" {}{}", start.job, start.attempt > 0 ? " again" : "");
  } else if (message.topic == "agent.kill") {
    const auto request = *transport::unpack<lm::KillRequest>(message.payload);
    for (const auto job : request.jobs) text += fmt::format(" {}", job);
  } else if (message.topic == "agent.hello") {
    const auto hello = *transport::unpack<lm::Hello>(message.payload);
    for (const auto& started : hello.running) text += fmt::format(" +{}", started.job);
    for (const auto job : hello.waiting) text += fmt::format(" ?{}", job);
    for (const auto& finished : hello.finished) text += fmt::format(" -{}", finished.job);
  } else if (message.topic == "record") {
    const auto records = *transport::unpack<msg::Records>(message.payload);
    for (const auto& record : records.jobs)
      text += fmt::format(" {} {} {}", record.path, record.state, record.result);
  } else if (message.topic == "grant") {
    const auto told = transport::unpack<msg::GrantMessage>(message.payload);
    if (const auto what = instance::parse_message(told->message, 0))
      text = fmt::format(" {}", instance::name_of(*what));
  } else if (message.topic == "hello") {
    text = fmt::format(" epoch {}", transport::unpack<msg::Hello>(message.payload)->epoch);
  } else if (message.topic == "cancel") {
    const auto request = *transport::unpack<msg::CancelRequest>(message.payload);
    for (const auto job : request.ids) text += fmt::format(" {}", job);
  }
  return text;
}

bool Wires::tap(const std::shared_ptr<Link>& link, bool up, std::string& bytes) {
  const auto message = transport::decode(bytes);
  if (!message) return true;
  if (message->kind == Kind::request && message->id != 0) {
    const Process* const to = up ? link->server : link->client;
    machine_.history.note("{} asks {}: {}{}{}", (up ? link->client : link->server)->name(),
                          to == nullptr ? "nobody" : to->name(), message->topic,
                          message->path.empty() ? "" : " for " + message->path, summary(*message));
    (up ? link->asked : link->asked_below)[message->id] = message->topic;
    return tap_request(link, up, bytes);
  }
  if (!up && (message->kind == Kind::response || message->kind == Kind::error))
    tap_answer(link, message->id, bytes);
  if (up && message->kind == Kind::error)
    if (const auto asked = link->asked_below.extract(message->id); !asked.empty())
      note_refusal(*link->client, asked.mapped(), *message);
  return true;
}

bool Wires::tap_request(const std::shared_ptr<Link>& link, bool up, std::string& bytes) {
  auto message = *transport::decode(bytes);
  const auto rewrite = [&](const auto& content) {
    machine_.history.note("PLANT: {} is changed", message.topic);
    message.payload = transport::pack(content);
    bytes = transport::encode(message);
    return true;
  };
  if (message.topic == "agent.start" && !up && link->client != nullptr) {
    const auto request = *transport::unpack<lm::StartRequest>(message.payload);
    for (const auto& start : request.jobs)
      machine_.tasks.announce(link->client->pid(), start.path, start.attempt);
  }
  // The message is emptied, so that the other side answers as if all were well.
  if (machine_.planted(Plant::lost_finish) && message.topic == "agent.report") {
    auto report = *transport::unpack<lm::Report>(message.payload);
    if (!report.finished.empty() && machine_.dice.one_in(5)) {
      report.finished.clear();
      return rewrite(report);
    }
  }
  if (machine_.planted(Plant::past_attempt) && message.topic == "agent.report")
    tell_past_end(link, *transport::unpack<lm::Report>(message.payload));
  if (machine_.planted(Plant::wrong_index) && message.topic == "agent.start") {
    auto request = *transport::unpack<lm::StartRequest>(message.payload);
    for (auto& start : request.jobs)
      if (const auto index = start.env.find("HOLON_ARRAY_INDEX");
          index != start.env.end() && machine_.dice.one_in(5)) {
        index->second = std::to_string(std::atoi(index->second.c_str()) + 1);
        return rewrite(request);
      }
  }
  if (machine_.planted(Plant::early_whole) && message.topic == "agent.report")
    report_for_others(link, message.payload);
  if (machine_.planted(Plant::early_child_end) && message.topic == "ending") report_child(*link);
  if (machine_.planted(Plant::lost_record) && message.topic == "record" && machine_.dice.one_in(3))
    return rewrite(msg::Records{});
  if (machine_.planted(Plant::changed_record) && message.topic == "record") {
    auto records = *transport::unpack<msg::Records>(message.payload);
    for (auto& record : records.jobs)
      if (is_over(record) && record.result == "COMPLETED" && machine_.dice.one_in(3)) {
        record.result = "FAILED";
        return rewrite(records);
      }
  }
  if (machine_.planted(Plant::stale_epoch) && message.topic == "hello") {
    auto hello = *transport::unpack<msg::Hello>(message.payload);
    if (hello.epoch != 0) {
      hello.epoch = 0;
      return rewrite(hello);
    }
  }
  if (machine_.planted(Plant::forgotten_orphans) && message.topic == "agent.hello") {
    auto hello = *transport::unpack<lm::Hello>(message.payload);
    if (!hello.swept) {
      hello.swept = true;
      return rewrite(hello);
    }
  }
  if (is_of_far_agent(*link) && message.topic == "agent.hello") {
    auto hello = *transport::unpack<lm::Hello>(message.payload);
    if (change_hello_of_far_agent(hello)) return rewrite(hello);
  }
  if (machine_.planted(Plant::lost_limit) && message.topic == "agent.limit")
    return rewrite(lm::LimitRequest{});
  if (machine_.planted(Plant::lost_stop) && message.topic == "agent.suspend" &&
      machine_.dice.one_in(2))
    return rewrite(lm::SuspendRequest{});
  if (machine_.planted(Plant::told_twice) && message.topic == "agent.checkpoint") {
    const auto ask = *transport::unpack<lm::CheckpointRequest>(message.payload);
    machine_.history.note("PLANT: job {} is told once more", ask.job);
    carry(link, up,
          transport::encode({Kind::request, kForged, "agent.signal", "",
                             transport::pack(lm::SignalRequest{{ask.job}, ask.signal})}));
  }
  if (machine_.planted(Plant::early_leave) && message.topic == "node.leave" && up) {
    machine_.history.note("PLANT: the node is said to have left");
    carry(link, false,
          transport::encode({Kind::response, message.id, "", "", transport::pack(msg::Empty{})}));
    return true;
  }
  if (machine_.planted(Plant::kept_node) && message.topic == "provision.add" && up) {
    auto ask = *transport::unpack<msg::ProvisionRequest>(message.payload);
    ask.idle = kLongerThanAnyWorld;
    return rewrite(ask);
  }
  if (machine_.planted(Plant::lost_own_submit) && message.topic == "submit" && !up &&
      machine_.dice.one_in(4)) {
    machine_.history.note("PLANT: a submission is thrown away");
    msg::SubmitReply reply;
    reply.first_id = kForged + message.id;
    reply.count = 1;
    carry(link, true,
          transport::encode({Kind::response, message.id, "", "", transport::pack(reply)}));
    return false;
  }
  if (message.topic == "grant") tap_grant(link, up, message.payload);
  if (message.topic == "grant" && machine_.planted(Plant::long_loan) &&
      make_loan_longer(message.payload)) {
    machine_.history.note("PLANT: {} lends for longer", link->client->name());
    bytes = transport::encode(message);
  }
  if (message.topic == "grant" && machine_.planted(Plant::ignored_fence) && is_fence(message)) {
    machine_.history.note("PLANT: {} hears of no fence", link->client->name());
    return false;
  }
  if (message.topic == "grant" && machine_.planted(Plant::late_fence))
    if (const auto later = fenced_later(message)) return rewrite(*later);
  const bool repeats_starts =
      machine_.planted(Plant::start_again) || machine_.planted(Plant::start_after_heal);
  if (repeats_starts && message.topic == "agent.start" && !up && link->client != nullptr)
    last_start_[link->client->name()] = {link->client->pid(), message.payload};
  return true;
}

bool Wires::is_of_far_agent(const Link& link) {
  return link.client != nullptr && link.server != nullptr &&
         link.client->host() != link.server->host() && link.key_name.starts_with("agent ");
}

bool Wires::change_hello_of_far_agent(lm::Hello& hello) {
  if (machine_.planted(Plant::unswept_node) && !hello.swept) {
    hello.swept = true;
    return true;
  }
  if (machine_.planted(Plant::forgotten_tasks) && !hello.running.empty()) {
    hello.running.clear();
    return true;
  }
  if (machine_.planted(Plant::wrong_rank) && machine_.dice.one_in(4)) {
    const std::uint32_t other = hello.rank == 1 ? 2 : 1;
    const std::string is = "agent " + std::to_string(hello.rank);
    hello.secret.replace(0, is.size(), "agent " + std::to_string(other));
    hello.rank = other;
    return true;
  }
  return false;
}

// A plant: the broker acts as if it did not check which attempt a report is about.
void Wires::tell_past_end(const std::shared_ptr<Link>& link, const lm::Report& report) {
  for (const auto& finished : report.finished) last_end_[{link->uri, finished.job}] = finished;
  for (const auto& started : report.started) {
    const auto past = last_end_.find({link->uri, started.job});
    if (past == last_end_.end() || past->second.attempt >= started.attempt) continue;
    lm::Report again;
    again.finished = {past->second};
    again.finished.front().attempt = started.attempt;
    again.clock = report.clock;
    machine_.history.note("PLANT: the end of an attempt of job {} is told again", started.job);
    machine_.timeline.after(kMs, [this, link, again] {
      carry(
          link, true,
          transport::encode({Kind::request, kForged, "agent.report", "", transport::pack(again)}));
    });
  }
}

void Wires::report_for_others(const std::shared_ptr<Link>& link, const std::string& payload) {
  auto report = *transport::unpack<lm::Report>(payload);
  report.started.clear();
  if (report.finished.empty()) return;
  for (const auto& other : live()) {
    const bool is_agent = other->client != nullptr && other->client->name().starts_with("agent ");
    if (other == link || other->uri != link->uri || !is_agent) continue;
    machine_.history.note("PLANT: {} reports it, too", other->client->name());
    carry(other, true,
          transport::encode({Kind::request, kForged, "agent.report", "", transport::pack(report)}));
  }
}

void Wires::report_child(const Link& child) {
  const std::string& name = child.client->name();  // "broker /3/7"
  if (!name.starts_with("broker ")) return;        // an agent passes it on
  lm::Report report;
  report.finished.emplace_back();
  report.finished.back().job = std::strtoull(name.c_str() + name.rfind('/') + 1, nullptr, 10);
  report.finished.back().reason = "exit";
  for (const auto& other : live()) {
    const bool is_agent = other->client != nullptr && other->client->name().starts_with("agent ");
    if (other->server != child.server || !is_agent) continue;
    machine_.history.note("PLANT: {} reports the end of the child {}", other->client->name(), name);
    carry(other, true,
          transport::encode({Kind::request, kForged, "agent.report", "", transport::pack(report)}));
  }
}

// A plant is told between a child and its parent, where no agent passes it on.
void Wires::tap_grant(const std::shared_ptr<Link>& link, bool up, const std::string& payload) {
  const bool releases = machine_.planted(Plant::early_release);
  const bool extends = machine_.planted(Plant::stale_extend);
  if (!(releases || extends) || link->client == nullptr ||
      !link->client->name().starts_with("broker "))
    return;
  const auto told = *transport::unpack<msg::GrantMessage>(payload);
  const auto message = *instance::parse_message(told.message, 0);
  Lent& lent = lent_[link->client->name()];
  if (const auto* extend = std::get_if<holdings::Extend>(&message)) {
    lent.extend = *extend;
    lent.jgf = told.jgf;
  }
  if (const auto* release = std::get_if<holdings::Release>(&message)) lent.release = *release;
  if (const auto* taken = std::get_if<holdings::Taken>(&message);
      releases && taken != nullptr && taken->op == lent.extend.op && machine_.dice.one_in(2))
    tell_of_grant(link, up, holdings::Release{kForged, lent.extend.from + 1, lent.extend.units},
                  "");
  if (const auto* ack = std::get_if<holdings::Ack>(&message);
      extends && ack != nullptr && ack->op == lent.release.op && !lent.jgf.empty() &&
      machine_.dice.one_in(2)) {
    holdings::Extend again = lent.extend;
    again.op = kForged;
    again.from = lent.release.from + 1;
    again.until = kTimeMax;
    tell_of_grant(link, up, again, lent.jgf);
  }
}

void Wires::tell_of_grant(const std::shared_ptr<Link>& link, bool up,
                          const holdings::Message& message, const std::string& jgf) {
  machine_.history.note("PLANT: {} is told of a grant", link->client->name());
  const msg::GrantMessage told{instance::text_of(message, 0), jgf};
  machine_.timeline.after(300 * kMs, [this, link, up, payload = transport::pack(told)] {
    carry(link, up, transport::encode({Kind::request, kForged, "grant", "", payload}));
  });
}

// Notes an exception in a handler, which becomes an answer that says so.
void Wires::note_refusal(const Process& who, const std::string& topic,
                         const transport::Envelope& message) {
  const auto error = transport::decode_error(message.payload);
  machine_.history.note("{} answers {}: {}", who.name(), topic, error.what);
  if (error.what.starts_with("internal error"))
    machine_.history.violation("{} failed at {}: {}", who.name(), topic, error.what);
}

void Wires::tap_answer(const std::shared_ptr<Link>& link, std::uint64_t id, std::string& bytes) {
  const auto asked = link->asked.extract(id);
  if (asked.empty()) return;
  auto message = *transport::decode(bytes);
  if (message.kind != Kind::response) {
    note_refusal(*link->server, asked.mapped(), message);
    return;
  }
  if (machine_.planted(Plant::long_lease) && asked.mapped() == "hello") {
    auto grant = *transport::unpack<msg::Grant>(message.payload);
    if (grant.time_left > 0) {
      grant.time_left *= 3;
      message.payload = transport::pack(grant);
      bytes = transport::encode(message);
      machine_.history.note("PLANT: the lease is longer");
    }
  }
  if (machine_.planted(Plant::ignored_fence) && asked.mapped() == "grant.pulse") {
    message.payload = transport::pack(msg::GrantPulseReply{true, -1});
    bytes = transport::encode(message);
  }
  if (machine_.planted(Plant::stale_listing) && asked.mapped() == "jobs") {
    const bool is_stale = machine_.dice.one_in(2) && last_listing_.contains(link->uri);
    if (!is_stale) last_listing_[link->uri] = message.payload;
    message.payload = last_listing_[link->uri];
    bytes = transport::encode(message);
    if (is_stale) machine_.history.note("PLANT: a listing is told again");
  }
  if (machine_.planted(Plant::wrong_own) && asked.mapped() == "user.instance") {
    auto told = *transport::unpack<msg::OwnInstanceReply>(message.payload);
    const std::string last = std::exchange(last_own_, told.path);
    if (!last.empty() && last != told.path && machine_.dice.one_in(2)) {
      machine_.history.note("PLANT: {} is told in place of {}", last, told.path);
      told.path = last;
      message.payload = transport::pack(told);
      bytes = transport::encode(message);
    }
  }
  if (asked.mapped() == "agent.hello") repeat_start(link, message.payload);
}

void Wires::repeat_start(const std::shared_ptr<Link>& link, const std::string& answer) {
  const bool to_next = machine_.planted(Plant::start_again);
  const bool to_same = machine_.planted(Plant::start_after_heal) && is_of_far_agent(*link);
  if (!to_next && !to_same) return;
  const auto welcome = transport::unpack<lm::Welcome>(answer);
  if (!welcome || !welcome->accepted || !welcome->orphans.empty() || link->client == nullptr)
    return;
  const auto last = last_start_.find(link->client->name());
  if (last == last_start_.end()) return;
  const bool is_same = last->second.first == link->client->pid();
  if (is_same ? !to_same : !to_next) return;
  machine_.history.note("PLANT: a start is sent again");
  carry(link, false,
        transport::encode({Kind::request, kForged, "agent.start", "", last->second.second}));
}

}  // namespace holon::world
