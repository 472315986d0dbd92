#include "cli/options/job_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/names.hpp"
#include "base/text/utf8.hpp"
#include "cli/options/constraints.hpp"
#include "cli/options/dependencies.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "instance/request/scheduling_options.hpp"
#include "launch/signal_name.hpp"
#include "launch/tasks/rlimits.hpp"
#include "resource/graph/spec.hpp"

namespace holon::cli {
namespace {

constexpr std::uint32_t kMaxUrgency = 31;

// Puts where the tasks' output goes and their input comes from in the places of Flux.
void add_shell_options(const JobOptions& options, const std::string& cwd,
                       nlohmann::ordered_json& system) {
  nlohmann::ordered_json shell = nlohmann::ordered_json::object();
  const auto file = [&cwd](const std::string& name) {
    return nlohmann::ordered_json{{"type", "file"},
                                  {"path", (std::filesystem::path(cwd) / name).string()}};
  };
  if (options.output) shell["output"]["stdout"] = file(*options.output);
  if (options.error) shell["output"]["stderr"] = file(*options.error);
  if (!options.forwarded.empty())
    shell["input"]["stdin"] = {{"type", "service"}, {"ranks", options.forwarded}};
  else if (options.input && *options.input != "none")
    shell["input"]["stdin"] = file(*options.input);
  if (options.label_io) shell["label-io"] = true;
  if (options.kill_on_bad_exit) shell["exit-on-error"] = true;
  if (options.names_of_slurm) shell["slurm-names"] = true;
  if (options.mpi) shell["mpi"] = *options.mpi;
  if (options.distribution) shell["taskmap"] = {{"scheme", *options.distribution}, {"value", ""}};
  if (!options.rlimits.empty()) shell["rlimit"] = options.rlimits;
  // The job's files are as private as the user's own files here. The usual mask is not sent.
  constexpr mode_t kUsualMask = 022;
  const mode_t own_mask = umask(kUsualMask);
  umask(own_mask);
  if (options.for_user.empty() && own_mask != kUsualMask)
    shell["umask"] = fmt::format("{:03o}", own_mask);
  if (options.warning)
    shell["signal"] = {{"signum", options.warning->signal},
                       {"timeleft", static_cast<double>(options.warning->before) / 1000}};
  if (!shell.empty()) system["shell"]["options"] = shell;
}

std::string name_of_command(const std::vector<std::string>& command) {
  return command.empty() ? "" : std::filesystem::path(command.front()).filename().string();
}

Status check_words(const resource::JobShape& shape, const JobOptions& options) {
  for (const auto& word : shape.command)
    if (auto good = check_text(word, "COMMAND"); !good) return good;
  const std::pair<std::string, const char*> kTexts[] = {{shape.cwd, "--cwd"},
                                                        {shape.name, "--name"},
                                                        {options.output.value_or(""), "--output"},
                                                        {options.error.value_or(""), "--error"},
                                                        {options.input.value_or(""), "--input"}};
  for (const auto& [text, option] : kTexts)
    if (auto good = check_text(text, option); !good) return good;
  return {};
}

bool is_no_text(const Environment::value_type& variable) {
  return !resource::is_utf8(variable.first) || !resource::is_utf8(variable.second);
}

// Inherited variables that are no text do not stop a job; those asked for by name do.
Status check_environment(const JobOptions& options) {
  for (const auto& rule : options.environment)
    if (auto good = check_text(rule, "--env"); !good) return good;
  return {};
}

Status bad_shape(const Error& error) {
  // Fields of the builder by the options that a person types for them.
  static const std::map<std::string, std::string> kOption = {
      {"nodes", "-N,--nodes"},
      {"tasks", "-n"},
      {"cores_per_task", "-c"},
      {"gpus_per_task", "-g"},
      {"memory_per_task", "-m,--mem"},
      {"exclusive", "-x,--exclusive"},
      {"duration_seconds", "-t,--time-limit"}};
  const auto found = kOption.find(error.where);
  return fail(error.code, error.what, found == kOption.end() ? error.where : found->second);
}

// Reads "matlab=2", "matlab:2", "matlab", "matlab=2/slot", several of them with commas.
Status read_licenses(const std::string& word, JobOptions& options) {
  constexpr std::string_view kEach = "/slot";
  std::size_t begin = 0;
  while (begin <= word.size()) {
    const std::size_t end = std::min(word.find(',', begin), word.size());
    std::string item = word.substr(begin, end - begin);
    begin = end + 1;
    const bool each = std::string_view(item).ends_with(kEach);
    if (each) item.resize(item.size() - kEach.size());
    const std::size_t cut = item.find_first_of("=:");
    const std::string name = item.substr(0, cut);
    const std::string amount = cut == std::string::npos ? "1" : item.substr(cut + 1);
    const bool digits = !amount.empty() && amount.size() < 10 &&
                        amount.find_first_not_of("0123456789") == std::string::npos;
    if (name.empty() || !digits || std::stoll(amount) == 0)
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is not accepted; NAME, NAME=2, NAME=2/slot and NAME=2,OTHER=1 "
                              "are",
                              item));
    (each ? options.licenses_per_slot : options.licenses)[name] += std::stoll(amount);
  }
  return {};
}

