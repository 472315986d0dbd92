// holon submit: jobs into the queue, ids out.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "base/whole_file.hpp"
#include "cli/added_files.hpp"
#include "cli/connect.hpp"
#include "cli/job_tracker.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/script_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/parser/help.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "cli/workflow/array_options.hpp"
#include "cli/workflow/file_claims.hpp"
#include "cli/workflow/graph_file.hpp"
#include "cli/workflow/shared_output.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::cli {
namespace {

struct SubmitArgs {
  JobOptions job;
  ScriptOptions script;
  ArrayOptions array;
  std::int64_t count = 1;
  std::string jobspec;  // a file; "-": standard input; empty: made from the options
  std::string graph;    // a file of tasks
  std::string into;     // an open array that gets more tasks
  bool count_given = false;
  bool wrap = false;
  bool json = false;
  bool progress = false;
  std::vector<std::string> command;
  instance::StartOptions instance;  // of a task of --file that is one
};

// Takes ":::" and the words behind it out of the command, and makes a job for each index.
Status use_array(SubmitArgs& args) {
  auto array = take_array(args.array, args.command, args.wrap);
  if (!array) return tl::unexpected(array.error());
  if (!*array) return {};
  if (args.count_given)
    return fail(Errc::invalid_argument, "is not accepted with --array, --each-... or ':::'",
                "--count");
  args.count = (*array)->indices.count;
  args.job.array = std::move(*array);
  return {};
}

std::string ids_text(const msg::SubmitReply& reply) {
  if (reply.count == 1) return fmt::format("job {}", reply.first_id);
  return fmt::format("jobs {} to {}", reply.first_id, reply.first_id + reply.count - 1);
}

void print_ids(Invocation& call, const SubmitArgs& args, const msg::SubmitReply& reply) {
  if (args.json) {
    nlohmann::ordered_json ids = {{"id", reply.first_id}, {"count", reply.count}};
    if (reply.tasks > 0) ids["tasks"] = reply.tasks;
    call.io.out << pretty(ids);
    return;
  }
  if (args.progress && call.io.terminal && reply.count > 1) {
    call.io.out << ids_text(reply) << "\n";
    return;
  }
  std::string lines;
  for (std::uint64_t i = 0; i < reply.count; ++i) lines += fmt::format("{}\n", reply.first_id + i);
  call.io.out << lines;
}

std::vector<std::uint64_t> ids_of(const msg::SubmitReply& submitted) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < submitted.count; ++i) ids.push_back(submitted.first_id + i);
  return ids;
}

int show_to_the_end(Invocation& call, Client& client, const TrackedJobs& jobs) {
  const auto counts =
      show_progress(client, jobs, ProgressLine(call.io, call.io.err, STDERR_FILENO));
  if (!counts) return report(call, "submit", counts.error());
  return counts->failed == 0 ? kOk : kFailed;
}

// Grid Engine's -now y: 1 unless all have started, with the reason of the first that has not.
int started_at_once(Invocation& call, Client& client, const msg::SubmitReply& submitted) {
  msg::WatchRequest request;
  for (std::uint64_t i = 0; i < submitted.count; ++i) request.ids.push_back(submitted.first_id + i);
  std::uint64_t settled = 0;
  std::string failure;
  const auto watched = client.watch(request, [&](const msg::JobEvent& event) {
    if (event.name == "exception" && failure.empty()) {
      const auto context = nlohmann::json::parse(event.context, nullptr, false);
      failure = fmt::format("job {}: {}", event.id, context.value("note", "did not start"));
    }
    return (settled += event.name == "alloc" || event.name == "exception") < submitted.count;
  });
  if (!watched) return report(call, "submit", watched.error());
  if (failure.empty()) return kOk;
  return report(call, "submit", {Errc::unsatisfiable, failure, ""});
}

