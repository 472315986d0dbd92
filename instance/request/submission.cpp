#include "instance/request/submission.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/text/utf8.hpp"
#include "instance/basics/ending_signals.hpp"
#include "instance/basics/text.hpp"
#include "instance/request/request_text.hpp"
#include "launch/array_words.hpp"
#include "launch/signal_name.hpp"
#include "launch/tasks/rlimits.hpp"
#include "resource/refusal.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

// A product that stays in range: a request for 1e18 nodes of 1e18 cores must be refused later, not
// overflow here.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 4 : product;
}

void add_up(const resource::Request& request, std::int64_t factor, Totals& totals) {
  const std::int64_t n = times(factor, request.count.least());
  const auto add = [n](std::int64_t& sum) {
    sum = std::min(sum, INT64_MAX / 4) + std::min(n, INT64_MAX / 4);
  };
  if (request.type == "node") add(totals.nodes);
  if (request.type == "core") add(totals.cores);
  if (request.type == "gpu") add(totals.gpus);
  if (request.type == "slot") add(totals.slots);
  for (const auto& child : request.with) add_up(child, n, totals);
}

// shell.options.input.stdin: {"type": "file", "path"} or {"type": "service", "ranks"}.
void read_input(const json& options, Submission& s) {
  const auto word = [](const json& from, const char* key) {
    return from.contains(key) && from[key].is_string() ? from[key].get<std::string>()
                                                       : std::string();
  };
  const auto input = options.find("input");
  if (input == options.end() || !input->is_object() || !input->contains("stdin")) return;
  const json& from = input->at("stdin");
  if (!from.is_object()) return;
  if (word(from, "type") == "file") s.input = word(from, "path");
  if (word(from, "type") != "service") return;
  const std::string ranks = word(from, "ranks");
  s.input_tasks = ranks.empty() ? "all" : ranks;
}

// shell.options.signal: {"signum", "timeleft"}, the latter in seconds.
Status read_warning(const json& options, Submission& s) {
  constexpr const char* kWhere = "/attributes/system/shell/options/signal";
  constexpr double kMostSeconds = 1e9;
  const auto found = options.find("signal");
  if (found == options.end()) return {};
  const auto wrong = [](const char* accepted) {
    return fail(Errc::invalid_argument, fmt::format("does not fit; {}", accepted), kWhere);
  };
  if (!found->is_object()) return wrong("an object of signum and timeleft is accepted");
  const json number = found->value("signum", json(SIGUSR1));
  const json left = found->value("timeleft", json(60));
  if (!number.is_number_integer() || number < json(1) || number > json(SIGRTMAX))
    return wrong("signum is the number of a signal");
  if (!left.is_number() || left <= json(0) || left > json(kMostSeconds))
    return wrong("timeleft is a number of seconds above 0");
  s.warn_signal = number.get<int>();
  s.warn_before = std::max<Duration>(1, std::llround(left.get<double>() * 1000));
  return {};
}

// shell.options.rlimit, as Flux has it: {"nofile": 4096, "core": -1}.
Status read_rlimits(const json& options, Submission& s) {
  const std::string where = "/attributes/system/shell/options/rlimit";
  const auto found = options.find("rlimit");
  if (found == options.end()) return {};
  if (!found->is_object())
    return fail(Errc::invalid_argument, "does not fit; an object of names and numbers is accepted",
                where);
  for (const auto& [name, value] : found->items()) {
    const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -2;
    if (auto known = launch::process_limit(name, number); !known)
      return fail(Errc::invalid_argument, known.error().what, where + "/" + name);
    s.rlimits.push_back(fmt::format(
        "{}={}", name, number == launch::kUnlimited ? "unlimited" : std::to_string(number)));
  }
  return {};
}

// shell.options.umask: octal digits, as umask(1) writes them.
Status read_file_mask(const json& options, Submission& s) {
  const auto found = options.find("umask");
  if (found == options.end()) return {};
  constexpr int kOctal = 8, kMost = 0777;
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), s.file_mask, kOctal);
  if (error == std::errc() && end == text.data() + text.size() && s.file_mask >= 0 &&
      s.file_mask <= kMost)
    return {};
  return fail(Errc::invalid_argument,
              fmt::format("{:.40} does not fit; octal digits up to 777 are accepted", text),
              "/attributes/system/shell/options/umask");
}

