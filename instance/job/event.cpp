// Names and JSON contexts of events (RFC 18, RFC 21). The frequent ones are written with fmt: a job
// that runs `true` has ten events, and building a JSON tree for each would cost as much as the rest
// of the job's way through the broker.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "instance/job/job.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

// In the order of EventBody's alternatives.
constexpr std::array kNames = {"submit",
                               "validate",
                               "invalidate",
                               "depend",
                               "priority",
                               "urgency",
                               "alloc",
                               "resource-update",
                               "start",
                               "instance",
                               "exception",
                               "finish",
                               "release",
                               "free",
                               "clean",
                               "dependency-add",
                               "dependency-remove",
                               "rank-start",
                               "rank-finish",
                               "requeue",
                               "jobspec-update",
                               "suspend",
                               "resume",
                               "array-start",
                               "array-finish",
                               "preempt",
                               "array-extend",
                               "array-close",
                               "grant-extend",
                               "grant-recall",
                               "grant-return",
                               "grant-leave",
                               "loan",
                               "loan-return"};
static_assert(kNames.size() == std::variant_size_v<EventBody>);

std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string list_of(const std::vector<std::uint32_t>& ranks) {
  std::string list;
  for (const auto rank : ranks) list += fmt::format("{}{}", list.empty() ? "" : ",", rank);
  return list;
}

std::string list_of(const std::vector<event::Process>& processes) {
  std::string list;
  for (const auto& p : processes)
    list += fmt::format("{}[{},{}]", list.empty() ? "" : ",", p.pid, p.start);
  return list;
}