// Refuses options beside --jobspec that say what a jobspec says.
Status check_alone(const Invocation& call, const SubmitArgs& args) {
  if (!args.command.empty())
    return fail(Errc::invalid_argument, "the jobspec of --jobspec has a command already",
                args.command.front());
  static constexpr std::string_view kBeside[] = {"--jobspec",  "--count", "--urgency", "-i",
                                                 "--instance", "--json",  "--dry-run"};
  for (const auto& word : call.args) {
    if (word.size() < 2 || word.front() != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(std::begin(kBeside), std::end(kBeside), name) == std::end(kBeside))
      return fail(Errc::invalid_argument,
                  fmt::format("not with --jobspec, whose file says it all; accepted beside it are "
                              "{}",
                              fmt::join(kBeside, ", ")),
                  word);
  }
  return {};
}

// Is the jobspec one that `holon batch --dry-run` prints?
bool starts_a_child(const resource::Jobspec& spec) {
  const auto& command = spec.tasks.front().command;
  return command.size() > 2 && command[1] == "start" && command[2] == "--grant";
}

// The file unchanged, if it is a valid jobspec. Errors name the file and the place in it.
Result<JobRequest> request_of_file(const Invocation& call, const SubmitArgs& args) {
  if (auto good = check_alone(call, args); !good) return tl::unexpected(good.error());
  const bool piped = args.jobspec == "-";
  const auto text =
      read_whole_file(piped ? "/dev/stdin" : args.jobspec, resource::kMaxJobspecBytes);
  const std::string where = piped ? "standard input" : args.jobspec;
  if (!text)
    return fail(Errc::invalid_argument, text.error().what, piped ? where : "--jobspec " + where);
  const auto parsed = resource::parse_jobspec(*text);
  const Status good =
      parsed ? resource::check_submittable(*parsed) : tl::unexpected(parsed.error());
  if (!good)
    return fail(good.error().code, good.error().what,
                where + (good.error().where.empty() ? "" : ", " + good.error().where));
  JobRequest made;
  made.request.jobspec = resource::write_jobspec(*parsed);
  made.request.urgency = static_cast<std::uint32_t>(args.job.urgency);
  auto user = submitting_user();
  if (!user) return tl::unexpected(user.error());
  made.request.user = std::move(*user);
  made.request.is_instance = starts_a_child(*parsed);
  return made;
}

void add_submit_options(Parser& parser, SubmitArgs& args) {
  parser.command("COMMAND [ARGS...]", args.command,
                 "what each task runs; - is a script on standard input", false);
  add_resource_options(parser, args.job, Unit::task);
  add_job_options(parser, args.job);
  add_file_option(parser, args.job, Unit::task);
  add_task_options(parser, args.job);
  parser.group("Job")
      .option("--input", args.job.input, "FILE",
              "standard input, opened where the tasks run; {{id}}, {{name}} and {{taskid}} as in "
              "--output; empty unless given")
      .wrap(args.wrap, "COMMAND is one line for the shell: --wrap 'a; b'");
  parser.group("Submission")
      .option("--count", args.count, "N", "N equal jobs in one request")
      .option("--jobspec", args.jobspec, "FILE",
              "a jobspec, JSON or YAML, instead of COMMAND and what says how it runs: what "
              "--dry-run prints; - is standard input")
      .option("--file", args.graph, "FILE",
              "tasks that wait for each other, in one TOML or JSON file, instead of COMMAND "
              "(docs/formats.md); - is standard input; prints the name and id of each");
  add_array_options(parser, args.array);
  parser.option("--into", args.into, "ID",
                "more tasks for the open array ID, instead of COMMAND: by --array, --each-line, "
                "--each-csv, --each-json, ':::' or --count; prints their ids");
}

// ---- --file ----

// Those of holon batch, for a task that is an instance.
void add_options_of_instance(Parser& parser, SubmitArgs& args) {
  parser.command("SCRIPT [ARGS...]", args.command, "the initial program", false);
  add_resource_options(parser, args.job, Unit::slot);
  add_job_options(parser, args.job);
  add_file_option(parser, args.job, Unit::slot);
  add_instance_options(parser, args.instance);
  add_array_options(parser, args.array);
}

// The words of a task's options, and whether it is an instance.
struct TaskOptionWords {
  std::vector<std::string> words;
  bool batch = false;
  auto operator<=>(const TaskOptionWords&) const = default;
};

