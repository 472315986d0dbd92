// holon reserve, and holon reservation list and delete: resources for later.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/names.hpp"
#include "cli/connect.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli {
namespace {

nlohmann::ordered_json json_of(const msg::Reservation& r) {
  return {{"id", r.id},          {"name", r.name},   {"user", r.user},   {"users", r.users},
          {"begin", r.begin},    {"end", r.end},     {"phase", r.phase}, {"nodelist", r.nodelist},
          {"nodes", r.nodes},    {"cores", r.cores}, {"gpus", r.gpus},   {"pending", r.pending},
          {"running", r.running}};
}

Table table_of_reservations(const std::vector<msg::Reservation>& all, Time now) {
  using enum Table::Align;
  Table table({{"ID", right},
               {"NAME", left},
               {"OWNER", left},
               {"FROM", left},
               {"TO", left},
               {"PHASE", left},
               {"NODES", right},
               {"CORES", right},
               {"GPUS", right},
               {"WAIT", right},
               {"RUN", right},
               {"WHERE", left}});
  for (const auto& r : all)
    table.add({{std::to_string(r.id)},
               {r.name},
               {r.user},
               {show_time(r.begin, now)},
               {show_time(r.end, now)},
               {r.phase, r.phase == "active" ? Colour::green : Colour::plain},
               {r.nodes > 0 ? std::to_string(r.nodes) : ""},
               {r.cores > 0 ? std::to_string(r.cores) : ""},
               {r.gpus > 0 ? std::to_string(r.gpus) : ""},
               {std::to_string(r.pending)},
               {std::to_string(r.running)},
               {r.nodelist}});
  return table;
}

int verb_reservation_list(Invocation& call) {
  bool json = false;
  Parser parser("reservation list", "what is reserved, for whom and when");
  parser.instance(call).json(json).example("holon reservation list", "all that are not over");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "reservation list", client.error());
  const auto reply = client->reservations();
  if (!reply) return report(call, "reservation list", reply.error());
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& r : reply->reservations) list.push_back(json_of(r));
    call.io.out << pretty({{"reservations", list}});
  } else if (reply->reservations.empty()) {
    call.io.out << "nothing is reserved\n";
  } else {
    call.io.out
        << table_of_reservations(reply->reservations, instance::wall_clock_ms()).render(call.io);
  }
  return kOk;
}

int verb_reservation_delete(Invocation& call) {
  std::vector<std::string> words;
  Parser parser("reservation delete", "take reservations back");
  parser.positional("ID", words, "the reservations: 7, 3-9")
      .group("Options")
      .instance(call)
      .note(
          "Jobs that run in them are cancelled, those that wait for them fail. If one of several "
          "does not exist or is over, none is deleted.")
      .example("holon reservation delete 7", "its resources are free again");
  if (const auto code = parser.parse(call)) return *code;
  if (words.empty())
    return report(call, "reservation delete", {Errc::invalid_argument, "name at least one", "ID"});
  if (const auto named = select_jobs(words); !named)
    return report(
        call, "reservation delete",
        {Errc::invalid_argument,
         "no reservation; accepted are its number (7) and a range (3-9), `holon reservation "
         "list` shows them",
         named.error().where});
  auto selected = connect_to_jobs(call, words);
  if (!selected) return report(call, "reservation delete", selected.error());
  const auto gone = selected->client.unreserve({selected->ids});
  return gone ? static_cast<int>(kOk) : report(call, "reservation delete", gone.error());
}

struct ReservationArgs {
  JobOptions options;
  Time begin = 0;
  Time end = 0;
  Duration length = 0;
  std::string name;
  std::vector<std::string> users;
};

std::function<Status(const std::string&)> time_reader(Time& target) {
  return [&target](const std::string& word) -> Status {
    const auto at = parse_time(word, instance::wall_clock_ms());
    if (!at) return tl::unexpected(at.error());
    target = *at;
    return {};
  };
}

// A reservation for a misspelt name would be one that no job can ever use.
std::function<Status(const std::string&)> user_reader(std::vector<std::string>& target) {
  return [&target](const std::string& word) -> Status {
    errno = 0;
    if (word != "*" && getpwnam(word.c_str()) == nullptr)
      return could_not_ask(errno)
                 ? system_error(
                       fmt::format("whether there is a user '{}' here could not be asked", word))
                 : fail(Errc::invalid_argument, fmt::format("there is no user '{}' here", word));
    target.push_back(word);
    return {};
  };
}