// Supervisors end their instance in order at ending signals; any other would end it at once.
Status check_warning(const Submission& s) {
  constexpr const char* kWhere = "/attributes/system/shell/options/signal";
  if (s.warn_signal == 0) return {};
  if (s.limit > 0 && s.warn_before >= s.limit)
    return fail(Errc::invalid_argument,
                fmt::format("a warning {} before the limit of {} would come before the job's start",
                            duration_text(s.warn_before), duration_text(s.limit)),
                kWhere);
  if (!s.is_instance) return {};
  std::vector<std::string> accepted;
  for (const int signal : kEndingSignals) {
    if (s.warn_signal == signal) return {};
    accepted.push_back(launch::signal_name(signal));
  }
  return fail(Errc::invalid_argument,
              fmt::format("an instance takes {} as warnings", fmt::join(accepted, ", ")), kWhere);
}

// "cyclic", or {"scheme": "cyclic"} as Flux writes it, whose scheme may have a value.
Status read_distribution(const json& options, Submission& s) {
  const auto found = options.find("taskmap");
  if (found == options.end()) return {};
  json scheme = *found;
  if (found->is_object())
    scheme = found->value("value", json("")) == "" ? found->value("scheme", json()) : *found;
  if (scheme == "block" || scheme == "cyclic") {
    s.distribution = scheme == "cyclic" ? Distribution::cyclic : Distribution::block;
    return {};
  }
  return fail(Errc::invalid_argument,
              fmt::format("{} is not accepted; block and cyclic are", scheme.dump()),
              "/attributes/system/shell/options/taskmap");
}

// RFC 14 allows a distribution in the task, too.
Status read_task_distribution(const resource::Task& task, Submission& s) {
  if (task.distribution.empty() || task.distribution == "block") return {};
  if (task.distribution != "cyclic")
    return fail(Errc::unsupported,
                fmt::format("\"{:.40}\" is not offered; block and cyclic are", task.distribution),
                "/tasks/0/distribution");
  s.distribution = Distribution::cyclic;
  return {};
}

// attributes.system.shell.options.{output.stdout.path, ...} as Flux writes it, or
// {output,error,label-io} as words.
Status read_shell_options(const json& system, Submission& s) {
  const auto shell = system.find("shell");
  if (shell == system.end() || !shell->is_object() || !shell->contains("options")) return {};
  const json& options = shell->at("options");
  if (!options.is_object()) return {};
  const auto file = [](const json& from, const char* key) {
    return from.is_object() && from.contains(key) && from[key].is_string()
               ? from[key].get<std::string>()
               : std::string();
  };
  s.output = file(options, "output");
  s.error = file(options, "error");
  if (const auto output = options.find("output"); output != options.end() && output->is_object()) {
    if (output->contains("stdout")) s.output = file(output->at("stdout"), "path");
    if (output->contains("stderr")) s.error = file(output->at("stderr"), "path");
  }
  read_input(options, s);
  const auto is_on = [&options](const char* key) {
    const auto found = options.find(key);
    if (found == options.end()) return false;
    return found->is_boolean() ? found->get<bool>() : *found != json(0);
  };
  s.label = is_on("label-io");
  s.slurm_names = is_on("slurm-names");
  s.kill_on_bad_exit = is_on("exit-on-error");
  if (const auto mpi = options.find("mpi"); mpi != options.end())
    s.mpi = mpi->is_string() ? mpi->get<std::string>() : mpi->dump();
  if (auto read = read_distribution(options, s); !read) return read;
  if (auto read = read_rlimits(options, s); !read) return read;
  if (auto read = read_file_mask(options, s); !read) return read;
  return read_warning(options, s);
}

Status check_mpi(const Submission& s) {
  for (const char* const accepted : {"", "auto", "pmi1", "pmi2", "pmix", "none"})
    if (s.mpi == accepted) return {};
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is not accepted; auto, pmi1, pmi2, pmix and none are", s.mpi),
              "/attributes/system/shell/options/mpi");
}

