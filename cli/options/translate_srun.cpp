// As srun(1) of Slurm 22.05 documents its options: those of sbatch(1), and those of a step. What
// the words do not say is said by the variables that sbatch has set.
#include <fmt/format.h>

#include <algorithm>

#include "base/idset.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/translate_slurm.hpp"

namespace holon::cli {
namespace {

Text mpi_of_srun(const std::string& value) {
  if (value == "none" || value == "pmi2") return value;
  return value == "pmix" || value.starts_with("pmix_v") ? Text("pmix") : std::nullopt;
}

Text at_once(const std::string& value) {
  return value.empty() ? Text("y") : std::nullopt;
}

// "1", or no value; "0" is what holon does unasked.
Text on_or_off(const std::string& value) {
  return value.empty() || value == "1" ? Text("") : std::nullopt;
}

// Before those of sbatch's, of which some have another letter or meaning here.
constexpr Equal kOfSteps[] = {
    {"-l", "--label", Takes::nothing, "-l"},
    // Of a job, which a step is not.
    {"-p", "--partition", Takes::value, ""},
    {"-A", "--account", Takes::value, ""},
    {"-q", "--qos", Takes::value, ""},
    {"-d", "--dependency", Takes::value, ""},
    {"-a", "--array", Takes::value, ""},
    {"-b", "--begin", Takes::value, ""},
    {"-H", "--hold", Takes::nothing, ""},
    {"-L", "--licenses", Takes::value, ""},
    {"", "--requeue", Takes::nothing, ""},
    {"", "--pty", Takes::nothing, "--pty"},
    {"", "--mpi", Takes::value, "--mpi", mpi_of_srun},
    {"-K", "--kill-on-bad-exit", Takes::joined_value, "", on_or_off},
    {"-I", "--immediate", Takes::joined_value, "", at_once},
    {"-W", "--wait", Takes::value, ""},
    {"-T", "--threads", Takes::value, ""},
    {"-X", "--disable-status", Takes::nothing, ""},
    {"-E", "--preserve-env", Takes::nothing, ""},
    {"-u", "--unbuffered", Takes::nothing, ""},
    {"-r", "--relative", Takes::value, ""},
    {"-Z", "--no-allocate", Takes::nothing, ""},
    {"-h", "--help", Takes::nothing, ""},
    {"-V", "--version", Takes::nothing, ""},
    {"", "--usage", Takes::nothing, ""},
    {"", "--overlap", Takes::nothing, ""},
    {"", "--exact", Takes::nothing, ""},
    {"", "--whole", Takes::nothing, ""},
    {"", "--interactive", Takes::nothing, ""},
    {"", "--multi-prog", Takes::nothing, ""},
    {"", "--het-group", Takes::value, ""},
    {"", "--pack-group", Takes::value, ""},
    {"", "--jobid", Takes::value, ""},
    {"", "--cpu-bind", Takes::value, ""},
    {"", "--bcast", Takes::joined_value, ""},
    {"", "--compress", Takes::joined_value, ""},
    {"", "--send-libs", Takes::joined_value, ""},
    {"", "--prolog", Takes::value, ""},
    {"", "--epilog", Takes::value, ""},
    {"", "--task-prolog", Takes::value, ""},
    {"", "--task-epilog", Takes::value, ""},
    {"", "--msg-timeout", Takes::value, ""},
    {"", "--quit-on-interrupt", Takes::nothing, ""},
    {"", "--resv-ports", Takes::joined_value, ""},
    {"", "--slurmd-debug", Takes::value, ""},
    {"", "--debugger-test", Takes::nothing, ""},
    {"", "--launch-cmd", Takes::nothing, ""},
    {"", "--tres-per-task", Takes::value, ""},
};

// Which say what is so here anyway, or are about the job around.
constexpr std::string_view kNothingToDo[] = {
    "--unbuffered",    "--quiet",         "--verbose",           "--exact",
    "--exclusive",     "--threads",       "--disable-status",    "--preserve-env",
    "--oversubscribe", "--msg-timeout",   "--quit-on-interrupt", "--resv-ports",
    "--slurmd-debug",  "--debugger-test", "--acctg-freq",        "--profile",
    "--gres-flags",    "--mem-bind",      "--propagate",         "--partition",
    "--account",       "--qos",           "--reservation",       "--comment",
    "--wckey",         "--clusters",      "--mcs-label",         "--whole",
    "--network",       "--interactive",   "--gpu-bind",          "--wait-all-nodes",
    "--no-kill",       "--open-mode",     "--compress",          "--mail-type",
    "--mail-user"};

// What a step goes without; the step is what was meant all the same.
constexpr std::pair<std::string_view, std::string_view> kNotes[] = {
    {"--overlap", "a step has cores of its own, and waits until some are free"},
    {"--wait", "a task that ends, ends no other; -K does where it fails"}};

constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"--multi-prog", "a step is one program; several steps may run beside each other, `&`"},
    {"--het-group", "there are no heterogeneous jobs"},
    {"--pack-group", "there are no heterogeneous jobs"},
    {"--jobid", "a step is one of the job around"},
    {"--relative", "say the node's name: -w NAME"},
    {"--overcommit", "a task has cores of its own"},
    {"--dependency", "a step begins when it is typed; `wait` waits for others"},
    {"--array", "a step is no array"},
    {"--bcast", "`holon run --add-file` gives a job a file"}};

