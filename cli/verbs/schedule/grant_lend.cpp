// holon grant lend: an instance lends idle cores and GPUs of its own to the one above.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs/schedule/grant_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::cli {
namespace {

std::string lent_in_words(const msg::GrantLent& lent, Time now) {
  std::string what;
  if (lent.cores > 0) what = fmt::format("{} core{}", lent.cores, lent.cores == 1 ? "" : "s");
  if (lent.gpus > 0)
    what +=
        fmt::format("{}{} GPU{}", what.empty() ? "" : ", ", lent.gpus, lent.gpus == 1 ? "" : "s");
  return fmt::format("{} lent until {}", what, show_time(lent.until, now));
}

// Errors: invalid_argument.
Result<Time> end_of_loan(const std::string& word, Time now) {
  // To parse_time() a length of nothing is no time.
  const bool is_now =
      word.starts_with("+0") && word.find_first_of("123456789") == std::string::npos;
  const auto at = is_now ? Result<Time>(now) : parse_time(word, now);
  if (!at || *at > now) return at;
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is not after now; +8h and 08:00 are accepted", word));
}

}  // namespace

int verb_grant_lend(Invocation& call) {
  msg::GrantLend what;
  bool json = false;
  const Time now = instance::wall_clock_ms();
  Parser parser("grant lend", "lend idle cores and GPUs of its own to the instance above");
  parser.group("What")
      .option("-n,--cores", number_up_to(resource::kMaxCount, what.cores), "N",
              "idle cores; one stays with the instance")
      .option("-g,--gpus", number_up_to(resource::kMaxCount, what.gpus), "N", "idle GPUs")
      .option("-N,--nodes", number_up_to(resource::kMaxCount, what.nodes), "N",
              "whole nodes are not lent: this is refused")
      .option(
          "--until",
          [&what, now](const std::string& word) -> Status {
            const auto at = end_of_loan(word, now);
            if (!at) return tl::unexpected(at.error());
            what.until = *at;
            return {};
          },
          "TIME", "when they are this instance's again: +8h, 08:00, 2026-12-24T08:00")
      .group("Options")
      .instance(call)
      .json(json)
      .note(
          "All that is asked for is lent, or nothing: only what no job and no child of the "
          "instance has. The instance above places what ends by that time there, of its own and "
          "of its other children. Here a job named lend holds it, around which what waits is "
          "planned. holon grant recall without a child, or holon cancel of that job, has it back "
          "before.")
      .example("holon grant lend -n 4 --until 08:00", "four cores for the night")
      .example("holon grant lend -n 8 -g 2 --until +2h", "with GPUs, for two hours")
      .example("holon -i /3 grant lend -n 4 --until 08:00", "of /3");
  if (const auto code = parser.parse(call)) return *code;
  if (what.until == 0)
    return report(
        call, "grant lend",
        {Errc::invalid_argument, "says until when; +8h and 08:00 are accepted", "--until"});
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant lend", client.error());
  const auto lent = client->lend_grant(what);
  if (!lent) return report(call, "grant lend", lent.error());
  if (json)
    call.io.out << pretty({{"job", lent->job},
                           {"cores", lent->cores},
                           {"gpus", lent->gpus},
                           {"until", lent->until},
                           {"units", lent->units}});
  else
    call.io.out << lent_in_words(*lent, now) << '\n';
  return kOk;
}

}  // namespace holon::cli
