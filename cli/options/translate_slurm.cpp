// As sbatch(1) of Slurm 22.05 documents its options.
#include <fmt/format.h>

#include <cstdlib>

#include "cli/options/array_options.hpp"
#include "cli/options/translation.hpp"

namespace holon::cli {
namespace {

Text a_limit(const std::string& value) {
  return value == "UNLIMITED" || value == "INFINITE" || value == "infinite" ? "inf" : value;
}

// "%j-%t.log" is "{{id}}-{{taskid}}.log". Of an array %A is its id, %a the index of the task.
Text slurm_file(const std::string& value, bool of_array) {
  std::string ours;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '%') {
      ours += value[i];
      continue;
    }
    const char letter = ++i < value.size() ? value[i] : 0;
    if (letter == '%')
      ours += '%';
    else if (letter == 'j')
      ours += "{{id}}";
    else if (letter == 'x')
      ours += "{{name}}";
    else if (letter == 't')
      ours += "{{taskid}}";
    else if (letter == 'A' && of_array)
      ours += "{{array.id}}";
    else if (letter == 'a' && of_array)
      ours += "{{array.index}}";
    else
      return std::nullopt;
  }
  return ours;
}

// Indices with steps in a list have no equal.
Text slurm_array(const std::string& value) {
  return parse_indices(value) ? Text(value) : std::nullopt;
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

// Behind the colon, where it is said at all, stands how tasks lie within a node.
Text over_nodes(const std::string& value) {
  const auto colon = value.find(':');
  const std::string nodes = value.substr(0, colon);
  const std::string within = colon == std::string::npos ? "*" : value.substr(colon + 1);
  const bool is_known =
      (nodes == "block" || nodes == "cyclic") && (within == "*" || within == "block");
  return is_known ? Text(nodes) : std::nullopt;
}

Text held(const std::string&) {
  return "hold";
}

constexpr Equal kSlurm[] = {
    {"-n", "--ntasks", Takes::value, "-n"},
    {"-N", "--nodes", Takes::value, "-N", a_number},
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
    {"", "--gpus-per-task", Takes::value, "-g", a_number},
    // Looked at together with others.
    {"-o", "--output", Takes::value, ""},
    {"-e", "--error", Takes::value, ""},
    {"-i", "--input", Takes::value, ""},
    {"", "--ntasks-per-node", Takes::value, ""},
    {"", "--mem", Takes::value, ""},
    {"", "--mem-per-cpu", Takes::value, ""},
    {"", "--gres", Takes::value, ""},
    {"", "--gpus-per-node", Takes::value, ""},
    {"-G", "--gpus", Takes::value, ""},
    {"", "--exclusive", Takes::joined_value, ""},
    {"", "--export", Takes::value, ""},
    // Without a value of their own.
    {"-W", "--wait", Takes::nothing, ""},
    {"-s", "--oversubscribe", Takes::nothing, ""},
    {"-O", "--overcommit", Takes::nothing, ""},
    {"-k", "--no-kill", Takes::joined_value, ""},
    {"-Q", "--quiet", Takes::nothing, ""},
    {"-v", "--verbose", Takes::nothing, ""},
    {"", "--requeue", Takes::nothing, ""},
    {"", "--no-requeue", Takes::nothing, ""},
    {"", "--parsable", Takes::nothing, ""},
    {"", "--contiguous", Takes::nothing, ""},
    {"", "--spread-job", Takes::nothing, ""},
    {"", "--use-min-nodes", Takes::nothing, ""},
    {"", "--nice", Takes::joined_value, ""},
};

void files(Translation& of) {
  const bool of_array = of.uses("--array");
  for (const auto& [theirs, ours] :
       {std::pair("--output", "-o"), {"--error", "-e"}, {"--input", "--input"}})
    if (const auto given = of.take(theirs)) {
      const auto name = slurm_file(given->value, of_array);
      if (name && given->has_value && of.knows(ours))
        of.use(*given, {ours, *name});
      else
        of.no_equal(*given);
    }
}

// "4G", "512" (MiB), in MiB; nullopt also for 0, which is all that a node has.
std::optional<std::int64_t> mebibytes(std::string text) {
  std::int64_t kib = 1024;
  if (!text.empty() && std::string("KMGTkmgt").find(text.back()) != std::string::npos) {
    const char unit = static_cast<char>(text.back() & ~0x20);
    kib = unit == 'K' ? 1 : unit == 'M' ? 1024 : unit == 'G' ? 1 << 20 : 1 << 30;
    text.pop_back();
  }
  const auto number = count_of(text);
  if (!number) return std::nullopt;
  return (*number * kib + 1023) / 1024;
}

// Slurm counts the memory of a node or a core, holon that of a task.
void memory(Translation& of) {
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

void share(Translation& of, const Translation::Given& given, std::optional<std::int64_t> gpus,
           std::optional<std::int64_t> tasks) {
  if (gpus && tasks && *gpus % *tasks == 0)
    of.use(given, {"-g", std::to_string(*gpus / *tasks)});
  else
    of.no_equal(given);
}

// Slurm counts the GPUs of a node or of the job, holon those of a task.
void gpus(Translation& of) {
  if (const auto given = of.take("--gpus-per-node"))
    share(of, *given, count_of(given->value), of.tasks_per_node());
  if (const auto given = of.take("--gpus")) share(of, *given, count_of(given->value), of.tasks());
  if (const auto given = of.take("--gres")) {
    const std::string& value = given->value;
    const bool is_gpu = value.starts_with("gpu:");
    share(of, *given,
          value == "gpu" ? 1
          : is_gpu       ? count_of(value.substr(4))
                         : std::nullopt,
          of.tasks_per_node());
  }
}

void exclusive(Translation& of) {
  const auto given = of.take("--exclusive");
  if (!given) return;
  if (given->has_value || (!of.nodes() && of.tasks() != 1)) return of.no_equal(*given);
  if (!of.nodes()) of.use(*given, {"-N", "1"});
  of.use(*given, {"-x"});
}

// "ALL", "NONE", "A=1,B", "ALL,A=1".
void exported(Translation& of) {
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

}  // namespace

Translated translate_slurm(const Parser::Layer& lines, const Knows& knows) {
  Translation of(kSlurm, knows);
  of.read(lines);
  of.count_tasks("--ntasks-per-node");
  files(of);
  memory(of);
  gpus(of);
  exclusive(of);
  exported(of);
  of.take("--parsable");    // submit prints the id alone
  of.take("--no-requeue");  // as it is
  return std::move(of).finish();
}

}  // namespace holon::cli