// Reads one number, or a range whose least number goes into the jobspec.
std::function<Status(const std::string&)> slots_reader(JobOptions& options, Unit unit) {
  return [&options, unit](const std::string& word) -> Status {
    const auto slots = instance::read_slots(word, unit == Unit::task ? "tasks" : "slots");
    if (!slots) return tl::unexpected(slots.error());
    options.tasks_given = true;
    options.shape.tasks = slots->least();
    options.slots = slots->min == slots->max && slots->values.size() < 2 ? "" : word;
    return {};
  };
}

std::function<Status(const std::string&)> yes_or_no(bool& target) {
  return [&target](const std::string& word) -> Status {
    if (word != "y" && word != "n" && word != "yes" && word != "no")
      return fail(Errc::invalid_argument, fmt::format("'{}' is not accepted; y and n are", word));
    target = word.front() == 'y';
    return {};
  };
}

std::function<Status(const std::string&)> one_of(std::vector<std::string> accepted,
                                                 std::optional<std::string>& target) {
  return [accepted = std::move(accepted), &target](const std::string& word) -> Status {
    target = word;
    if (std::find(accepted.begin(), accepted.end(), word) != accepted.end()) return {};
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is not accepted; {} are", word, fmt::join(accepted, ", ")));
  };
}

std::function<Status(const std::string&)> times_reader(JobOptions& options) {
  return [&options](const std::string& word) -> Status {
    if (auto read = number_up_to(instance::kMostRetries, options.requeue)(word); !read) return read;
    if (options.requeue >= 0) return {};
    return fail(Errc::invalid_argument, fmt::format("'{}' is no number of times", word));
  };
}

void add_scheduling_options(Parser& parser, JobOptions& options) {
  add_license_option(parser, options);
  add_environment_option(parser, options);
  parser.option("-A,--account,--bank", options.account, "NAME", "the account it counts for")
      .option("--qos", options.qos, "NAME", "the quality of service it asks for")
      .option("--group", options.group, "NAME",
              "one of your groups it counts for; your primary group unless given")
      .option(
          "--reservation",
          [&options](const std::string& word) -> Status {
            const char* end = word.data() + word.size();
            const auto [last, error] = std::from_chars(word.data(), end, options.reservation);
            if (error == std::errc{} && last == end && options.reservation > 0) return {};
            return fail(Errc::invalid_argument,
                        fmt::format("'{}' is no number of a reservation", word));
          },
          "ID", "run in this advance reservation (holon reserve)")
      .option("-R,--reserve", yes_or_no(options.reserve), "y|n",
              "whether it may hold a reservation while it waits; y unless given")
      .flag("--preemptible", options.preemptible,
            "jobs of queues that preempt (preempt.mode) may take its place while it runs")
      .option("--now", yes_or_no(options.immediate), "y|n",
              "y: start at once or fail; n unless given")
      .option("-d,--dependency", dependencies_reader(options.dependencies), "SCHEME:ID...",
              "wait for other jobs, all of them: after (it has started), afterany (ended), afterok "
              "(completed), afternotok (failed); singleton: for all earlier ones of this name; "
              "begin-time:SECONDS; afterok:3:5,afterany:7 names several; may be repeated")
      .option(
          "--attr",
          [&options](const std::string& word) -> Status {
            const auto equals = word.find('=');
            if (equals == std::string::npos || equals == 0)
              return fail(Errc::invalid_argument,
                          fmt::format("'{}' is not accepted; KEY=VALUE is", word));
            options.attributes[word.substr(0, equals)] = word.substr(equals + 1);
            return {};
          },
          "KEY=VALUE", "what the policy of the queue may look at; may be repeated")
      .adds_up()
      .option(
          "--begin-time|--begin",
          [&options](const std::string& word) -> Status {
            const auto at = parse_time(word, instance::wall_clock_ms());
            if (!at) return tl::unexpected(at.error());
            options.begin = *at;
            return {};
          },
          "TIME", "not before +30m, 18:30, 2026-12-24 (0:00) or 2026-12-24T18:30");
}

