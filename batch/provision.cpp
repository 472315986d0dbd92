#include "batch/provision.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace holon::batch {
namespace {

constexpr std::int64_t kMinutesOf = 60;

std::string clock_length(std::int64_t seconds) {
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / kMinutesOf % 60, seconds % 60);
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Quotes a word of a script, since a typed one may have a dot or a blank in it.
std::string in_quotes(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

tl::unexpected<Error> not_understood(std::string_view answer, const char* command) {
  constexpr std::size_t kShown = 80;
  return fail(
      Errc::invalid_argument,
      fmt::format("'{}' is not understood", answer.substr(0, answer.find('\n')).substr(0, kShown)),
      command);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Reads squeue -o "%i|%t|%j".
Result<std::vector<ListedJob>> read_listed_by_squeue(std::string_view answer) {
  std::vector<ListedJob> jobs;
  for (const auto line : lines_of(answer)) {
    const auto first = line.find('|'), second = line.find('|', first + 1);
    if (first == line.npos || second == line.npos) return not_understood(line, "squeue");
    const auto state = line.substr(first + 1, second - first - 1);
    const bool waits = state == "PD" || state == "CF" || state == "RQ" || state == "RS" ||
                       state == "RH" || state == "SO";
    if (state == "CG") continue;  // its processes are gone, or about to
    jobs.push_back({std::string(line.substr(0, first)), std::string(line.substr(second + 1)),
                    waits ? ListedJob::State::queued : ListedJob::State::running});
  }
  return jobs;
}

std::optional<std::string_view> element(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
  const auto begin = xml.find(open);
  const auto end = begin == xml.npos ? begin : xml.find(close, begin);
  if (end == xml.npos) return std::nullopt;
  return xml.substr(begin + open.size(), end - begin - open.size());
}

// Reads qstat -xml: <job_list state="running"> with JB_job_number and JB_name in it.
Result<std::vector<ListedJob>> read_listed_by_grid_engine(std::string_view answer) {
  constexpr std::string_view kBegin = "<job_list", kEnd = "</job_list>";
  if (answer.find("<job_info") == answer.npos) return not_understood(answer, "qstat -xml");
  std::vector<ListedJob> jobs;
  for (auto at = answer.find(kBegin); at != answer.npos; at = answer.find(kBegin, at + 1)) {
    const auto end = answer.find(kEnd, at);
    const auto job = answer.substr(at, end == answer.npos ? end : end - at);
    const auto number = element(job, "JB_job_number"), name = element(job, "JB_name");
    const auto state = element(job, "state");
    if (!number || !name || !state) return not_understood(job, "qstat -xml");
    const bool runs = state->find_first_of("rt") != state->npos;
    jobs.push_back({std::string(*number), std::string(*name),
                    runs ? ListedJob::State::running : ListedJob::State::queued});
  }
  return jobs;
}

// Reads qstat -f: "Job Id: 12.server", then "    Job_Name = x" and "    job_state = Q".
Result<std::vector<ListedJob>> read_listed_by_pbs(std::string_view answer) {
  constexpr std::string_view kId = "Job Id:", kName = "Job_Name = ", kState = "job_state = ";
  std::vector<ListedJob> jobs;
  std::vector<char> states;
  for (const auto line : lines_of(answer)) {
    const auto text = trimmed(line);
    if (text.starts_with(kId)) {
      jobs.push_back({std::string(trimmed(text.substr(kId.size()))), "", {}});
      states.push_back('?');
    } else if (jobs.empty()) {
      return not_understood(line, "qstat -f");
    } else if (text.starts_with(kName)) {
      jobs.back().name = text.substr(kName.size());
    } else if (text.starts_with(kState) && text.size() > kState.size()) {
      states.back() = text[kState.size()];
    }
  }
  std::vector<ListedJob> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const char state = states[i];
    if (state == 'C' || state == 'F' || state == 'X') continue;               // over
    jobs[i].state = state == 'R' || state == 'E' ? ListedJob::State::running  //
                                                 : ListedJob::State::queued;
    open.push_back(std::move(jobs[i]));
  }
  return open;
}

std::vector<std::string> sbatch(const BatchRequest& request) {
  const std::int64_t minutes = (request.walltime + kMinutesOf - 1) / kMinutesOf;
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + request.name,
                                    fmt::format("--nodes={}", request.nodes),
                                    "--exclusive",
                                    fmt::format("--time={}", minutes),
                                    "--output=" + request.output};
  append(words, request.more);
  words.push_back(request.script);
  return words;
}

std::vector<std::string> grid_engine_qsub(const BatchRequest& request) {
  std::vector<std::string> words = {
      "qsub", "-terse", "-N", request.name,   "-S", "/bin/sh",
      "-j",   "y",      "-o", request.output, "-l", fmt::format("h_rt={}", request.walltime)};
  append(words, request.more);
  words.push_back(request.script);
  return words;
}

std::vector<std::string> pbs_qsub(const BatchRequest& request) {
  std::vector<std::string> words = {"qsub",
                                    "-N",
                                    request.name,
                                    "-S",
                                    "/bin/sh",
                                    "-j",
                                    "oe",
                                    "-o",
                                    request.output,
                                    "-l",
                                    "walltime=" + clock_length(request.walltime)};
  if (request.nodes > 1) append(words, {"-l", fmt::format("select={}", request.nodes)});
  append(words, request.more);
  words.push_back(request.script);
  return words;
}

}  // namespace