// Other programs may keep anything there; only what a policy can use is read.
Status read_user_attributes(const json& attributes, Submission& s) {
  constexpr std::size_t kMost = 64;
  constexpr std::size_t kLongest = 1024;  // bytes, of a name and of a value
  if (!attributes.is_object() || !attributes.contains("user") || !attributes["user"].is_object())
    return {};
  std::map<std::string, std::string> all;
  for (const auto& [name, value] : attributes["user"].items()) {
    if (!value.is_string() && !value.is_number()) continue;
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (name.size() > kLongest || text.size() > kLongest)
      return fail(Errc::invalid_argument,
                  fmt::format("a name and a value have {} bytes at most", kLongest),
                  "/attributes/user");
    all.emplace(name, std::move(text));
  }
  if (all.size() > kMost)
    return fail(Errc::invalid_argument,
                fmt::format("there are {} attributes; {} at most are accepted", all.size(), kMost),
                "/attributes/user");
  if (!all.empty())
    s.attributes = std::make_shared<const std::map<std::string, std::string>>(std::move(all));
  return {};
}

Status read_files(const json& system, Submission& s) {
  const auto found = system.find("files");
  if (found == system.end() || found->is_null()) return {};
  auto files = resource::read_file_archive(found->dump());
  if (!files)
    return fail(files.error().code, files.error().what,
                "/attributes/system/files" + files.error().where);
  if (!files->empty())
    s.files = std::make_shared<const std::vector<resource::AddedFile>>(std::move(*files));
  return {};
}

Status read_attributes(const resource::Jobspec& spec, Submission& s) {
  if (spec.other_attributes.empty()) return {};
  const json attributes = json::parse(spec.other_attributes, nullptr, false);
  if (auto read = read_user_attributes(attributes, s); !read) return read;
  if (!attributes.is_object() || !attributes.contains("system") ||
      !attributes["system"].is_object())
    return {};
  const json& system = attributes["system"];
  auto dependencies = read_dependencies(system);
  if (!dependencies) return tl::unexpected(dependencies.error());
  s.dependencies = std::move(*dependencies);
  if (auto read = read_files(system, s); !read) return read;
  if (auto read = read_shell_options(system, s); !read) return read;
  if (auto good = check_mpi(s); !good) return good;
  auto wishes = read_wishes(system);
  if (!wishes) return tl::unexpected(wishes.error());
  s.wishes = std::move(*wishes);
  return {};
}

std::string display_command(const std::vector<std::string>& argv) {
  std::string text = fmt::format("{}", fmt::join(argv, " "));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  constexpr std::size_t kShown = 200;
  return std::string(cut_within(text, kShown));
}

}  // namespace

Totals totals_of(const resource::Jobspec& spec) {
  Totals totals;
  for (const auto& request : spec.resources) add_up(request, 1, totals);
  if (const std::int64_t spare = resource::spare_slots(spec); spare > 0) {
    Totals slot;
    for (const auto& request : spec.resources.front().with.front().with)
      add_up(request, spare, slot);
    totals.cores -= slot.cores;
    totals.gpus -= slot.gpus;
    totals.slots -= spare;
  }
  return totals;
}

std::string describe(const Totals& t) {
  std::string text;
  const auto add = [&text](std::int64_t n, const char* type) {
    if (n > 0) text += (text.empty() ? "" : ", ") + resource::amount_text(n, type);
  };
  add(t.nodes, "node");
  add(t.cores, "core");
  add(t.gpus, "gpu");
  return text;
}

Result<std::int64_t> task_count(const resource::Task& task, const Totals& totals) {
  constexpr const char* kWhere = "/tasks/0/count";
  if (task.per_resource_count > 0)
    return fail(Errc::unsupported, "per_resource is not offered; per_slot and total are", kWhere);
  const std::int64_t slots = std::max<std::int64_t>(totals.slots, 1);
  const std::int64_t tasks =
      task.total > 0 ? task.total : times(slots, std::max<std::int64_t>(task.per_slot, 1));
  // The number of slots is bounded by the resources, that of tasks in them is not.
  if (tasks > kMaxTasks && tasks > slots)
    return fail(Errc::out_of_range,
                fmt::format("{} tasks in {} slots; at most {} are accepted, or one a slot", tasks,
                            slots, kMaxTasks),
                kWhere);
  return tasks;
}