// The options of a task, read once for all tasks that have the same.
class TaskOptions {
 public:
  // Errors: invalid_argument; where: the key of the wrong option, if it is one alone.
  // `in_defaults`: is that key in [defaults]?
  Result<SubmitArgs> read(const TaskOptionWords& task,
                          const std::function<bool(const std::string& key)>& in_defaults) {
    if (const auto known = known_.find(task); known != known_.end()) return known->second;
    auto args = parsed(task, in_defaults);
    if (args) return known_.emplace(task, std::move(*args)).first->second;
    for (const auto& word : task.words)
      if (auto alone = parsed({{word}, task.batch}, in_defaults); !alone)
        return tl::unexpected(alone.error());
    return fail(args.error().code, args.error().what);
  }

 private:
  // Errors: in the words of the command line's parser.
  static Result<SubmitArgs> parsed(const TaskOptionWords& task,
                                   const std::function<bool(const std::string&)>& in_defaults) {
    const auto& words = task.words;
    const std::string verb = task.batch ? "batch" : "submit";
    std::ostringstream out, err;
    Io io{out, err};
    Invocation inner{io, words, {}, false};
    SubmitArgs args;
    Parser parser(verb, "");
    task.batch ? add_options_of_instance(parser, args) : add_submit_options(parser, args);
    if (words.size() == 1)
      if (const std::string key = key_of_option(words.front());
          !parser.knows((key.size() == 1 ? "-" : "--") + key))
        return fail(Errc::invalid_argument,
                    about_unknown_key(key, long_names(parser), in_defaults(key), verb), key);
    if (!parser.parse(inner)) return args;
    std::string what = err.str();
    const std::string before = "holon " + verb + ": ";
    if (what.starts_with(before)) what.erase(0, before.size());
    what.erase(std::min(what.find('\n'), what.size()));
    return fail(Errc::invalid_argument, what, key_of_option(words.front()));
  }

  static std::vector<std::string> long_names(const Parser& parser) {
    std::vector<std::string> names;
    for (const std::string& name : parser.names())
      if (name.starts_with("--")) names.push_back(name.substr(2));
    return names;
  }

  std::map<TaskOptionWords, SubmitArgs> known_;
};

// Makes the request for the tasks of a file. Tasks with the same options share a spec, and all
// specs the environment.
class GraphMaker {
 public:
  // Errors: in the words of holon submit's parser, with the task's place.
  Status add(const GraphTask& task) {
    msg::GraphTask made;
    made.name = task.name;
    made.command = task.command;
    for (std::size_t way = 0; way < task.ways.size(); ++way) {
      const auto spec = spec_of(task, way, made);
      if (!spec) return tl::unexpected(spec.error());
      made.ways.push_back(*spec);
    }
    for (const auto& after : task.after)
      made.after.push_back({after.scheme, after.task, after.indices});
    request_.tasks.push_back(std::move(made));
    return {};
  }
  msg::GraphRequest& request() { return request_; }
  const std::string& for_user() const { return for_user_; }