void add_options(Parser& parser, ReservationArgs& args) {
  auto& shape = args.options.shape;
  parser.group("When")
      .option("--start", time_reader(args.begin), "TIME",
              "+30m, 18:30 or 2026-12-24T18:30; now unless given")
      .option("--end", time_reader(args.end), "TIME", "the same")
      .option(
          "-d,--duration",
          [&args](const std::string& word) -> Status {
            const auto length = parse_limit(word);
            if (!length) return tl::unexpected(length.error());
            if (*length == 0)
              return fail(Errc::invalid_argument, "a reservation without an end is not accepted");
            args.length = *length;
            return {};
          },
          "TIME", "instead of --end: 30s, 5m, 2h, 1.5d; a bare number is minutes")
      .group("Resources");
  add_slots_option(parser, args.options, Unit::slot);
  parser
      .option("-c,--cores-per-slot", number_up_to(resource::kMaxCount, shape.cores_per_task), "N",
              "cores per slot, 1 unless given")
      .option("-g,--gpus-per-slot", number_up_to(resource::kMaxCount, shape.gpus_per_task), "N",
              "GPUs per slot")
      .option("-N,--nodes", nodes_reader(shape), "N", "spread over N nodes")
      .flag("-x,--exclusive", shape.exclusive, "the whole of each node; needs -N");
  add_license_option(parser, args.options);
  add_environment_option(parser, args.options);
  parser.group("Who")
      .option("--name", args.name, "NAME", "how listings call it")
      .option("-u,--user", user_reader(args.users), "NAME",
              "who may use it beside you; * is everybody; may be repeated");
}

Status check_end(const ReservationArgs& args, Time begin, Time end, Time now) {
  const bool is_over = end <= now;
  if (!is_over && end > begin) return {};
  const std::string at = show_time(end, now);
  if (args.end == 0)
    return fail(Errc::invalid_argument,
                fmt::format("from {} on it would be over at {}, which is not after now",
                            show_time(begin, now), at),
                "--start with --duration");
  return fail(Errc::invalid_argument,
              is_over
                  ? fmt::format("{} is not after now", at)
                  : fmt::format("{} is not after {}, when it begins", at, show_time(begin, now)),
              "--end");
}

}  // namespace

int verb_reserve(Invocation& call) {
  ReservationArgs args;
  Parser parser("reserve", "reserve resources for later, print the reservation's id");
  add_options(parser, args);
  parser.instance(call)
      .note(
          "Granted or refused at once. Between start and end only jobs submitted with "
          "--reservation "
          "ID use what is reserved; what still runs at the end is ended.")
      .example("holon reserve --start 18:00 --duration 2h -N 2 -n 2 -x", "two nodes this evening")
      .example("holon submit --reservation 7 ./demo", "a job in it");
  if (const auto code = parser.parse(call)) return *code;
  if ((args.end == 0) == (args.length == 0))
    return report(
        call, "reserve",
        {Errc::invalid_argument, "say when it ends, one of the two", "--duration, --end"});
  const Time now = instance::wall_clock_ms();
  const Time begin = args.begin > 0 ? args.begin : now;
  const Time end = args.end > 0 ? args.end : begin + args.length;
  if (auto good = check_end(args, begin, end, now); !good)
    return report(call, "reserve", good.error());
  args.options.environment = {"-*"};  // nothing is run
  const auto job = make_request(args.options, {"reservation"});
  if (!job) return report(call, "reserve", job.error());
  msg::ReserveRequest request;
  request.jobspec = job->request.jobspec;
  request.user = job->request.user;
  request.begin = begin;
  request.end = end;
  request.name = args.name;
  request.users = args.users;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "reserve", client.error());
  const auto reply = client->reserve(request);
  if (!reply) return report(call, "reserve", as_typed(reply.error(), args.options));
  call.io.out << reply->id << "\n";
  return kOk;
}

int verb_reservation(Invocation& call) {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"list", "what is reserved, for whom and when", Group::look, verb_reservation_list},
      {"delete", "take reservations back", Group::work, verb_reservation_delete},
  });
  return run_group({"reservation",
                    "look at advance reservations, take them back",
                    kVerbs,
                    {{"holon reservation list", "all that are not over"},
                     {"holon reservation delete 7", "its resources are free again"}}},
                   call);
}

}  // namespace holon::cli
