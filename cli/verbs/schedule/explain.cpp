// holon explain: why jobs wait, what is in their way, and what would let them start now.
#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/schedule/grant_advice.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kWaitsShown = 20;

struct ExplainArgs {
  std::vector<std::string> ids;
  std::int64_t limit = kWaitsShown;
  bool json = false;
};

// The broker explains some dozen jobs a request, so that it has time for others in between.
Result<msg::ExplainReply> ask_why(Client& client, const std::vector<std::uint64_t>& ids,
                                  std::uint64_t limit) {
  msg::ExplainReply answer;
  std::size_t asked = 0;
  do {
    msg::ExplainRequest request;
    if (ids.empty()) {
      request.after = answer.jobs.empty() ? 0 : answer.jobs.back().id;
      request.limit = limit == 0 ? 0 : limit - answer.jobs.size();
    } else {
      for (; asked < ids.size() && request.ids.size() < msg::kMaxExplained; ++asked)
        request.ids.push_back(ids[asked]);
    }
    auto reply = client.explain(request);
    if (!reply) return tl::unexpected(reply.error());
    for (auto& job : reply->jobs) answer.jobs.push_back(std::move(job));
    answer.more = ids.empty() ? reply->more : asked < ids.size();
  } while (answer.more && (!ids.empty() || limit == 0 || answer.jobs.size() < limit));
  return answer;
}

class ReasonSheet {
 public:
  ReasonSheet(const Io& io, Time now) : io_(io), now_(now) {}

  void job(const msg::Explained& job) {
    if (!text_.empty()) text_ += "\n";
    line("job", fmt::format("{}  {}", job.path, printable(job.name)));
    line("state", job.state + (job.reason.empty() ? "" : ": " + printable(job.reason)));
    if (job.state == "RUN" || job.state == "CLEANUP" || job.state == "INACTIVE") return;
    line("asks for", printable(job.resources) + (job.limit > 0 ? " for " + show_duration(job.limit)
                                                               : ", without a time limit"));
    if (job.t_planned > 0) line("planned", show_time(job.t_planned, now_));
    if (job.t_room > 0)
      line("earliest", show_time(job.t_room, now_) + ", unless a job ahead of it takes the place");
    if (job.pending > 0)
      line("place", fmt::format("{} before it in queue {}; the last pass looked at {} of {}",
                                job.position, job.queue, job.considered, job.pending));
    const char* title = "in the way";
    for (const auto& other : job.in_the_way) line(std::exchange(title, ""), obstacle(other));
    title = "would start";
    for (const auto& remedy : job.remedies) {
      if (remedy.kind == "lease") continue;
      line(std::exchange(title, ""),
           paint(io_, Colour::green,
                 (remedy.kind == "urgency" || remedy.kind == "gate" ? "after " : "with ") +
                     printable(remedy.text)) +
               (remedy.cost > 0 ? fmt::format(" (gives up {:.0f} %)", remedy.cost * 100) : ""));
    }
    for (const auto& remedy : job.remedies)
      if (remedy.kind == "lease")
        line("more time",
             "for this instance: " + paint(io_, Colour::green, printable(remedy.text)));
  }
  void more_cores(const std::vector<std::string>& lines) {
    const char* title = "more cores";
    for (const auto& text : lines) line(std::exchange(title, ""), printable(text));
  }
  std::string text() && { return std::move(text_); }

 private:
  void line(std::string_view name, const std::string& value) {
    text_ += fmt::format("{:<12}{}\n", name, value);
  }

