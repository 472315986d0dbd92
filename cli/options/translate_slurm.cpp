// Options of Slurm as sbatch(1) of version 22.05 documents them.
#include "cli/options/translate_slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/idset.hpp"
#include "cli/options/indices.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Reads "0-36:00", "1:90:00", "1-": each number carries over into the next. A value that is no time
// is left as it is, for the reader of the option to refuse.
Text a_limit(const std::string& value) {
  const std::string word = lower(value);
  if (word == "unlimited" || word == "infinite" || word == "-1") return "inf";
  const auto dash = value.find('-');
  const bool has_days = dash != std::string::npos;
  std::vector<std::int64_t> numbers;
  std::string rest = has_days ? value.substr(dash + 1) : value;
  if (has_days) rest = value.substr(0, dash) + (rest.empty() ? "" : ":" + rest);
  for (rest += ':'; !rest.empty(); rest.erase(0, rest.find(':') + 1)) {
    const std::string digits = rest.substr(0, rest.find(':'));
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      return value;
    numbers.push_back(std::stoll(digits));
  }
  // days-hours:minutes:seconds; minutes:seconds; hours:minutes:seconds
  constexpr std::int64_t kMinute = 60, kHour = 3'600, kDay = 86'400;
  const std::vector<std::int64_t> units =
      has_days              ? std::vector{kDay, kHour, kMinute, std::int64_t{1}}
      : numbers.size() == 3 ? std::vector{kHour, kMinute, std::int64_t{1}}
                            : std::vector{kMinute, std::int64_t{1}};
  if (numbers.size() > units.size()) return value;
  std::int64_t seconds = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) seconds += numbers[i] * units[i];
  return seconds == 0 ? Text("0") : fmt::format("{}s", seconds);
}

// Reads "2", "2-2"; a range that leaves a choice has no equal.
Text exact_nodes(const std::string& value) {
  const auto dash = value.find('-');
  const std::string least = value.substr(0, dash);
  const bool is_exact = dash == std::string::npos || value.substr(dash + 1) == least;
  return is_exact && count_of(least) ? Text(least) : std::nullopt;
}

// "%j-%t.log" is "{{id}}-{{taskid}}.log". Of an array %A is its id, %a the index of the task.
Text sbatch_file(const std::string& value, bool of_array) {
  WordsOfFiles words = {{'j', "{{id}}"},
                        {'x', "{{name}}"},
                        {'t', "{{taskid}}"},
                        {'A', of_array ? "{{array.id}}" : "{{id}}"},
                        {'u', user_name()}};
  if (of_array) words['a'] = "{{array.index}}";
  return slurm_file(value, words);
}

// Reads "1-4,10-20:5%2", also in brackets: the steps of a list are written out. Any other value is
// left as it is, for the reader of the option to refuse: a script for an array is no single job.
Text slurm_array(const std::string& value) {
  std::string text = value;
  const auto percent = text.find('%');
  const std::string bound = percent == std::string::npos ? "" : text.substr(percent);
  text.resize(std::min(percent, text.size()));
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  if (parse_indices(text + bound)) return text + bound;
  Idset indices;
  for (text += ','; !text.empty(); text.erase(0, text.find(',') + 1)) {
    const auto range = parse_indices(text.substr(0, text.find(',')));
    if (!range || !range->list.empty()) return value;
    for (std::int64_t i = 0; i < range->count; ++i)
      indices.insert(static_cast<std::uint64_t>(range->first + i * range->step));
  }
  return indices.str() + bound;
}

// Reads "USR1@120", "10": a minute before the end by default. No signal is sent to the batch shell
// alone (B:) or at the beginning of a reservation (R:).
Text slurm_signal(const std::string& value) {
  if (value.find(':') != std::string::npos) return std::nullopt;
  return value.find('@') == std::string::npos ? value + "@60" : value;
}

