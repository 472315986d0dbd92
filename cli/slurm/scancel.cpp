// scancel: ends jobs, or sends them a signal.
#include <fmt/core.h>

#include <ostream>

#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/listing.hpp"
#include "launch/signal_name.hpp"

namespace holon::cli::slurm {
namespace {

using Takes = Option::Takes;

constexpr Option kOptionsOfScancel[] = {{'A', "account", Takes::value},
                                        {'b', "batch"},
                                        {'M', "clusters", Takes::value},
                                        {0, "ctld"},
                                        {'f', "full"},
                                        {0, "help"},
                                        {0, "me"},
                                        {'n', "name", Takes::value},
                                        {0, "jobname", Takes::value},
                                        {'w', "nodelist", Takes::value},
                                        {'p', "partition", Takes::value},
                                        {'q', "qos", Takes::value},
                                        {'Q', "quiet"},
                                        {'s', "signal", Takes::value},
                                        {'t', "state", Takes::value},
                                        {0, "usage"},
                                        {'u', "user", Takes::value},
                                        {'v', "verbose"},
                                        {'V', "version"}};

constexpr const char* kHelpOfScancel =
    "Usage: scancel [-n name] [-p partition] [-s signal] [-t PENDING|RUNNING|SUSPENDED] [-u user]\n"
    "               [--me] [-b] [-f] [-Q] [job_id[_array_id]...]\n";

Result<Question> question_of_scancel(const Options& options) {
  auto question = question_in(options);
  if (!question) return question;
  if (const auto name = options.value("jobname")) question->names = items_of(*name);
  if (const auto states = options.value("state")) {
    auto read = states_in(*states);
    if (!read) return tl::unexpected(read.error());
    question->states = std::move(*read);
  }
  for (const std::string& word : options.rest()) {
    auto jobs = job_ids_in(word);
    if (!jobs) return tl::unexpected(jobs.error());
    question->jobs.insert(question->jobs.end(), jobs->begin(), jobs->end());
  }
  return question;
}

bool has_filter(const Question& question) {
  return !question.users.empty() || !question.names.empty() || !question.queues.empty() ||
         !question.accounts.empty() || !question.states.empty() || !question.qos.empty() ||
         !question.hosts.empty();
}

// The numbers of jobs, and of whole arrays, that meet the filter.
Result<std::vector<std::uint64_t>> filtered(client::Client& client, const Question& question) {
  Question each = question;
  each.each_task = true;
  if (each.states.empty()) each.states = *states_in("PD,R,S,CG");
  const auto rows = rows_of(client, each);
  if (!rows) return tl::unexpected(rows.error());
  std::vector<std::uint64_t> numbers;
  for (const Row& row : *rows) numbers.push_back(row.job.id);
  return numbers;
}

int send(Call& call, client::Client& client, const std::vector<std::uint64_t>& ids,
         const std::string& name) {
  const auto signal = launch::parse_signal(name);
  if (!signal) return refuse(call, "Unknown job signal: " + name);
  const auto sent = client.signal({ids, *signal});
  return sent ? static_cast<int>(kOk) : refuse(call, sent.error());
}

// Cancels one by one where a number is unknown: the others are ended all the same.
int cancel_each(Call& call, client::Client& client, const std::vector<std::uint64_t>& ids,
                bool is_quiet) {
  int code = kOk;
  for (const auto id : ids) {
    const auto reply = client.cancel({{id}, false, ""});
    if (reply) continue;
    code = kFailed;
    if (!is_quiet)
      refuse(call, fmt::format("Kill job error on job id {}: Invalid job id specified", id));
  }
  return code;
}

}  // namespace

int scancel(Call& call) {
  const auto options = Options::read(call.words, kOptionsOfScancel);
  if (!options) return refuse(call, options.error());
  if (options->has("help") || options->has("usage")) {
    call.io.out << kHelpOfScancel;
    return kOk;
  }
  if (options->has("version")) {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  const auto question = question_of_scancel(*options);
  if (!question) return refuse(call, question.error());
  if (question->jobs.empty() && !has_filter(*question))
    return refuse(call, "No job identification provided");
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  const auto ids =
      has_filter(*question) ? filtered(*client, *question) : numbers_of(*client, question->jobs);
  if (!ids) return refuse(call, "Invalid job id specified");
  if (ids->empty()) return kOk;
  if (const auto signal = options->value("signal")) return send(call, *client, *ids, *signal);
  if (const auto reply = client->cancel({*ids, false, ""})) return kOk;
  return cancel_each(call, *client, *ids, options->has("quiet"));
}

}  // namespace holon::cli::slurm