 private:
  // An array may put words of its own behind the command.
  Result<std::uint32_t> spec_of(const GraphTask& read, std::size_t way, msg::GraphTask& task) {
    const auto& words = read.ways[way];
    // The place of a key, or of an option as errors name it: "ntasks", "-n,--ntasks", "--output
    // run.log", "COMMAND".
    const auto place = [&](const std::string& where) {
      std::string found = read.where_is("", way);
      auto names = split_names(where.substr(0, where.find(' ')));
      if (where == "COMMAND") names = {"command", "shell"};
      for (std::string& name : names) {
        name.erase(0, name.find_first_not_of('-'));
        if (read.place_of(name, way) != read.place) found = read.where_is(name, way);
      }
      return found;
    };
    const auto at = [&](const Error& e) { return fail(e.code, to_string(e), place(e.where)); };
    if (auto good = check_text(read.name, "name"); !good) return at(good.error());
    for (const auto& word : task.command)
      if (auto good = check_text(word, "COMMAND"); !good) return at(good.error());
    const bool takes_entries =
        std::find(task.command.begin(), task.command.end(), ":::") != task.command.end();
    const auto known = read.batch ? known_.end() : known_.find(words);
    if (known != known_.end() && !takes_entries) {
      if (auto alone = claims_.claim(known->second.files, read.name); !alone)
        return at(alone.error());
      return known->second.number;
    }
    const auto in_defaults = [&](const std::string& key) { return read.is_default(key, way); };
    auto args = options_.read({words, read.batch}, in_defaults);  // with the files that go along
    if (!args) return fail(args.error().code, args.error().what, place(args.error().where));
    args->command = task.command;
    args->wrap = task.command.front() == "/bin/sh";  // an entry is no word of a shell's line
    if (auto good = use_array(*args); !good) return at(good.error());
    if (auto good = check_job_files(args->job, args->count); !good) return at(good.error());
    auto files = FileClaims::files_of(args->job);
    if (auto alone = claims_.claim(files, read.name); !alone) return at(alone.error());
    if (read.batch) {
      auto command = instance_of(*args);
      if (!command) return fail(command.error().code, to_string(command.error()), place("COMMAND"));
      args->command = std::move(*command);
    }
    task.command = args->command;
    const bool is_named = std::find(words.begin(), words.end(), "--name") != words.end();
    if (is_named) task.name.clear();
    const bool is_shared = !args->job.array && args->count == 1 && !is_named && !read.batch;
    auto made = make_request(args->job, std::move(args->command));
    if (!made) return at(made.error());
    const auto number = static_cast<std::uint32_t>(request_.specs.size());
    request_.specs.push_back({without_environment(made->request.jobspec),
                              static_cast<std::uint64_t>(args->count), made->request.urgency,
                              read.batch});
    request_.user = made->request.user;
    if (!args->job.for_user.empty()) for_user_ = args->job.for_user;
    if (is_shared) known_.emplace(words, Spec{number, std::move(files)});
    return number;
  }

  // `holon start` with the task's command as its initial program.
  static Result<std::vector<std::string>> instance_of(const SubmitArgs& args) {
    auto program = args.wrap ? args.command : script_by_name(args.command, "'shell'");
    if (!program) return tl::unexpected(program.error());
    instance::StartOptions options = args.instance;
    options.command = std::move(*program);
    return child_command(options);
  }

  std::string without_environment(const std::string& jobspec) {
    auto spec = nlohmann::json::parse(jobspec, nullptr, false);
    if (!spec.is_object() || !spec["attributes"]["system"].contains("environment")) return jobspec;
    auto& system = spec["attributes"]["system"];
    const auto environment = system["environment"];
    if (environment_.is_null() && environment.is_object() && !environment.empty() &&
        std::all_of(environment.begin(), environment.end(),
                    [](const auto& value) { return value.is_string(); })) {
      environment_ = environment;
      request_.environment = environment.get<std::map<std::string, std::string>>();
    }
    if (environment != environment_) return jobspec;
    system.erase("environment");
    return spec.dump();
  }

  TaskOptions options_;
  msg::GraphRequest request_;
  std::string for_user_;  // "": none of the tasks is another user's
  struct Spec {
    std::uint32_t number = 0;
    std::vector<std::string> files;  // written by a task with these options
  };
  std::map<std::vector<std::string>, Spec> known_;
  FileClaims claims_;
  nlohmann::json environment_;
};

// The error with the place in the file for the "tasks/7" of an answer.
Error located_in(const std::vector<GraphTask>& tasks, const msg::GraphRequest& request, Error e) {
  std::size_t place = tasks.size();
  if (e.where.starts_with("tasks/")) place = std::strtoull(e.where.c_str() + 6, nullptr, 10);
  if (e.where.starts_with("specs/")) {
    const auto spec = std::strtoul(e.where.c_str() + 6, nullptr, 10);
    for (place = 0; place < tasks.size(); ++place) {
      const auto& ways = request.tasks[place].ways;
      if (std::find(ways.begin(), ways.end(), spec) != ways.end()) break;
    }
  }
  if (place < tasks.size())
    e.where = fmt::format("{}, task {}", tasks[place].place, tasks[place].name);
  return e;
}