Result<std::string> group_name(gid_t id) {
  errno = 0;
  if (const ::group* const entry = getgrgid(id)) return std::string(entry->gr_name);
  if (could_not_ask(errno))
    return system_error(fmt::format("the name of your group {} could not be asked for", id));
  return std::to_string(id);
}

// The named group, if this process is in it; the primary one without a name.
Result<std::string> own_group(const std::string& wanted) {
  if (wanted.empty()) return group_name(getgid());
  std::vector<gid_t> ids(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  if (!ids.empty()) getgroups(static_cast<int>(ids.size()), ids.data());
  ids.insert(ids.begin(), getgid());
  std::set<std::string> names;
  for (const gid_t id : ids) {
    auto name = group_name(id);
    if (!name) return name;
    names.insert(std::move(*name));
  }
  if (names.contains(wanted)) return wanted;
  const auto why =
      fmt::format("you are not in group '{}'; yours are {}", wanted, fmt::join(names, ", "));
  return fail(Errc::invalid_argument, why, "--group");
}

// The dependencies as RFC 26 has them: a list of {scheme, value}.
nlohmann::ordered_json dependencies_of(const JobOptions& options) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& word : options.dependencies) {
    const auto colon = word.find(':');
    const auto value = colon == std::string::npos ? "" : word.substr(colon + 1);
    list.push_back({{"scheme", word.substr(0, colon)}, {"value", value}});
  }
  if (options.begin > 0)
    list.push_back(
        {{"scheme", "begin-time"},
         {"value", fmt::format("{}.{:03}", options.begin / 1000, options.begin % 1000)}});
  return list;
}

// Adds the scheduler's attributes: attributes.system.bank and our own object (docs/protocol.md).
Status add_wishes(const JobOptions& options, nlohmann::ordered_json& system) {
  // Only the broker knows the groups of another user.
  const auto group =
      options.for_user.empty() ? own_group(options.group) : Result<std::string>(options.group);
  if (!group) return tl::unexpected(group.error());
  for (const auto& word : options.dependencies)
    if (auto good = check_dependency(word); !good) return good;
  if (!options.account.empty()) system["bank"] = options.account;
  if (auto list = dependencies_of(options); !list.empty()) system["dependencies"] = std::move(list);
  auto& ours = system["holon"] = nlohmann::ordered_json::object();
  if (!group->empty()) ours["group"] = *group;
  if (!options.qos.empty()) ours["qos"] = options.qos;
  if (options.reservation > 0) ours["reservation"] = options.reservation;
  if (!options.parallel.empty()) ours["environment"] = options.parallel;
  if (!options.slots.empty() && options.shape.nodes > 0)
    return fail(Errc::invalid_argument, "a range of slots cannot be spread over -N nodes", "-n");
  if (!options.slots.empty()) ours["slots"] = options.slots;
  if (!options.licenses.empty()) ours["licenses"] = options.licenses;
  if (!options.licenses_per_slot.empty()) ours["licenses_per_slot"] = options.licenses_per_slot;
  if (!options.reserve) ours["reserve"] = false;
  if (options.immediate) ours["immediate"] = true;
  if (options.own) ours["own"] = true;
  if (options.requeue > 0) ours["requeue"] = options.requeue;
  if (!options.retry_on.empty() && options.requeue == 0)
    return fail(Errc::invalid_argument, "needs --requeue N: so many times at most", "--retry-on");
  if (!options.retry_on.empty()) ours["retry_on"] = options.retry_on;
  constexpr std::int64_t kMostKept = std::int64_t{1} << 45;  // of a task; no node has more
  if (options.memory > 0) ours["memory"] = std::min(options.memory, kMostKept);
  if (options.preemptible) ours["preemptible"] = true;
  if (options.checkpoint_signal != 0) ours["checkpoint_signal"] = options.checkpoint_signal;
  if (options.array) {
    const IndexRange& indices = options.array->indices;
    ours["array"] = indices.list.empty()
                        ? nlohmann::ordered_json{{"first", indices.first}, {"step", indices.step}}
                        : nlohmann::ordered_json{{"indices", indices.list}};
    if (!options.array->entries.empty()) ours["array"]["entries"] = options.array->entries;
    if (options.array->max_running > 0) ours["array"]["max_running"] = options.array->max_running;
    if (options.array->open) ours["array"]["open"] = true;
    if (options.array->max_fails) ours["array"]["max_fails"] = *options.array->max_fails;
  }
  return {};
}

}  // namespace