// Each value that is true here anyway; another would be another step.
constexpr std::pair<std::string_view, std::string_view> kTrueHere[] = {
    {"--hint", "nomultithread"},     {"--hint", "compute_bound"},
    {"--hint", "memory_bound"},      {"--threads-per-core", "1"},
    {"--ntasks-per-core", "1"},      {"--kill-on-bad-exit", "0"},
    {"--cpu-bind", "cores"},         {"--cpu-bind", "core"},
    {"--cpu-bind", "threads"},       {"--cpu-bind", "rank"},
    {"--cpu-bind", "sockets"},       {"--cpu-bind", "ldoms"},
    {"--cpu-bind", "verbose"},       {"--cpu-bind", "v"},
    {"--cpu-bind", "quiet"},         {"--cpu-bind", "cores,verbose"},
    {"--cpu-bind", "verbose,cores"}, {"--mem", "0"}};

std::vector<Equal> rows_of_srun() {
  std::vector<Equal> rows(std::begin(kOfSteps), std::end(kOfSteps));
  for (Equal row : rows_of_sbatch()) {
    bool is_there = false;
    for (const Equal& own : kOfSteps) {
      is_there = is_there || own.name == row.name;
      if (own.letter == row.letter) row.letter = "";
    }
    if (!is_there) rows.push_back(row);
  }
  return rows;
}

// The options each by itself, up to the first word that is none, as getopt_long(3) takes them: "-lu
// -n4" is -l, -u, -n4.
class SrunWords {
 public:
  explicit SrunWords(std::span<const Equal> rows) : rows_(rows) {}

  Status read(const std::vector<std::string>& words) {
    std::size_t i = 0;
    for (; i < words.size() && words[i].size() > 1 && words[i][0] == '-'; ++i) {
      if (words[i] == "--") {
        ++i;
        break;
      }
      const bool is_long = words[i][1] == '-';
      if (auto good = is_long ? read_name(words, i) : read_letters(words, i); !good) return good;
    }
    command.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
    return {};
  }