namespace {

// The kernel starts no program whose arguments and environment exceed 6 MiB together.
constexpr std::size_t kMostJobspec = std::size_t{8} << 20;
// Bytes of a name: every listing shows some of them.
constexpr std::size_t kLongestJobName = 4096;

// A job may run again only if its next attempt needs nothing of an earlier one.
Status check_requeue(const Submission& s) {
  constexpr const char* kWhere = "/attributes/system/holon/requeue";
  if (s.wishes.requeue == 0 || (s.is_instance && s.wishes.goes_on)) return {};
  if (s.is_instance)
    return fail(Errc::unsupported, "an instance is not run again; the jobs in it may be", kWhere);
  if (!s.input_tasks.empty())
    return fail(Errc::invalid_argument,
                "a client sends its standard input once: a job that reads it cannot run again",
                kWhere);
  return {};
}

Status check_checkpoint(const Submission& s) {
  if (s.wishes.checkpoint_signal == 0 || !s.is_instance) return {};
  return fail(Errc::unsupported, "an instance has no checkpoint; the jobs in it may have",
              "/attributes/system/holon/checkpoint_signal");
}

Status check_names(const Submission& s) {
  const std::pair<const char*, const std::string&> names[] = {
      {"/attributes/system/job/name", s.name},
      {"/attributes/system/queue", s.queue},
      {"/attributes/system/shell/options/output", s.output},
      {"/attributes/system/shell/options/error", s.error},
      {"/attributes/system/bank", s.wishes.account},
      {"/attributes/system/holon/group", s.wishes.group},
      {"/attributes/system/holon/qos", s.wishes.qos}};
  for (const auto& [where, name] : names)
    if (name.size() > kLongestJobName)
      return fail(
          Errc::invalid_argument,
          fmt::format("has {} bytes; at most {} are accepted", name.size(), kLongestJobName),
          where);
  return {};
}

}  // namespace

void set_command(Submission& submission, std::vector<std::string> argv) {
  if (submission.spec->name.empty())
    submission.name = argv.front().substr(argv.front().rfind('/') + 1);
  submission.command = display_command(argv);
  submission.argv = std::move(argv);
}

std::optional<std::int64_t> array_index(const Submission& submission, JobId id) {
  const auto& array = submission.wishes.array;
  if (!array || id <= submission.first) return std::nullopt;
  return array->index_at(id.value() - submission.first.value() - 1);
}

std::string with_words_of(const Submission& submission, JobId id, const std::string& text,
                          bool in_path) {
  const auto index = array_index(submission, id);
  if (!index || text.find("{{") == std::string::npos) return text;
  launch::ArrayWords words{std::to_string(submission.first.value()), std::to_string(*index),
                           std::nullopt};
  if (!submission.wishes.array->entries.empty()) words.entry = entry_of(submission, id);
  if (!in_path) return launch::with_array_words(text, words);
  std::string path;
  std::size_t done = 0;
  for (auto at = text.find("{{"); at != std::string::npos; at = text.find("{{", done)) {
    const auto end = text.find("}}", at);
    if (end == std::string::npos) break;
    std::string part = launch::with_array_words(text.substr(at, end + 2 - at), words);
    std::replace(part.begin(), part.end(), '/', '_');
    path.append(text, done, at - done) += part;
    done = end + 2;
  }
  return path.append(text, done);
}

std::string entry_of(const Submission& submission, JobId id) {
  if (!array_index(submission, id)) return "";
  const auto& entries = submission.wishes.array->entries;
  const std::size_t place = id.value() - submission.first.value() - 1;
  return place < entries.size() ? entries[place] : "";
}