int submit_graph(Invocation& call, const SubmitArgs& args) {
  const auto tasks = read_graph(args.graph);
  if (!tasks) return report(call, "submit", tasks.error());
  GraphMaker maker;
  for (const auto& task : *tasks)
    if (auto added = maker.add(task); !added) return report(call, "submit", added.error());
  auto client = connect_to_submit(call, maker.for_user());
  if (!client) return report(call, "submit", client.error());
  const auto before = args.progress ? cursor_of_now(*client) : Result<std::string>();
  if (!before) return report(call, "submit", before.error());
  const auto reply = client->submit_graph(maker.request());
  if (!reply) return report(call, "submit", located_in(*tasks, maker.request(), reply.error()));
  nlohmann::ordered_json by_name = nlohmann::ordered_json::object();
  std::string lines;
  for (std::size_t i = 0; i < std::min(tasks->size(), reply->ids.size()); ++i) {
    if (args.json)
      resource::add_member(by_name, (*tasks)[i].name, reply->ids[i]);
    else
      lines += fmt::format("{} {}\n", printable((*tasks)[i].name), reply->ids[i]);
  }
  call.io.out << (args.json ? pretty(by_name) : lines) << std::flush;
  if (!args.progress) return kOk;
  return show_to_the_end(call, *client, {reply->ids, *before, true});
}

// ---- --into ----

// Refuses options beside --into: the tasks of an array run its command, with what it asks for.
Status check_alone_with_into(const Invocation& call, const SubmitArgs& args) {
  static constexpr std::string_view kBeside[] = {
      "--into",      "--array", "-a", "--each-line", "--each-csv",
      "--each-json", "--count", "-i", "--instance",  "--json"};
  if (!args.command.empty() && args.command.front() != ":::")
    return fail(Errc::invalid_argument,
                "the tasks of an open array run its command; ':::' stands before what tells them "
                "apart",
                args.command.front());
  for (const auto& word : call.args) {
    if (word == ":::") break;
    if (word.size() < 2 || word.front() != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(std::begin(kBeside), std::end(kBeside), name) == std::end(kBeside))
      return fail(
          Errc::invalid_argument,
          fmt::format("not with --into; accepted beside it are {}", fmt::join(kBeside, ", ")),
          word);
  }
  return {};
}

Result<msg::ExtendRequest> extension_of(const SubmitArgs& args) {
  msg::ExtendRequest request;
  std::vector<std::string> command = {"{{entry}}"};
  command.insert(command.end(), args.command.begin(), args.command.end());
  auto array = take_array(args.array, command, true);
  if (!array) return tl::unexpected(array.error());
  request.tasks = static_cast<std::uint64_t>(*array ? (*array)->indices.count : args.count);
  if (!*array) return request;
  request.entries = std::move((*array)->entries);
  if (!request.entries.empty()) return request;
  const IndexRange& range = (*array)->indices;
  request.indices = range.list;
  if (!range.list.empty()) return request;
  Idset indices;
  for (std::int64_t i = 0; i < range.count; ++i)
    indices.insert(static_cast<std::uint64_t>(range.first + i * range.step));
  request.indices = indices.str();
  return request;
}

int submit_into(Invocation& call, const SubmitArgs& args) {
  if (auto good = check_alone_with_into(call, args); !good)
    return report(call, "submit", good.error());
  auto request = extension_of(args);
  if (!request) return report(call, "submit", request.error());
  auto selected = connect_to_job(call, args.into);
  if (!selected) return report(call, "submit", selected.error());
  request->id = selected->id;
  const auto reply = selected->client.extend(*request);
  if (!reply)
    return report(call, "submit", {reply.error().code, reply.error().what, "--into " + args.into});
  if (args.json)
    call.io.out << pretty({{"array", request->id},
                           {"tasks", request->tasks},
                           {"ids", reply->ids},
                           {"indices", reply->indices}});
  else
    call.io.out << fmt::format("{}.{}\n", request->id, reply->indices);
  return kOk;
}

// Refuses options beside --file.
Status check_alone_with_file(const Invocation& call, const SubmitArgs& args) {
  if (!args.command.empty())
    return fail(Errc::invalid_argument, "the tasks of --file have commands already",
                args.command.front());
  for (const auto& word : call.args) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = word.size() > 1 && word.front() == '-';
    static constexpr std::string_view kBeside[] = {"--file", "--json", "--progress", "-i",
                                                   "--instance"};
    if (is_option && std::find(std::begin(kBeside), std::end(kBeside), name) == std::end(kBeside))
      return fail(Errc::invalid_argument,
                  "not with --file, whose tasks have their options; accepted beside it are -i, "
                  "--json and --progress",
                  word);
  }
  return {};
}

}  // namespace