  bool has(std::initializer_list<std::string_view> names) const {
    return std::any_of(found_.begin(), found_.end(), [&names](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }

  Parser::Layer lines;
  std::vector<std::string> command;

 private:
  static Status unknown(const std::string& word) {
    return fail(Errc::invalid_argument, "holon knows no such option of srun", word);
  }

  Status add(const Equal& row, std::string word, const std::vector<std::string>& words,
             std::size_t& at, bool has_value) {
    found_.push_back(row.name);
    std::vector<std::string> line = {std::move(word)};
    if (row.takes == Takes::value && !has_value) {
      if (at + 1 >= words.size())
        return fail(Errc::invalid_argument, "a value is missing", line.front());
      line.push_back(words[++at]);
    }
    lines.push_back({"srun", std::move(line)});
    return {};
  }

  Status read_name(const std::vector<std::string>& words, std::size_t& at) {
    const std::string& word = words[at];
    const auto cut = word.find('=');
    const Equal* row = row_of(rows_, word.substr(0, cut));
    if (row == nullptr) return unknown(word);
    return add(*row, word, words, at, cut != std::string::npos);
  }

  Status read_letters(const std::vector<std::string>& words, std::size_t& at) {
    const std::string& word = words[at];
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string letter = {'-', word[i]};
      const Equal* row = row_of(rows_, letter);
      if (row == nullptr) return unknown(word);
      const std::string rest = word.substr(i + 1);
      if (row->takes != Takes::nothing) return add(*row, letter + rest, words, at, !rest.empty());
      if (auto good = add(*row, letter, words, at, false); !good) return good;
    }
    return {};
  }

  std::span<const Equal> rows_;
  std::vector<std::string_view> found_;
};

using Variable = std::function<std::string(const std::string&)>;

std::int64_t number_at(const Variable& variable, const char* name, std::int64_t otherwise) {
  return count_of(variable(name)).value_or(otherwise);
}

// Of what srun(1) lists as its INPUT ENVIRONMENT VARIABLES. Options that are typed stand behind
// these, and are taken instead.
Parser::Layer lines_of_variables(const SrunWords& typed, const Variable& variable) {
  Parser::Layer lines;
  const auto add = [&](const char* name, const std::string& option) {
    if (const std::string value = variable(name); !value.empty())
      lines.push_back({name, {option + value}});
  };
  const std::int64_t job_nodes = number_at(variable, "SLURM_JOB_NUM_NODES", 1);
  const std::int64_t job_tasks = number_at(variable, "SLURM_NTASKS", 1);
  // A task a node, where nobody has said more: of -N 1 that is one, also where the job has others.
  const bool counts_nodes = typed.has({"--nodes"}) && job_tasks == job_nodes;
  if (!typed.has({"--ntasks", "--ntasks-per-node", "--tasks-per-node"}) && !counts_nodes)
    add("SLURM_NTASKS", "--ntasks=");
  if (!typed.has({"--gpus", "--gpus-per-node", "--gpus-per-task", "--gres"}))
    add("SLURM_GPUS_PER_TASK", "--gpus-per-task=");
  for (const auto& [name, option] : {std::pair("SLURM_DISTRIBUTION", "--distribution="),
                                     {"SLURM_MPI_TYPE", "--mpi="},
                                     {"SLURM_STDOUTMODE", "--output="},
                                     {"SLURM_STDERRMODE", "--error="},
                                     {"SLURM_STDINMODE", "--input="}})
    add(name, option);
  if (variable("SLURM_LABELIO") == "1") lines.push_back({"SLURM_LABELIO", {"--label"}});
  if (variable("SLURM_KILL_BAD_EXIT") == "1")
    lines.push_back({"SLURM_KILL_BAD_EXIT", {"--kill-on-bad-exit"}});
  return lines;
}

// "all" and "none" are no files.
void step_files(Translation& of, const Variable& variable) {
  const std::string job = variable("SLURM_JOB_ID"), index = variable("SLURM_ARRAY_TASK_ID");
  const std::string array = variable("SLURM_ARRAY_JOB_ID");
  WordsOfFiles words = {
      {'j', job}, {'A', array.empty() ? job : array}, {'t', "{{taskid}}"}, {'u', user_name()}};
  if (!index.empty()) words['a'] = index;
  if (const auto name = variable("SLURM_JOB_NAME"); !name.empty()) words['x'] = name;
  for (const auto& [theirs, ours] :
       {std::pair("--output", "-o"), {"--error", "-e"}, {"--input", "--input"}}) {
    const auto given = of.take(theirs);
    if (!given) continue;
    const bool is_input = std::string_view(theirs) == "--input";
    const bool is_rank =
        !given->value.empty() && given->value.find_first_not_of("0123456789") == std::string::npos;
    const auto name = slurm_file(given->value, words);
    if (!is_input && given->value == "all") continue;
    if (!is_input && given->value == "none")
      of.use(*given, {ours, "/dev/null"});
    else if (!is_input && is_rank)
      of.no_equal(*given, "the output is that of all tasks; -l says whose a line is");
    else if (name && given->has_value)
      of.use(*given, {ours, *name});
    else
      of.no_equal(*given, "of what % stands for, %j %A %a %x %t %u have an equal");
  }
}

void step_flags(Translation& of) {
  for (const auto& [option, ours] :
       {std::pair("--kill-on-bad-exit", "--kill-on-bad-exit"), {"--immediate", "--now=y"}})
    if (const auto given = of.take(option)) {
      if (given->value == "0") continue;
      if (given->value.empty() || given->value == "1")
        of.use(*given, {ours});
      else
        of.no_equal(*given);
    }
}

// The nodes are those of the job, as far as the tasks suffice.
void spread(Translation& of, const Variable& variable) {
  const std::int64_t job_nodes = number_at(variable, "SLURM_JOB_NUM_NODES", 1);
  if (job_nodes < 2 || of.nodes() || of.uses("-N") || !of.tasks()) return;
  const std::int64_t nodes = std::min(job_nodes, *of.tasks());
  of.use({}, {"-N", std::to_string(nodes)});
}

// Slurm hands a step all GPUs of its job unless it says otherwise; here each task has its share.
std::string share_gpus(Translation& of, const SrunWords& typed, const Variable& variable) {
  const auto here = Idset::parse(variable("SLURM_JOB_GPUS"));
  if (!here || here->empty() || of.uses("-g") || !of.tasks() ||
      typed.has({"--gpus", "--gpus-per-node", "--gpus-per-task", "--gres"}))
    return "";
  const std::int64_t job_nodes = number_at(variable, "SLURM_JOB_NUM_NODES", 1);
  const std::int64_t nodes = of.nodes().value_or(std::min(job_nodes, *of.tasks()));
  const auto gpus = static_cast<std::int64_t>(here->count()) * nodes;
  if (gpus % *of.tasks() != 0)
    return fmt::format(
        "{} GPUs do not divide among {} tasks, which run without; --gpus-per-task N "
        "gives each of them some",
        gpus, *of.tasks());
  of.use({}, {"-g", std::to_string(gpus / *of.tasks())});
  return "";
}

// A step of the job's own shape has its cores per task, which older releases than 22.05 have also
// passed on; one of more tasks than these suffice for has one a task.
std::int64_t cores_of_tasks(Translation& of, const Variable& variable) {
  if (of.uses("-c")) return of.cores_per_task();
  const std::int64_t of_job = number_at(variable, "SLURM_CPUS_PER_TASK", 1);
  const std::int64_t job_tasks = number_at(variable, "SLURM_NTASKS", 1);
  const std::int64_t cores =
      number_at(variable, "SRUN_CPUS_PER_TASK", of.tasks().value_or(1) <= job_tasks ? of_job : 1);
  if (cores > 1) of.use({}, {"-c", std::to_string(cores)});
  return cores;
}

void leave_out(Translation& of, std::vector<std::string>& notes) {
  for (const auto& [name, value] : kTrueHere) of.take_where(name, value);
  for (const auto name : kNothingToDo) of.take(name);
  for (const auto& [name, why] : kNotes) {
    const auto given = of.take(name);
    if (given && given->value != "0")
      notes.push_back(fmt::format("{}: ignored; {}", given->typed, why));
  }
  if (const auto given = of.take("--cpu-bind"))
    notes.push_back(given->typed + ": ignored; each task is bound to the cores it has");
  for (const auto& [name, why] : kRefused)
    if (const auto given = of.take(name)) of.no_equal(*given, why);
}

Result<Srun> made_of(Translation&& of, Srun step) {
  const std::int64_t tasks = step.tasks;
  step.environment = {fmt::format("SLURM_NTASKS={}", tasks), fmt::format("SLURM_NPROCS={}", tasks)};
  if (step.cores > 1) step.environment.push_back(fmt::format("SLURM_CPUS_PER_TASK={}", step.cores));
  const Translated done = std::move(of).finish();
  if (!done.no_equal.empty())
    return fail(Errc::invalid_argument, done.no_equal.front().substr(std::string("srun: ").size()));
  for (const auto& line : done.lines) step.options.push_back(line.words);
  return step;
}

}  // namespace