Status check_text(const std::string& text, const std::string& where) {
  if (!is_utf8(text))
    return fail(Errc::invalid_argument, "not UTF-8; a jobspec cannot hold it", where);
  if (text.find('\0') != std::string::npos)
    return fail(Errc::invalid_argument, "has a zero byte; a jobspec cannot hold it", where);
  return {};
}

std::string user_name() {
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(getuid());
}

Result<std::string> submitting_user() {
  errno = 0;
  if (const passwd* const entry = getpwuid(getuid())) return std::string(entry->pw_name);
  if (could_not_ask(errno))
    return system_error(
        fmt::format("the name of user {}, who submits, could not be asked for", getuid()));
  return std::to_string(getuid());
}

std::function<Status(const std::string&)> nodes_reader(resource::JobShape& shape) {
  return [&shape](const std::string& word) -> Status {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), shape.nodes);
    const bool is_number = end == word.data() + word.size() && !word.empty();
    const bool is_too_large = error == std::errc::result_out_of_range
                                  ? !word.starts_with('-')
                                  : shape.nodes > resource::kMaxCount;
    if (is_number && is_too_large)
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is too large; at most {} nodes are accepted", word,
                              resource::kMaxCount));
    if (error == std::errc{} && is_number && shape.nodes >= 1) return {};
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is no number of nodes, at least 1", word));
  };
}

void add_license_option(Parser& parser, JobOptions& options) {
  parser.option(
      "-L,--license", [&options](const std::string& word) { return read_licenses(word, options); },
      "NAME=N",
      "N units of a consumable beside the resources (pools.NAME), N/slot: for each slot; may be "
      "repeated");
}

Result<std::uint32_t> parse_urgency(const std::string& word) {
  if (word == "hold") return 0;
  if (word == "default") return 16;
  if (word == "expedite") return kMaxUrgency;
  const bool digits = !word.empty() && word.size() <= 2 &&
                      word.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoul(word) > kMaxUrgency)
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}' is not accepted; 0 (held) to 31 (at once) are, and hold, default, "
                    "expedite",
                    word));
  return static_cast<std::uint32_t>(std::stoul(word));
}

void add_slots_option(Parser& parser, JobOptions& options, Unit unit) {
  const bool task = unit == Unit::task;
  parser.option(task ? "-n,--ntasks" : "-n,--nslots", slots_reader(options, unit), "N",
                std::string("number of ") + (task ? "tasks" : "slots") +
                    ", 1 unless given; 4-16, 4-, -16 or 1-3,5-6: the most that fit");
}

void add_environment_option(Parser& parser, JobOptions& options) {
  parser.option("--pe", options.parallel, "NAME",
                "a parallel environment: how its slots are spread over hosts (environments.NAME); "
                "'mpi*': any that matches");
}

