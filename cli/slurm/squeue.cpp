// squeue: the jobs that wait and run.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/show/job_json.hpp"
#include "cli/slurm/fields.hpp"
#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/layout.hpp"
#include "cli/slurm/listing.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli::slurm {
namespace {

using Takes = Option::Takes;

constexpr Option kOptionsOfSqueue[] = {{'A', "account", Takes::value},
                                       {'a', "all"},
                                       {'r', "array"},
                                       {0, "array-unique"},
                                       {'M', "clusters", Takes::value},
                                       {'o', "format", Takes::value},
                                       {'O', "Format", Takes::value},
                                       {0, "help"},
                                       {'h', "noheader"},
                                       {'j', "jobs", Takes::joined_value},
                                       {0, "json"},
                                       {'l', "long"},
                                       {0, "me"},
                                       {'n', "name", Takes::value},
                                       {'w', "nodelist", Takes::value},
                                       {0, "noconvert"},
                                       {'p', "partition", Takes::value},
                                       {'q', "qos", Takes::value},
                                       {'S', "sort", Takes::value},
                                       {0, "start"},
                                       {'t', "states", Takes::value},
                                       {0, "usage"},
                                       {'u', "user", Takes::value},
                                       {'v', "verbose"},
                                       {'V', "version"}};

constexpr const char* kUsualLayout = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr const char* kLongLayout = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr const char* kStartLayout = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

constexpr const char* kHelpOfSqueue =
    "Usage: squeue [-A account] [-h] [--me] [-j jobid] [-l] [-n name] [-o format] [-O fields]\n"
    "              [-p partition] [-r] [-t states] [-u user] [--json] [--start]\n";

const Field* field_of_job(const Part& part) {
  return part.field.size() == 1 ? field_of_letter(part.field.front()) : field_of_squeue(part.field);
}

Result<std::vector<Part>> layout_of_jobs(const Options& options) {
  const auto is_letter = [](char c) { return field_of_letter(c) != nullptr; };
  if (const auto names = options.value("Format"))
    return names_in(*names, [](std::string_view name) { return field_of_squeue(name) != nullptr; });
  std::string format = options.has("long") ? kLongLayout : kUsualLayout;
  if (options.has("start")) format = kStartLayout;
  if (const char* const preset = std::getenv("SQUEUE_FORMAT"); preset != nullptr) format = preset;
  if (const auto typed = options.value("format")) format = *typed;
  return letters_in(format, is_letter);
}

// Fields whose texts are in the order of what they say.
constexpr std::string_view kOrdered = "iAFKjuUgPtTSeVDCqaNQprR";

bool comes_before(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_number(a) || !is_number(b)) return a < b;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Sorts by letters, "-" before one that is to descend: "P,-i". Errors: invalid_argument.
Status sort_rows(std::vector<Row>& rows, const std::string& keys) {
  std::vector<std::string> items = items_of(keys);
  const Time now = instance::wall_clock_ms();
  for (auto item = items.rbegin(); item != items.rend(); ++item) {  // the first one decides
    const bool descends = item->starts_with('-');
    const std::string letter = descends || item->starts_with('+') ? item->substr(1) : *item;
    if (letter.size() != 1 || kOrdered.find(letter) == std::string_view::npos)
      return fail(Errc::invalid_argument, "Invalid sort specification: " + *item);
    const Field& field = *field_of_letter(letter.front());
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      const std::string mine = field.text({a.job, now, a.waiting});
      const std::string other = field.text({b.job, now, b.waiting});
      return descends ? comes_before(other, mine) : comes_before(mine, other);
    });
  }
  return {};
}

void print_jobs(Call& call, const std::vector<Part>& parts, const std::vector<Row>& rows,
                bool has_title) {
  std::vector<std::string> texts;
  for (const Part& part : parts)
    texts.emplace_back(part.field.empty() ? "" : field_of_job(part)->title);
  if (has_title) call.io.out << line_of(parts, texts);
  const Time now = instance::wall_clock_ms();
  for (const Row& row : rows) {
    const View view{row.job, now, row.waiting};
    for (std::size_t i = 0; i < parts.size(); ++i)
      texts[i] = parts[i].field.empty() ? "" : field_of_job(parts[i])->text(view);
    call.io.out << line_of(parts, texts);
  }
}

void print_jobs_json(Call& call, const std::vector<Row>& rows) {
  nlohmann::ordered_json all = {{"jobs", nlohmann::ordered_json::array()},
                                {"errors", nlohmann::ordered_json::array()}};
  const Time now = instance::wall_clock_ms();
  for (const Row& row : rows) {
    const auto& job = row.job;
    const View view{job, now, row.waiting};
    const bool is_task = job.array != 0;
    all["jobs"].push_back(
        {{"job_id", job.id},
         {"array_job_id", job.array},
         {"array_task_id", is_task && row.waiting.empty() ? nlohmann::ordered_json(job.index)
                                                          : nlohmann::ordered_json(nullptr)},
         {"array_task_string", row.waiting},
         {"name", job.name},
         {"user_name", job.user},
         {"account", job.account},
         {"partition", job.queue},
         {"job_state", state_of(job).name},
         {"state_reason", reason_of(job)},
         {"nodes", job.nodelist},
         {"node_count", job.nnodes},
         {"cpus", job.ncores},
         {"tasks", job.ntasks},
         {"submit_time", job.t_submit / 1000},
         {"start_time", (job.t_start != 0 ? job.t_start : job.t_estimate) / 1000},
         {"end_time", (job.t_finish != 0 ? job.t_finish : job.expiration) / 1000},
         {"time_limit", job.limit / 60'000},
         {"command", job.command},
         {"standard_output", job.output},
         {"standard_error", job.error},
         {"tres_req_str", tres_of(job)}});
  }
  call.io.out << pretty(all);
}

}  // namespace

int squeue(Call& call) {
  const auto options = Options::read(call.words, kOptionsOfSqueue);
  if (!options) return refuse(call, options.error());
  if (options->has("help") || options->has("usage")) {
    call.io.out << kHelpOfSqueue;
    return kOk;
  }
  if (options->has("version")) {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  const auto parts = layout_of_jobs(*options);
  if (!parts) return refuse(call, parts.error());
  auto question = question_in(*options);
  if (!question) return refuse(call, question.error());
  if (options->value("jobs") == "" && !options->rest().empty()) {  // "-j 7" is "-j" and a word
    auto jobs = job_ids_in(options->rest().front());
    if (!jobs) return refuse(call, jobs.error());
    question->jobs = std::move(*jobs);
  }
  question->each_task = options->has("array");
  question->with_ended = !question->states.empty();
  if (options->has("start") && question->states.empty()) question->states = *states_in("PD");
  if (question->states.empty()) question->states = *states_in("PD,R,S,CG");
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  auto rows = rows_of(*client, *question);
  if (!rows) {
    call.io.err << "slurm_load_jobs error: " << rows.error().what << "\n";
    return kFailed;
  }
  if (const auto sorted = sort_rows(*rows, options->value("sort").value_or("")); !sorted)
    return refuse(call, sorted.error());
  if (options->has("json"))
    print_jobs_json(call, *rows);
  else
    print_jobs(call, *parts, *rows, !options->has("noheader"));
  return kOk;
}

}  // namespace holon::cli::slurm