  std::string obstacle(const msg::Obstacle& other) const {
    // Another user's job has no number here.
    const std::string label = other.path.empty() ? std::to_string(other.id) : label_in(other.path);
    const std::string number = other.id == 0 ? "" : fmt::format(" {} ", label);
    const std::string name = printable(other.name);
    const std::string where = other.nodelist.empty() ? "" : " on " + printable(other.nodelist);
    if (other.kind == "advance")
      return fmt::format("advance reservation{} {}{} from {} until {}", number, name, where,
                         show_time(other.from, now_), show_time(other.until, now_));
    const std::string text = fmt::format("job{} {}{}", number, name, where);
    if (other.kind == "preempted")
      return text + ", preempted: told to end, and ended at " + show_time(other.until, now_);
    if (other.state != "RUN" && other.state != "CLEANUP") return text + ", in front of it";
    const std::string way =
        other.is_instance ? "; an instance: holon submit -i " + other.path + " runs jobs in it"
                          : "";
    return text +
           (other.until > 0 ? ", until " + show_time(other.until, now_) + " at the latest"
                            : ", without an end") +
           way;
  }

  const Io& io_;
  Time now_;
  std::string text_;
};

// Tells of cores that the instance above could add, for the first of these jobs that wait in a
// child.
class MoreCores {
 public:
  explicit MoreCores(Client& client) : client_(client) {}

  std::vector<std::string> lines_for(const msg::Explained& job, Time now) {
    constexpr int kMostAsked = 3;  // each costs some passes of the scheduler
    const bool is_in_child = job.path.rfind('/') > 0;
    if (!is_in_child || job.state != "SCHED" || asked_ == kMostAsked) return {};
    if (asked_++ == 0)
      if (auto advice = GrantAdvice::beside(client_)) advice_ = std::move(*advice);
    if (!advice_) return {};
    const auto about = client_.explain_grant({job.id});
    return about && about->cores > 0 ? advice_->lines(*about, now) : std::vector<std::string>();
  }

 private:
  Client& client_;
  std::optional<GrantAdvice> advice_;
  int asked_ = 0;
};

void print_answer(Invocation& call, Client& client, const msg::ExplainReply& answer) {
  const Time now = instance::wall_clock_ms();
  ReasonSheet sheet(call.io, now);
  MoreCores more(client);
  for (const auto& job : answer.jobs) {
    sheet.job(job);
    sheet.more_cores(more.lines_for(job, now));
  }
  call.io.out << std::move(sheet).text();
  if (answer.jobs.empty()) call.io.out << "no job waits\n";
  if (answer.more) call.io.out << fmt::format("\nand others; holon explain --limit 0 shows all\n");
}

}  // namespace

int verb_explain(Invocation& call) {
  ExplainArgs args;
  Parser parser("explain", "why jobs wait, and what would let them start now");
  parser.positional("ID", args.ids, "these jobs: 7, 3-9, /3/7; all that wait otherwise")
      .group("Options")
      .option("--limit", args.limit, "N", "without ID: the first N, 20 unless given; 0 is all")
      .instance(call)
      .json(args.json)
      .note(
          "What would let a job start now is tried out with the instance's own scheduler: fewer "
          "nodes or slots, a shorter time limit, another queue; the one that gives up least comes "
          "first. Nothing is shown where no single change would do. Of the first three that wait "
          "in a "
          "child it is told with how many cores more they would start, and when the instance above "
          "could give them (holon grant explain, also with --json).")
      .example("holon explain 7", "why job 7 does not run")
      .example("holon explain -i /3 --json", "every waiting job of the child that is job 3");
  if (const auto code = parser.parse(call)) return *code;
  if (args.limit < 0)
    return report(call, "explain",
                  {Errc::invalid_argument,
                   fmt::format("{} is not accepted, at least 0 (all) is", args.limit), "--limit"});
  auto selected = connect_to_jobs(call, args.ids);
  if (!selected) return report(call, "explain", selected.error());
  const auto answer =
      ask_why(selected->client, selected->ids, static_cast<std::uint64_t>(args.limit));
  if (!answer) return report(call, "explain", answer.error());
  if (!args.json) {
    print_answer(call, selected->client, *answer);
    return kOk;
  }
  call.io.out << json_text(*answer);
  return kOk;
}

}  // namespace holon::cli