void add_resource_options(Parser& parser, JobOptions& options, Unit unit) {
  const bool task = unit == Unit::task;
  auto& shape = options.shape;
  parser.group("Resources");
  add_slots_option(parser, options, unit);
  const std::string per = task ? "per task" : "per slot";
  parser
      .option(task ? "-c,--cores-per-task|--cpus-per-task" : "-c,--cores-per-slot",
              number_up_to(resource::kMaxCount, shape.cores_per_task), "N",
              "cores " + per + ", 1 unless given")
      .option(task ? "-g,--gpus-per-task" : "-g,--gpus-per-slot",
              number_up_to(resource::kMaxCount, shape.gpus_per_task), "N", "GPUs " + per)
      .option(
          "-m,--mem",
          [&options](const std::string& word) -> Status {
            const auto size = parse_memory(word);
            if (!size) return tl::unexpected(size.error());
            options.memory = *size;
            options.shape.memory_per_task = whole_gib(*size);
            return {};
          },
          "SIZE",
          "memory " + per + ": 512M, 4G; whole GiB are reserved" +
              (task ? ", and a job that uses more than it asked for is ended" : ""))
      .option("-N,--nodes", nodes_reader(shape), "N",
              std::string("spread over N nodes, one ") + (task ? "task" : "slot") +
                  " each unless -n says more; without it, wherever there is room")
      .flag("-x,--exclusive", shape.exclusive, "the whole of each node; needs -N");
  add_constraint_options(parser, shape.constraints);
  parser.option(
      "-t,--time-limit|--time",
      [&options](const std::string& word) -> Status {
        const auto limit = parse_limit(word);
        if (!limit) return tl::unexpected(limit.error());
        options.limit = *limit;
        return {};
      },
      "TIME",
      "end it after 30s, 5m, 2h, 1.5d, 5:30 (MM:SS), 01:30:00 or 1-12:00; a bare number is "
      "minutes; 0 or inf: no limit");
  parser.group("Job")
      .option("-q,--queue", shape.queue, "NAME", "the queue it waits in")
      .option("-J,--name|--job-name", shape.name, "NAME",
              "how listings call it; the command's name unless given")
      .option("--for", options.for_user, "USER",
              "for operators of an instance of several users: it is that user's, with none of this "
              "environment but --env, and begins in / but for --cwd")
      .option(
          "--urgency",
          [&options](const std::string& word) -> Status {
            const auto urgency = parse_urgency(word);
            if (!urgency) return tl::unexpected(urgency.error());
            options.urgency = *urgency;
            return {};
          },
          "0-31", "0 holds it, 16 is usual, 31 puts it first");
  add_scheduling_options(parser, options);
  parser.option(
      "--signal",
      [&options](const std::string& word) -> Status {
        const auto warning = parse_warning(word);
        if (!warning) return tl::unexpected(warning.error());
        options.warning = *warning;
        return {};
      },
      "SIG@TIME",
      task ? "warn its tasks before the time limit: USR1@60 is SIGUSR1 60 seconds before it, "
             "USR1@5m five minutes"
           : "warn the instance before its time limit, upon which it ends in order: USR1@60 is 60 "
             "seconds before it");
}

void add_task_options(Parser& parser, JobOptions& options) {
  parser.group("Job")
      .flag("--kill-on-bad-exit", options.kill_on_bad_exit,
            "a task that fails ends all tasks of the job, on all nodes, with its exit code")
      .option(
          "--distribution|--taskmap", one_of({"block", "cyclic"}, options.distribution), "HOW",
          "block: tasks of a node have consecutive ranks; cyclic: each next is on the next node")
      .option("--mpi", one_of({"auto", "pmi1", "pmi2", "pmix", "none"}, options.mpi), "KIND",
              "how the processes of an MPI program find each other: pmi1, pmi2 (both), pmix (Open "
              "MPI), none; auto, unless given, is what the program was linked with")
      .option(
          "--rlimit",
          [&options](const std::string& word) -> Status {
            const auto limit = launch::parse_process_limit(word);
            if (!limit) return tl::unexpected(limit.error());
            options.rlimits[limit->name] = limit->value;
            return {};
          },
          "NAME=N",
          "a limit of each task's process, as of ulimit: nofile=4096, core=unlimited, "
          "fsize=2G; may be repeated")
      .adds_up()
      .option("--requeue", times_reader(options), "N",
              "run it again, N times at most, when a node it runs on is lost, or as --retry-on "
              "says; after 1 second, then 2, 4, 8, ... up to ten minutes")
      .option(
          "--retry-on",
          [&options](const std::string& word) -> Status {
            if (auto codes = instance::read_exit_codes(word); !codes)
              return tl::unexpected(codes.error());
            options.retry_on = word;
            return {};
          },
          "CODES",
          "with --requeue: also when it ends with one of these exit codes: 75, 1-3,75, any")
      .option(
          "--checkpoint-signal",
          [&options](const std::string& word) -> Status {
            const auto signal = launch::parse_signal(word);
            if (!signal) return tl::unexpected(signal.error());
            options.checkpoint_signal = *signal;
            return {};
          },
          "SIG",
          "its tasks get this signal before another job takes its place, and the queue's "
          "preempt.grace to save what they have done");
}