std::map<std::string, std::string> array_variables(const Submission& submission, JobId id) {
  const auto index = array_index(submission, id);
  if (!index) return {};
  std::map<std::string, std::string> all = {
      {"HOLON_ARRAY_ID", std::to_string(submission.first.value())},
      {"HOLON_ARRAY_INDEX", std::to_string(*index)},
      {"HOLON_ARRAY_COUNT", std::to_string(submission.count)}};
  const auto& array = *submission.wishes.array;
  if (submission.slurm_names)
    all.insert({{"SLURM_ARRAY_JOB_ID", all["HOLON_ARRAY_ID"]},
                {"SLURM_ARRAY_TASK_ID", all["HOLON_ARRAY_INDEX"]},
                {"SLURM_ARRAY_TASK_COUNT", all["HOLON_ARRAY_COUNT"]},
                {"SLURM_ARRAY_TASK_MIN", std::to_string(array.index_at(0))},
                {"SLURM_ARRAY_TASK_MAX", std::to_string(array.index_at(submission.count - 1))}});
  if (!array.entries.empty()) all["HOLON_ENTRY"] = entry_of(submission, id);
  return all;
}

namespace {

Result<Submission> submission_of(const std::string& jobspec, bool is_instance, bool is_new) {
  // YAML is for people and for files: its scanner keeps hundreds of bytes for each byte of a line
  // before anybody can check how deep it nests.
  const auto first = jobspec.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || jobspec[first] != '{')
    return fail(Errc::invalid_argument, "a jobspec is sent as JSON, as an object: {...}",
                "jobspec");
  auto parsed = resource::parse_jobspec(
      jobspec, is_new ? resource::JobspecBounds() : resource::kNoJobspecBounds);
  if (!parsed) return tl::unexpected(parsed.error());
  if (auto sound =
          is_new ? resource::check_submittable(*parsed) : resource::check_runnable(*parsed);
      !sound)
    return tl::unexpected(sound.error());
  Submission s;
  if (auto read = read_attributes(*parsed, s); !read) return tl::unexpected(read.error());
  const auto& argv = parsed->tasks.front().command;
  s.is_instance = is_instance;
  if (auto good = check_requeue(s); !good) return tl::unexpected(good.error());
  if (auto good = check_checkpoint(s); !good) return tl::unexpected(good.error());
  s.name = parsed->name.empty() ? argv.front().substr(argv.front().rfind('/') + 1) : parsed->name;
  s.queue = parsed->queue;
  if (auto fits = check_names(s); !fits) return tl::unexpected(fits.error());
  s.command = display_command(argv);
  s.totals = totals_of(*parsed);
  s.resources = request_text(*parsed, s.wishes);
  if (auto read = read_task_distribution(parsed->tasks.front(), s); !read)
    return tl::unexpected(read.error());
  const auto tasks = task_count(parsed->tasks.front(), s.totals);
  if (!tasks) return tl::unexpected(tasks.error());
  // A child instance is one process on each agent, however many slots it was given.
  s.ntasks = is_instance ? 1 : *tasks;
  // At least 1, however short the limit is: 0 would be no limit at all.
  if (parsed->duration_seconds > 0)
    s.limit = std::max<Duration>(1, std::llround(std::min(parsed->duration_seconds, 1e12) * 1000));
  if (auto good = check_warning(s); !good) return tl::unexpected(good.error());
  if (s.files) parsed->other_attributes.clear();  // all files are read, and this is large
  s.spec = std::make_shared<const resource::Jobspec>(std::move(*parsed));
  return s;
}

}  // namespace

Result<Submission> make_submission(const std::string& jobspec, bool is_instance) {
  if (jobspec.size() > kMostJobspec)
    return fail(Errc::out_of_range,
                fmt::format("the jobspec has {} bytes; at most {} are accepted", jobspec.size(),
                            kMostJobspec),
                "jobspec");
  return submission_of(jobspec, is_instance, true);
}

void set_default_limit(Submission& submission, Duration limit) {
  if (submission.limit != 0 || limit == 0) return;
  submission.limit = limit;
  submission.has_default_limit = true;
}

Result<Submission> kept_submission(const std::string& jobspec, bool is_instance) {
  return submission_of(jobspec, is_instance, false);
}

}  // namespace holon::instance