int verb_submit(Invocation& call) {
  SubmitArgs args;
  Parser parser("submit", "put a job into the queue and print its id");
  add_submit_options(parser, args);
  args.script.takes_input = true;
  add_script_options(parser, call, "submit", LookedFor::in_path, args.script);
  parser.group("Submission")
      .flag("--progress", args.progress,
            "wait until the jobs are over, and show how far they are; exits with 1 if one fails")
      .instance(call)
      .json(args.json);
  parser.example("holon submit -n 4 -t 10m ./a.out input", "four tasks, ten minutes at most")
      .example("holon submit --count 1000 -c 2 ./sweep.sh", "a thousand jobs of two cores")
      .example("holon submit --array 0-100:2 ./sweep.sh", "an array: a task for each index")
      .example("holon submit ./fit.sh ::: a.csv b.csv", "a task for each word behind :::")
      .example("holon submit --open ./fit.sh ::: a.csv", "an array that may get more tasks")
      .example("holon submit --into 7 ::: b.csv c.csv", "two more for the open array 7")
      .example("holon submit --file campaign.toml", "tasks that wait for each other")
      .example("holon submit --add-file fit.toml ./fit.sh {{tmpdir}}/fit.toml",
               "with fit.toml as it is now")
      .example("holon submit --wrap 'make && make test'", "a line for the shell")
      .example("holon submit -L matlab=2 -t 1h ./fit.sh", "with two units of a licence")
      .example("holon submit --dependency afterok:7 ./collect.sh", "when job 7 has completed")
      .example("holon submit --output run-{{id}}.log hostname",
               "a file of one's own for the output");
  if (const auto code = parser.parse(call)) return *code;
  if (args.count < 1)
    return report(
        call, "submit",
        parser.located({Errc::invalid_argument,
                        fmt::format("{} is not accepted, at least 1 is", args.count), "--count"}));

  if (!args.graph.empty()) {
    if (auto good = check_alone_with_file(call, args); !good)
      return report(call, "submit", good.error());
    return submit_graph(call, args);
  }
  if (!args.into.empty()) return submit_into(call, args);
  if (args.jobspec.empty() && args.command.empty())
    return report(call, "submit", {Errc::invalid_argument, "COMMAND [ARGS...] is missing", ""});
  if (!args.script.file.empty()) args.command.front() = args.script.file;
  add_script_of_input(args.script, args.job, args.command);
  args.count_given = args.count != 1 || !parser.typed("--count").empty();
  if (auto good = use_array(args); !good)
    return report(call, "submit", parser.located(good.error()));
  if (auto good = check_job_files(args.job, args.count); !good)
    return report(call, "submit", parser.located(good.error()));
  auto made = args.jobspec.empty() ? make_request(args.job, std::move(args.command))
                                   : request_of_file(call, args);
  if (!made) return report(call, "submit", parser.located(made.error()));
  tell_left_out(call, "submit", *made);
  made->request.count = static_cast<std::uint64_t>(args.count);
  if (args.job.dry_run) {
    call.io.out << indented(made->request.jobspec);
    return kOk;
  }
  auto client = connect_to_submit(call, args.job.for_user);
  if (!client) return report(call, "submit", client.error());
  // Progress is shown from here on: no event of the jobs is missed.
  const auto before = args.progress ? cursor_of_now(*client) : Result<std::string>();
  if (!before) return report(call, "submit", before.error());
  const auto reply = client->submit(made->request);
  if (!reply) return report(call, "submit", parser.located(as_typed(reply.error(), args.job)));
  print_ids(call, args, *reply);
  if (!call.io.out.flush())  // a user who tries again would have them twice
    call.io.err << "holon submit: submitted " << ids_text(*reply) << "\n";
  if (args.progress)
    return show_to_the_end(call, *client, {ids_of(*reply), *before, reply->tasks > 0});
  return args.job.immediate ? started_at_once(call, *client, *reply) : static_cast<int>(kOk);
}

}  // namespace holon::cli