Result<Srun> translate_srun(const std::vector<std::string>& words, const Variable& variable) {
  const auto rows = rows_of_srun();
  SrunWords typed(rows);
  Srun step;
  if (auto good = typed.read(words); !good) return tl::unexpected(good.error());
  step.is_help = typed.has({"--help", "--usage", "--version"});
  if (step.is_help) return step;
  step.command = typed.command;
  if (step.command.empty())
    return fail(Errc::invalid_argument, "a program is missing: srun -n 4 ./prog");
  if (std::find(step.command.begin(), step.command.end(), ":") != step.command.end())
    return fail(Errc::invalid_argument, "there are no heterogeneous jobs; one program is one step",
                ":");

  const Around around{[](const std::string&) { return true; },
                      [](const std::string&) { return std::string(); }, true};
  Translation of(rows, around);
  of.read(lines_of_variables(typed, variable));
  of.read(typed.lines);
  of.count_tasks({"--ntasks-per-node", "--tasks-per-node"});
  if (!of.tasks()) return fail(Errc::invalid_argument, "-n takes a number of tasks, at least 1");
  step.tasks = *of.tasks();
  leave_out(of, step.notes);
  step.cores = cores_of_tasks(of, variable);
  spread(of, variable);
  step_files(of, variable);
  step_flags(of);
  add_memory(of);
  add_gpus(of);
  add_exported(of);
  if (auto note = share_gpus(of, typed, variable); !note.empty())
    step.notes.push_back(std::move(note));
  return made_of(std::move(of), std::move(step));
}

}  // namespace holon::cli