// Reads "2", "a100:2", "a100" (one); holon ignores the kind.
Text gpus_in(const std::string& value) {
  const auto colon = value.find(':');
  const std::string number = colon == std::string::npos ? value : value.substr(colon + 1);
  if (number == "0" || count_of(number)) return number;
  const bool is_kind = colon == std::string::npos && !value.empty() &&
                       value.find_first_of("0123456789,") != 0 &&
                       value.find(',') == std::string::npos;
  return is_kind ? Text("1") : std::nullopt;
}

Text one_name(const std::string& value) {
  return value.find(',') == std::string::npos ? Text(value) : std::nullopt;
}

Text slurm_dependency(const std::string& value) {
  const bool differs = value.find_first_of("?+_") != std::string::npos ||
                       value.find("aftercorr") != std::string::npos ||
                       value.find("afterburstbuffer") != std::string::npos;
  return differs ? std::nullopt : Text(value);
}

// "now+1hour", "16:00", "2026-12-24T18:30".
Text slurm_time(const std::string& value) {
  if (!value.starts_with("now")) {
    const bool is_clock = !value.empty() && value[0] >= '0' && value[0] <= '9' &&
                          value.find_first_not_of("0123456789:-T") == std::string::npos;
    return is_clock ? Text(value) : std::nullopt;
  }
  if (value == "now") return "+0s";
  const auto digits = value.find_first_not_of("0123456789", 4);
  const std::string number = value.substr(4, digits == std::string::npos ? digits : digits - 4);
  const std::string unit = digits == std::string::npos ? "s" : value.substr(digits, 1);
  if (value[3] != '+' || number.empty() || std::string("smhd").find(unit) == std::string::npos)
    return std::nullopt;
  return "+" + number + unit;
}

Text licenses(const std::string& value) {
  return value.find_first_of("@|") == std::string::npos ? Text(value) : std::nullopt;
}

Text features(const std::string& value) {
  return value.find_first_of("[]*()") == std::string::npos ? Text(value) : std::nullopt;
}

// The part behind the colon, if any, says how tasks lie within a node.
Text over_nodes(const std::string& value) {
  const auto colon = value.find(':');
  const std::string nodes = value.substr(0, colon);
  const std::string within = colon == std::string::npos ? "*" : value.substr(colon + 1);
  const bool is_known =
      (nodes == "block" || nodes == "cyclic") && (within == "*" || within == "block");
  return is_known ? Text(nodes) : std::nullopt;
}

// Three runs more, as `holon submit --requeue 3` in docs/coming-from/slurm.md; Slurm has no bound.
Text again(const std::string&) {
  return "3";
}

Text held(const std::string&) {
  return "hold";
}