struct Context {
  std::string operator()(const event::Submit& e) const {
    const std::string limit =
        e.default_limit == 0 ? "" : fmt::format(R"("default_limit_ms":{},)", e.default_limit);
    return fmt::format(R"({{{}"urgency":{},"user":{},"version":1}})", limit, e.urgency,
                       quoted(e.user));
  }
  std::string operator()(const event::Invalidate& e) const {
    return fmt::format(R"({{"note":{}}})", quoted(e.reason));
  }
  std::string operator()(const event::Priority& e) const {
    return fmt::format(R"({{"priority":{}}})", e.priority);
  }
  std::string operator()(const event::Urgency& e) const {
    return fmt::format(R"({{"urgency":{}}})", e.urgency);
  }
  std::string operator()(const event::Alloc& e) const {
    const std::string environment =
        e.environment.empty() ? "" : fmt::format(R"("environment":{},)", quoted(e.environment));
    const std::string ranks =
        e.ranks == event::Alloc().ranks ? "" : fmt::format(R"("ranks":[{}],)", list_of(e.ranks));
    const char* const leads = e.leads ? R"("leads":true,)" : "";
    return fmt::format(
        R"({{"annotations":{{"selection":{}}},{}{}{}"expiration_ms":{},"place":{{"nodelist":{},"nodes":{},"cores":{},"gpus":{}}}}})",
        quoted(e.selection), environment, ranks, leads, e.expiration, quoted(e.place.nodelist),
        e.place.nodes, e.place.cores, e.place.gpus);
  }
  std::string operator()(const event::ResourceUpdate& e) const {
    return fmt::format(R"({{"expiration_ms":{}}})", e.expiration);
  }
  std::string operator()(const event::Start& e) const {
    const std::string rank = e.rank == 0 ? "" : fmt::format(R"("rank":{},)", e.rank);
    return fmt::format(R"({{{}"processes":[{}]}})", rank, list_of(e.processes));
  }
  std::string operator()(const event::RankStart& e) const {
    return fmt::format(R"({{"rank":{},"processes":[{}]}})", e.rank, list_of(e.processes));
  }
  std::string operator()(const event::RankFinish& e) const {
    return fmt::format(R"({{"rank":{},"reason":{},"status":{},"cpu_ms":{},"max_rss_kb":{}}})",
                       e.rank, quoted(e.reason), e.how.status, e.how.cpu_ms, e.how.max_rss_kb);
  }
  std::string operator()(const event::Instance& e) const {
    return fmt::format(R"({{"uri":{}}})", quoted(e.uri));
  }
  std::string operator()(const event::Exception& e) const {
    return fmt::format(R"({{"type":{},"severity":{},"note":{}}})", quoted(e.type), e.severity,
                       quoted(e.note));
  }
  std::string operator()(const event::Finish& e) const {
    return fmt::format(R"({{"status":{},"cpu_ms":{},"max_rss_kb":{}}})", e.status, e.cpu_ms,
                       e.max_rss_kb);
  }
  std::string operator()(const event::Release&) const { return R"({"ranks":"all","final":true})"; }
  std::string operator()(const event::DependencyAdd& e) const {
    return fmt::format(R"({{"description":{}}})", quoted(e.description));
  }
  std::string operator()(const event::DependencyRemove& e) const {
    return fmt::format(R"({{"description":{}}})", quoted(e.description));
  }
  std::string operator()(const event::Requeue& e) const {
    return fmt::format(R"({{"retry":{},"begin_ms":{},"note":{}{}}})", e.retry, e.begin,
                       quoted(e.note), e.preempted ? R"(,"preempted":true)" : "");
  }
  std::string operator()(const event::Preempt& e) const {
    return fmt::format(R"({{"by":{},"mode":"{}","end_ms":{}}})", e.by,
                       e.requeue ? "requeue" : "cancel", e.end);
  }
  // The changed attributes of the jobspec, named as Flux names them.
  std::string operator()(const event::JobspecUpdate& e) const {
    std::string members;
    const auto add = [&members](const char* key, const std::string& value) {
      members += fmt::format(R"({}"{}":{})", members.empty() ? "" : ",", key, value);
    };
    if (e.limit)
      add("attributes.system.duration", fmt::format("{}.{:03}", *e.limit / 1000, *e.limit % 1000));
    if (e.name) add("attributes.system.job.name", quoted(*e.name));
    if (e.queue) add("attributes.system.queue", quoted(*e.queue));
    if (e.nodes) add("nodes", std::to_string(*e.nodes));
    if (e.slots) add("slots", std::to_string(*e.slots));
    if (e.elastic) add("elastic", std::to_string(*e.elastic));
    return "{" + members + "}";
  }
  std::string operator()(const event::ArrayFinish& e) const {
    return (*this)(event::Finish{e.status, e.cpu_ms, e.max_rss_kb});
  }
  std::string operator()(const event::ArrayExtend& e) const {
    return fmt::format(R"({{"tasks":{}}})", e.tasks);
  }
  std::string operator()(const event::GrantExtend& e) const {
    const std::string ranks =
        e.ranks.empty() ? "" : fmt::format(R"(,"ranks":[{}])", list_of(e.ranks));
    return fmt::format(R"({{"grant":{},"cores":{},"gpus":{},"until_ms":{}{}}})", e.grant, e.cores,
                       e.gpus, e.until, ranks);
  }
  std::string operator()(const event::GrantLeave& e) const {
    return fmt::format(R"({{"grant":{}}})", e.grant);
  }
  std::string operator()(const event::GrantRecall& e) const {
    return fmt::format(R"({{"grant":{},"by_ms":{},"mode":{},"note":{}}})", e.grant, e.by,
                       quoted(e.mode), quoted(e.note));
  }
  std::string operator()(const event::GrantReturn& e) const {
    return fmt::format(R"({{"grant":{}}})", e.grant);
  }
  std::string operator()(const event::Loan& e) const {
    return fmt::format(R"({{"cores":{},"gpus":{},"until_ms":{}}})", e.cores, e.gpus, e.until);
  }
  std::string operator()(const event::LoanReturn& e) const {
    return fmt::format(R"({{"cores":{},"gpus":{}}})", e.cores, e.gpus);
  }
  template <class Plain>
  std::string operator()(const Plain&) const {
    static_assert(std::is_empty_v<Plain>, "what an event says must be read again by a replay");
    return "{}";
  }
};

// The place in the context of `alloc`; earlier versions did not write it.
event::Place read_place(const json& c) {
  if (!c.contains("place")) return {};
  const json& p = c.at("place");
  return {p.at("nodelist"), p.at("nodes"), p.at("cores"), p.at("gpus")};
}

std::vector<event::Process> read_processes(const json& c) {
  std::vector<event::Process> processes;
  for (const json& p : c.at("processes")) processes.push_back({p.at(0), p.at(1)});
  return processes;
}

event::Finish read_finish(const json& c) {
  return {c.at("status"), c.at("cpu_ms"), c.at("max_rss_kb")};
}