bool can_submit(System system) {
  return system == System::slurm || system == System::grid_engine || system == System::pbs;
}

std::vector<std::string> submit_command(System system, const BatchRequest& request) {
  if (system == System::slurm) return sbatch(request);
  return system == System::grid_engine ? grid_engine_qsub(request) : pbs_qsub(request);
}

// Reads the answer of sbatch --parsable: "12" or "12;cluster"; qsub -terse: "12"; PBS: "12.server".
Result<std::string> read_submitted(System system, std::string_view answer) {
  const auto lines = lines_of(answer);
  const auto line = lines.empty() ? std::string_view() : trimmed(lines.back());
  const auto id = system == System::slurm ? line.substr(0, line.find(';')) : line;
  const bool is_id =
      !id.empty() && id.front() >= '0' && id.front() <= '9' && id.find_first_of(" \t") == id.npos;
  if (!is_id) return not_understood(line, system == System::slurm ? "sbatch" : "qsub");
  return std::string(id);
}

std::string script_for(System system, const std::vector<std::string>& join, std::uint32_t nodes) {
  std::string command;
  for (const auto& word : join) command += (command.empty() ? "" : " ") + in_quotes(word);
  if (nodes > 1 && system == System::slurm)
    command = "srun --ntasks-per-node=1 --kill-on-bad-exit=0 --mpi=none " + command;
  if (nodes > 1 && system == System::pbs) command = "pbsdsh -- " + command;
  return "exec " + command + "\n";
}

std::vector<std::string> list_command(System system, const std::string& user) {
  if (system == System::slurm) return {"squeue", "-h", "-u", user, "-o", "%i|%t|%j"};
  if (system == System::grid_engine) return {"qstat", "-xml", "-u", user};
  return {"sh", "-c", "ids=$(qselect -u \"$1\") || exit; [ -z \"$ids\" ] || qstat -f $ids", "sh",
          user};
}

Result<std::vector<ListedJob>> read_listed(System system, std::string_view answer) {
  if (system == System::slurm) return read_listed_by_squeue(answer);
  if (system == System::grid_engine) return read_listed_by_grid_engine(answer);
  return read_listed_by_pbs(answer);
}

std::vector<std::string> cancel_command(System system, const std::vector<std::string>& ids) {
  std::vector<std::string> words = {system == System::slurm ? "scancel" : "qdel"};
  append(words, ids);
  return words;
}

}  // namespace holon::batch