constexpr Equal kSlurm[] = {
    {"-n", "--ntasks", Takes::value, "-n"},
    {"-N", "--nodes", Takes::value, "-N", exact_nodes},
    {"-c", "--cpus-per-task", Takes::value, "-c"},
    {"-t", "--time", Takes::value, "-t", a_limit},
    {"-J", "--job-name", Takes::value, "-J"},
    {"-a", "--array", Takes::value, "--array", slurm_array},
    {"-D", "--chdir", Takes::value, "-D"},
    {"-p", "--partition", Takes::value, "-q", one_name},
    {"-q", "--qos", Takes::value, "--qos"},
    {"-A", "--account", Takes::value, "-A"},
    {"-d", "--dependency", Takes::value, "-d", slurm_dependency},
    {"-b", "--begin", Takes::value, "--begin-time", slurm_time},
    {"-L", "--licenses", Takes::value, "-L", licenses},
    {"-H", "--hold", Takes::nothing, "--urgency", held},
    {"-w", "--nodelist", Takes::value, "-w"},
    {"-x", "--exclude", Takes::value, "--exclude"},
    {"-C", "--constraint", Takes::value, "--requires", features},
    {"-m", "--distribution", Takes::value, "--distribution", over_nodes},
    {"", "--gpus-per-task", Takes::value, "-g", gpus_in},
    {"", "--signal", Takes::value, "--signal", slurm_signal},
    {"", "--requeue", Takes::nothing, "--requeue", again},
    {"", "--reservation", Takes::value, ""},
    // Options looked at together with others.
    {"-o", "--output", Takes::value, ""},
    {"-e", "--error", Takes::value, ""},
    {"-i", "--input", Takes::value, ""},
    {"", "--ntasks-per-node", Takes::value, ""},
    {"", "--tasks-per-node", Takes::value, ""},
    {"", "--mem", Takes::value, ""},
    {"", "--mem-per-cpu", Takes::value, ""},
    {"", "--gres", Takes::value, ""},
    {"", "--gpus-per-node", Takes::value, ""},
    {"-G", "--gpus", Takes::value, ""},
    {"", "--exclusive", Takes::joined_value, ""},
    {"", "--export", Takes::value, ""},
    // Ignored options without a value of their own.
    {"-W", "--wait", Takes::nothing, ""},
    {"-s", "--oversubscribe", Takes::nothing, ""},
    {"-O", "--overcommit", Takes::nothing, ""},
    {"-k", "--no-kill", Takes::joined_value, ""},
    {"-Q", "--quiet", Takes::nothing, ""},
    {"-v", "--verbose", Takes::nothing, ""},
    {"", "--no-requeue", Takes::nothing, ""},
    {"", "--parsable", Takes::nothing, ""},
    {"", "--contiguous", Takes::nothing, ""},
    {"", "--spread-job", Takes::nothing, ""},
    {"", "--use-min-nodes", Takes::nothing, ""},
    {"", "--nice", Takes::joined_value, ""},
    {"", "--get-user-env", Takes::joined_value, ""},
    {"", "--propagate", Takes::joined_value, ""},
    {"", "--reboot", Takes::nothing, ""},
    {"", "--test-only", Takes::nothing, ""},
    // Ignored options with a value of their own. They stand here also because an abbreviation that
    // could be one of them is none.
    {"", "--acctg-freq", Takes::value, ""},
    {"", "--batch", Takes::value, ""},
    {"", "--bb", Takes::value, ""},
    {"", "--bbf", Takes::value, ""},
    {"-M", "--clusters", Takes::value, ""},
    {"", "--cluster-constraint", Takes::value, ""},
    {"", "--comment", Takes::value, ""},
    {"", "--container", Takes::value, ""},
    {"-S", "--core-spec", Takes::value, ""},
    {"", "--cores-per-socket", Takes::value, ""},
    {"", "--cpu-freq", Takes::value, ""},
    {"", "--cpus-per-gpu", Takes::value, ""},
    {"", "--deadline", Takes::value, ""},
    {"", "--delay-boot", Takes::value, ""},
    {"", "--export-file", Takes::value, ""},
    {"-B", "--extra-node-info", Takes::value, ""},
    {"", "--gid", Takes::value, ""},
    {"", "--gpu-bind", Takes::value, ""},
    {"", "--gpu-freq", Takes::value, ""},
    {"", "--gpus-per-socket", Takes::value, ""},
    {"", "--gres-flags", Takes::value, ""},
    {"", "--hint", Takes::value, ""},
    {"", "--kill-on-invalid-dep", Takes::value, ""},
    {"", "--mail-type", Takes::value, ""},
    {"", "--mail-user", Takes::value, ""},
    {"", "--mcs-label", Takes::value, ""},
    {"", "--mem-bind", Takes::value, ""},
    {"", "--mem-per-gpu", Takes::value, ""},
    {"", "--mincpus", Takes::value, ""},
    {"", "--network", Takes::value, ""},
    {"-F", "--nodefile", Takes::value, ""},
    {"", "--ntasks-per-core", Takes::value, ""},
    {"", "--ntasks-per-gpu", Takes::value, ""},
    {"", "--ntasks-per-socket", Takes::value, ""},
    {"", "--open-mode", Takes::value, ""},
    {"", "--power", Takes::value, ""},
    {"", "--priority", Takes::value, ""},
    {"", "--profile", Takes::value, ""},
    {"", "--sockets-per-node", Takes::value, ""},
    {"", "--switches", Takes::value, ""},
    {"", "--thread-spec", Takes::value, ""},
    {"", "--threads-per-core", Takes::value, ""},
    {"", "--time-min", Takes::value, ""},
    {"", "--tmp", Takes::value, ""},
    {"", "--uid", Takes::value, ""},
    {"", "--wait-all-nodes", Takes::value, ""},
    {"", "--wckey", Takes::value, ""},
    {"", "--x11", Takes::joined_value, ""},
};