void add_job_options(Parser& parser, JobOptions& options) {
  parser.group("Job")
      .option("--env", options.environment, "RULE",
              "NAME=VALUE sets, NAME or a PATTERN passes on, -PATTERN takes out (-* everything); "
              "may be "
              "repeated. What says where the job around runs is passed on only so: 'SLURM_*'")
      .adds_up()
      .option("-D,--cwd|--chdir", options.shape.cwd, "DIR", "where it runs; here unless given")
      .option("-o,--output", options.output, "FILE",
              "standard output; {{id}}, {{name}} and {{taskid}} stand for the job's")
      .option("-e,--error", options.error, "FILE", "standard error; with the output unless given")
      .flag("-l,--label-io|--label", options.label_io,
            "begin each line of output with the task's number")
      .hidden_flag(kNamesOfSlurm, options.names_of_slurm)
      .flag("--dry-run", options.dry_run, "print the jobspec, submit nothing");
}

Result<JobRequest> make_request(const JobOptions& options, std::vector<std::string> command) {
  JobRequest made;
  const Environment process = process_environment();
  const bool is_ours = options.for_user.empty();
  auto environment = apply_environment(is_ours ? environment_for_tasks(process) : Environment(),
                                       process, options.environment);
  if (!environment) return tl::unexpected(environment.error());

  resource::JobShape shape = options.shape;
  if (!options.tasks_given) shape.tasks = std::max<std::int64_t>(shape.nodes, 1);
  if (shape.name.empty()) shape.name = name_of_command(command);
  std::error_code error;
  const auto cwd = std::filesystem::absolute(!shape.cwd.empty() ? shape.cwd
                                             : is_ours          ? "."
                                                                : "/",
                                             error);
  if (error == std::errc::no_such_file_or_directory)
    return fail(Errc::system,
                "the current folder is gone: somebody has removed it; go to another one, or name "
                "one with --cwd");
  if (error) return fail(Errc::system, "the current folder: " + error.message());
  shape.cwd = cwd.lexically_normal().string();
  if (shape.cwd.size() > 1 && shape.cwd.ends_with('/')) shape.cwd.pop_back();
  shape.duration_seconds = static_cast<double>(options.limit) / 1000;
  if (auto good = check_environment(options); !good) return tl::unexpected(good.error());
  for (const auto& variable : *environment)
    if (is_no_text(variable)) made.left_out.push_back(variable.first);
  for (const auto& name : made.left_out) environment->erase(name);
  shape.environment = std::move(*environment);
  shape.inherit_environment = false;
  shape.command = std::move(command);
  if (auto good = check_words(shape, options); !good) return tl::unexpected(good.error());

  auto jobspec = resource::jobspec_for(std::move(shape));
  if (!jobspec) return tl::unexpected(bad_shape(jobspec.error()).error());
  nlohmann::ordered_json attributes;
  add_shell_options(options, jobspec->cwd, attributes["system"]);
  if (auto added = add_wishes(options, attributes["system"]); !added)
    return tl::unexpected(added.error());
  if (!options.files.empty())
    attributes["system"]["files"] =
        nlohmann::ordered_json::parse(resource::write_file_archive(options.files));
  if (!options.attributes.empty()) attributes["user"] = options.attributes;
  jobspec->other_attributes =
      attributes.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);

  made.request.jobspec = resource::write_jobspec(*jobspec);
  made.request.urgency = static_cast<std::uint32_t>(options.urgency);
  auto user = is_ours ? submitting_user() : Result<std::string>(options.for_user);
  if (!user) return tl::unexpected(user.error());
  made.request.user = std::move(*user);
  return made;
}

void tell_left_out(Invocation& call, std::string_view verb, const JobRequest& made) {
  if (made.left_out.empty()) return;
  std::string names;
  for (const auto& name : made.left_out) names += (names.empty() ? "" : ", ") + printable(name);
  call.io.err << fmt::format(
      "holon {}: these variables are not UTF-8, which a jobspec cannot hold; the job runs without "
      "them: {}\n",
      verb, names);
}

}  // namespace holon::cli