// `ranks` is left out where it is rank 0 alone.
event::Alloc read_alloc(const json& c) {
  event::Alloc alloc{c.at("annotations").at("selection"), c.at("expiration_ms"), read_place(c),
                     c.value("environment", "")};
  if (c.contains("ranks")) c.at("ranks").get_to(alloc.ranks);
  alloc.leads = c.value("leads", false);
  return alloc;
}

event::JobspecUpdate read_update(const json& c) {
  event::JobspecUpdate update;
  const auto read = [&c](const char* key, auto& member) {
    if (c.contains(key))
      member = c.at(key).get<typename std::decay_t<decltype(member)>::value_type>();
  };
  if (c.contains("attributes.system.duration"))
    update.limit = std::llround(c.at("attributes.system.duration").get<double>() * 1000);
  read("attributes.system.job.name", update.name);
  read("attributes.system.queue", update.queue);
  read("nodes", update.nodes);
  read("slots", update.slots);
  read("elastic", update.elastic);
  return update;
}

EventBody read_body(std::size_t index, const json& c) {
  switch (index) {
    case 0:
      return event::Submit{c.at("urgency"), c.at("user"), c.value("default_limit_ms", Duration{0})};
    case 1:
      return event::Validate{};
    case 2:
      return event::Invalidate{c.at("note")};
    case 3:
      return event::Depend{};
    case 4:
      return event::Priority{c.at("priority")};
    case 5:
      return event::Urgency{c.at("urgency")};
    case 6:
      return read_alloc(c);
    case 7:
      return event::ResourceUpdate{c.at("expiration_ms")};
    case 8:
      return event::Start{read_processes(c), c.value("rank", std::uint32_t{0})};
    case 9:
      return event::Instance{c.at("uri")};
    case 10:
      return event::Exception{c.at("type"), c.at("severity"), c.at("note")};
    case 11:
      return read_finish(c);
    case 12:
      return event::Release{};
    case 13:
      return event::Free{};
    case 15:
      return event::DependencyAdd{c.at("description")};
    case 16:
      return event::DependencyRemove{c.at("description")};
    case 17:
      return event::RankStart{read_processes(c), c.at("rank")};
    case 18:
      return event::RankFinish{c.at("rank"), c.at("reason"), read_finish(c)};
    case 19:
      return event::Requeue{c.at("retry"), c.at("begin_ms"), c.at("note"),
                            c.value("preempted", false)};
    case 20:
      return read_update(c);
    case 21:
      return event::Suspend{};
    case 22:
      return event::Resume{};
    case 23:
      return event::ArrayStart{};
    case 24:
      return event::ArrayFinish{c.at("status"), c.at("cpu_ms"), c.at("max_rss_kb")};
    case 25:
      return event::Preempt{c.at("by"), c.at("mode") == "requeue", c.at("end_ms")};
    case 26:
      return event::ArrayExtend{c.at("tasks")};
    case 27:
      return event::ArrayClose{};
    case 28:
      return event::GrantExtend{c.at("grant"), c.at("cores"), c.at("gpus"), c.at("until_ms"),
                                c.value("ranks", std::vector<std::uint32_t>())};
    case 29:
      return event::GrantRecall{c.at("grant"), c.at("by_ms"), c.at("mode"), c.at("note")};
    case 30:
      return event::GrantReturn{c.at("grant")};
    case 31:
      return event::GrantLeave{c.at("grant")};
    case 32:
      return event::Loan{c.at("cores"), c.at("gpus"), c.at("until_ms")};
    case 33:
      return event::LoanReturn{c.at("cores"), c.at("gpus")};
    default:
      return event::Clean{};
  }
}

}  // namespace

const char* name_of(const EventBody& body) {
  return kNames[body.index()];
}

std::string context_of(const EventBody& body) {
  return std::visit(Context{}, body);
}

Result<EventBody> parse_event(std::string_view name, std::string_view context) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name != kNames[i]) continue;
    try {
      return read_body(i, json::parse(context));
    } catch (const json::exception& e) {
      return fail(Errc::invalid_argument, fmt::format("context of event {}: {}", name, e.what()));
    }
  }
  return fail(Errc::invalid_argument, fmt::format("unknown event '{}'", name));
}

std::string eventlog_line(const Event& event) {
  return fmt::format("{{\"timestamp\":{}.{:03},\"name\":\"{}\",\"context\":{}}}\n",
                     event.time / 1000, event.time % 1000, name_of(event.body),
                     context_of(event.body));
}

}  // namespace holon::instance