// Reasons why options are ignored, where something is missing here; the others need none.
constexpr std::pair<std::string_view, std::string_view> kWhy[] = {
    {"--mail-type", "holon sends no mail"},
    {"--mail-user", "holon sends no mail"},
    {"--wckey", "holon accounts by -A alone"},
    {"--comment", "holon keeps no comment; --attr comment=TEXT is kept"},
    {"--clusters", "holon schedules one machine"},
    {"--reservation", "a reservation has a number here: --reservation ID"},
    {"--open-mode", "output files are written anew"},
};

// A job has whole cores, hardware threads included, and a task its own.
constexpr std::pair<std::string_view, std::string_view> kSoAnyway[] = {
    {"--hint", "nomultithread"}, {"--hint", "compute_bound"}, {"--hint", "memory_bound"},
    {"--threads-per-core", "1"}, {"--ntasks-per-core", "1"},  {"--open-mode", "truncate"}};

void files(Translation& of) {
  const bool of_array = of.uses("--array");
  for (const auto& [theirs, ours] :
       {std::pair("--output", "-o"), {"--error", "-e"}, {"--input", "--input"}})
    if (const auto given = of.take(theirs)) {
      const auto name = sbatch_file(given->value, of_array);
      if (name && given->has_value && of.knows(ours)) {
        of.use(*given, {ours, *name});
      } else if (given->has_value && of.knows(ours) && theirs == std::string_view("--output")) {
        const std::string usual = of_array ? "slurm-%A_%a.out" : "slurm-%j.out";
        of.no_equal(*given, "holon has no such name; the output is in " + usual);
        of.use(*given, {ours, *sbatch_file(usual, of_array)});
      } else {
        of.no_equal(*given);
      }
    }
}

// Reads "4G", "4gb", "512" (MiB) to MiB; nullopt also for 0, which is all that a node has.
std::optional<std::int64_t> mebibytes(const std::string& text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = lower(text.substr(digits));
  std::int64_t kib = 0;
  for (const auto& [name, size] : {std::pair("", std::int64_t{1} << 10),
                                   {"k", std::int64_t{1}},
                                   {"m", std::int64_t{1} << 10},
                                   {"g", std::int64_t{1} << 20},
                                   {"t", std::int64_t{1} << 30}})
    if (unit == name || (*name != 0 && unit == std::string(name) + "b")) kib = size;
  const auto number = kib == 0 ? std::nullopt : count_of(text.substr(0, digits));
  if (!number) return std::nullopt;
  return (*number * kib + 1023) / 1024;
}

// Slurm counts the GPUs of a node or of the job, holon those of a task.
void share(Translation& of, std::string_view option, std::optional<std::int64_t> tasks) {
  const auto given = of.take(option);
  if (!given) return;
  std::string value = given->value;
  if (option == "--gres") {
    if (value == "none") return;
    const bool is_gpu = value == "gpu" || value.starts_with("gpu:");
    if (!is_gpu) return of.no_equal(*given, "of generic resources holon knows gpu");
    value = value == "gpu" ? "1" : value.substr(4);
  }
  const auto gpus = gpus_in(value);
  if (gpus == "0") return;
  if (!gpus) return of.no_equal(*given);
  if (!tasks) return of.no_equal(*given, "it depends on how tasks lie on nodes; say -N, or -g");
  const std::int64_t all = *count_of(*gpus);
  if (all % *tasks != 0)
    return of.no_equal(*given, fmt::format("{} GPUs do not divide among {} tasks", all, *tasks));
  of.use(*given, {"-g", std::to_string(all / *tasks)});
}

void exclusive(Translation& of) {
  const auto given = of.take("--exclusive");
  if (!given) return;
  if (given->has_value || (!of.nodes() && of.tasks() != 1)) return of.no_equal(*given);
  if (!of.nodes()) of.use(*given, {"-N", "1"});
  of.use(*given, {"-x"});
}

// What sbatch tells a script of its options. What differs from task to task is the agent's to tell.
void tell_script(Translation& of) {
  for (const auto& [ours, name] : {std::pair("-c", "SLURM_CPUS_PER_TASK"),
                                   {"-J", "SLURM_JOB_NAME"},
                                   {"-g", "SLURM_GPUS_PER_TASK"},
                                   {"-q", "SLURM_JOB_PARTITION"},
                                   {"-A", "SLURM_JOB_ACCOUNT"},
                                   {"--qos", "SLURM_JOB_QOS"}})
    if (const auto value = of.value_of(ours)) of.set(name, *value);
  if (!of.tasks()) return;
  of.set("SLURM_NTASKS", std::to_string(*of.tasks()));
  of.set("SLURM_NPROCS", std::to_string(*of.tasks()));
}

}  // namespace

std::span<const Equal> rows_of_sbatch() {
  return kSlurm;
}

Text slurm_file(const std::string& value, const WordsOfFiles& words) {
  std::string ours;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '%') {
      ours += value[i];
      continue;
    }
    const char letter = ++i < value.size() ? value[i] : '\0';
    const auto word = words.find(letter);
    if (letter == '%')
      ours += '%';
    else if (word != words.end())
      ours += word->second;
    else
      return std::nullopt;
  }
  return ours;
}

// Slurm counts the memory of a node or a core, holon that of a task.
void add_memory(Translation& of) {
  if (const auto given = of.take("--mem")) {
    const auto size = mebibytes(given->value);
    const auto each = of.tasks_per_node();
    if (size && each)
      of.use(*given, {"-m", fmt::format("{}M", (*size + *each - 1) / *each)});
    else
      of.no_equal(*given);
  }
  if (const auto given = of.take("--mem-per-cpu")) {
    if (const auto size = mebibytes(given->value))
      of.use(*given, {"-m", fmt::format("{}M", *size * of.cores_per_task())});
    else
      of.no_equal(*given);
  }
}

void add_gpus(Translation& of) {
  share(of, "--gpus-per-node", of.tasks_per_node());
  share(of, "--gpus", of.tasks());
  share(of, "--gres", of.tasks_per_node());
}

// "ALL", "NONE", "A=1,B", "ALL,A=1".
void add_exported(Translation& of) {
  const auto given = of.take("--export");
  if (!given) return;
  std::string rest = given->value + ",";
  const bool keeps_all = rest.starts_with("ALL,");
  if (!keeps_all) of.use(*given, {"--env=-*"});
  for (auto cut = rest.find(','); cut != std::string::npos; cut = rest.find(',')) {
    const std::string item = rest.substr(0, cut);
    rest.erase(0, cut + 1);
    const bool is_word = item.empty() || item == "ALL" || item == "NONE" || item == "NIL";
    const bool is_there = item.find('=') != std::string::npos || getenv(item.c_str()) != nullptr;
    if (!is_word && is_there) of.use(*given, {"--env=" + item});
  }
}

Result<Translated> translate_slurm(const Parser::Layer& lines, const Around& around) {
  Translation of(kSlurm, around);
  of.read(lines);
  if (of.lacks("--array"))
    return fail(Errc::invalid_argument,
                "the script is for an array; `holon submit --translate` makes one of it",
                lines.front().place);
  of.count_tasks({"--ntasks-per-node", "--tasks-per-node"});
  files(of);
  add_memory(of);
  add_gpus(of);
  exclusive(of);
  add_exported(of);
  tell_script(of);
  for (const auto& [option, value] : kSoAnyway) of.take_where(option, value);
  of.take("--parsable");    // submit prints the id alone
  of.take("--no-requeue");  // as it is
  for (const auto& [option, why] : kWhy)
    if (const auto given = of.take(option)) of.no_equal(*given, why);
  return std::move(of).finish();
}

}  // namespace holon::cli
