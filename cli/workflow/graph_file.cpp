// The order is Kahn's, with the first task of the file that is free next.
#include "cli/workflow/graph_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <queue>

#include "base/idset.hpp"
#include "base/text/similar.hpp"
#include "base/whole_file.hpp"
#include "cli/verb.hpp"
#include "cli/workflow/graph_document.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

constexpr std::size_t kLongestGraph = 256 << 20;  // bytes
constexpr auto kOwnKeys =
    std::to_array<std::string_view>({"name", "command", "shell", "batch", "variants"});
constexpr auto kGraphSchemes = std::to_array<std::string_view>(
    {"afterok", "afterany", "afternotok", "afterstart", "aftercorr"});
// Options of holon submit that say the same as a key here, or are about more than one task.
constexpr auto kNotForTasks =
    std::to_array<std::string_view>({"file", "jobspec", "json", "dry-run", "instance", "count",
                                     "wrap", "help", "now", "into", "open"});

tl::unexpected<Error> wrong_graph(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

bool is_scheme(const std::string& key) {
  return std::find(kGraphSchemes.begin(), kGraphSchemes.end(), key) != kGraphSchemes.end();
}

bool is_own_key(const std::string& key) {
  return is_scheme(key) || std::find(kOwnKeys.begin(), kOwnKeys.end(), key) != kOwnKeys.end();
}

bool is_not_for_tasks(const std::string& key) {
  return std::find(kNotForTasks.begin(), kNotForTasks.end(), key) != kNotForTasks.end();
}

// The place of a key; asked for only where something is wrong.
using Places = std::function<std::string(const std::string& key)>;

// Adds "--time=10m"; true is the option alone, a list the option again and again.
Status add_option(const std::string& key, const Json& value, const Places& where, Texts& words) {
  if (is_not_for_tasks(key))
    return wrong_graph(
        fmt::format("'{}' is no key of a task, but an option of the command line", key),
        where(key));
  if (key == "after")
    return wrong_graph(
        "'after' says too little; afterok (it has completed), afterany (it is over), "
        "afternotok and afterstart are accepted",
        where(key));
  const std::string option = (key.size() == 1 ? "-" : "--") + key;
  if (value.is_boolean()) {
    if (value.get<bool>()) words.push_back(option);
    return {};
  }
  if (value.is_array()) {
    for (const auto& one : value) {
      if (one.is_array() || one.is_object())
        return wrong_graph(fmt::format("'{}' holds a list of values", key), where(key));
      if (auto added = add_option(key, one, where, words); !added) return added;
    }
    return {};
  }
  if (!value.is_string() && !value.is_number())
    return wrong_graph(fmt::format("'{}' is a text, a number, true, false or a list of them", key),
                       where(key));
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  // "-4" as a text is a range, of up to four.
  if (value.is_number() && text.starts_with('-'))
    return wrong_graph(
        fmt::format("'{}' is {}; a number that is not negative is accepted", key, text),
        where(key));
  // One word: a value apart, if the option takes none, would be taken for the command's first word.
  words.push_back(option + (key.size() > 1 ? "=" : "") + text);
  return {};
}

// The words of two tables; where both have an option, the second one's counts.
Result<Texts> words_of(Json options, const Json& more, const Places& where) {
  options.update(more);
  Texts words;
  for (const auto& [key, value] : options.items())
    if (auto added = add_option(key, value, where, words); !added)
      return tl::unexpected(added.error());
  return words;
}

Result<Texts> texts_of(const Json& value, const std::string& key, const Places& where) {
  if (value.is_string()) return Texts{value.get<std::string>()};
  Texts texts;
  bool good = value.is_array();
  for (std::size_t i = 0; good && i < value.size(); ++i) {
    good = value[i].is_string();
    if (good) texts.push_back(value[i].get<std::string>());
  }
  if (good) return texts;
  return wrong_graph(fmt::format("'{}' is a text or a list of texts", key), where(key));
}

// A task as in the file: it names those it waits for.
struct NamedTask {
  GraphTask task;
  std::vector<std::pair<std::string, std::string>> after;  // scheme, name
};

Places places_in(const GraphTask& task, std::size_t way = 0) {
  return [&task, way](const std::string& key) { return task.where_is(key, way); };
}

// Takes one way for each of the variants; without variants there is one way.
Status take_ways(const Json& options, const Json& variants, GraphTask& task) {
  const auto no_list = [&] {
    return wrong_graph("'variants' is a list of tables of options", places_in(task)("variants"));
  };
  if (!variants.is_array() || variants.empty()) return no_list();
  for (const auto& variant : variants) {
    if (!variant.is_object()) return no_list();
    auto words = words_of(options, variant, places_in(task, task.ways.size()));
    if (!words) return tl::unexpected(words.error());
    task.ways.push_back(std::move(*words));
  }
  return {};
}

Status take_command(const Json& value, const std::string& key, const Places& where,
                    GraphTask& task) {
  if (!task.command.empty())
    return wrong_graph("has both 'command' and 'shell'; one of them is accepted", where(key));
  if (key == "shell") {
    if (!value.is_string()) return wrong_graph("'shell' is one line for the shell", where(key));
    task.command = {"/bin/sh", "-c", value.get<std::string>()};
    return {};
  }
  auto words = value.is_array() ? texts_of(value, key, where) : Result<Texts>(Texts());
  if (!words || words->empty())
    return wrong_graph(
        "'command' is a list of texts, the program first; a line for the shell is "
        "'shell'",
        where(key));
  task.command = std::move(*words);
  return {};
}

// A key of the table that may be a misspelt `wanted`.
std::string meant_by_misspelt(const Json& table, std::string_view wanted) {
  const std::size_t close = wanted.size() > 5 ? 2 : 1;
  for (const auto& [key, value] : table.items())
    if (key != wanted && edit_distance(key, wanted) <= close) return key;
  return {};
}

Result<std::string> name_in(const Json& table, const GraphTask& task) {
  const auto name = table.find("name");
  if (name == table.end()) {
    const std::string key = meant_by_misspelt(table, "name");
    if (key.empty()) return wrong_graph("has no 'name'", task.place);
    return wrong_graph(fmt::format("has no 'name'; is '{}' meant to be it?", key),
                       task.place_of(key, 0));
  }
  if (name->is_string() && !name->get<std::string>().empty()) return name->get<std::string>();
  return wrong_graph("'name' is a text, and not an empty one", task.place_of("name", 0));
}

tl::unexpected<Error> no_command(const Json& table, const GraphTask& task) {
  for (const std::string_view wanted : {"command", "shell"})
    if (const std::string key = meant_by_misspelt(table, wanted); !key.empty())
      return wrong_graph(
          fmt::format("has no 'command' and no 'shell'; is '{}' meant to be '{}'?", key, wanted),
          places_in(task)(key));
  return wrong_graph("has no 'command' and no 'shell'", places_in(task)(""));
}

Result<NamedTask> read_task(const std::shared_ptr<const GraphDocument>& document,
                            std::size_t number, Json options) {
  const std::vector<std::string> way = {"task", std::to_string(number)};
  const Json& table = document->root()["task"][number];
  NamedTask named;
  GraphTask& task = named.task;
  task.place = document->place(way);
  task.document = document;
  task.number = number;
  if (!table.is_object()) return wrong_graph("is no table", task.place);
  auto name = name_in(table, task);
  if (!name) return tl::unexpected(name.error());
  task.name = std::move(*name);
  const Places where = places_in(task);
  Json variants = Json::array({Json::object()});
  for (const auto& [key, value] : table.items()) {
    Status taken;
    if (key == "command" || key == "shell") {
      taken = take_command(value, key, where, task);
    } else if (key == "batch") {
      if (!value.is_boolean()) return wrong_graph("'batch' is true or false", where(key));
      task.batch = value.get<bool>();
    } else if (key == "variants") {
      variants = value;
    } else if (is_scheme(key)) {
      const auto names = texts_of(value, key, where);
      if (!names) return tl::unexpected(names.error());
      for (const auto& one : *names) named.after.emplace_back(key, one);
    } else if (key != "name") {
      options[key] = value;
    }
    if (!taken) return tl::unexpected(taken.error());
  }
  if (task.command.empty()) return no_command(table, task);
  if (auto taken = take_ways(options, variants, task); !taken) return tl::unexpected(taken.error());
  return named;
}

std::string circle_from(const std::vector<NamedTask>& tasks,
                        const std::vector<std::size_t>& waits_for) {
  // Each task left waits for another one left: following them from any, one comes twice.
  std::vector<std::size_t> way;
  std::vector<bool> seen(tasks.size());
  std::size_t at = 0;
  while (waits_for[at] == tasks.size()) ++at;
  while (!seen[at]) {
    seen[at] = true;
    way.push_back(at);
    at = waits_for[at];
  }
  std::string text;
  for (auto it = std::find(way.begin(), way.end(), at); it != way.end(); ++it)
    text += tasks[*it].task.name + " waits for ";
  return text + tasks[at].task.name;
}

// A task to wait for, by its place in the file.
struct Awaited {
  std::string scheme;
  std::size_t task = 0;
  std::string indices;
};

// Does the task make an array, in one of its ways at least?
bool is_array(const GraphTask& task) {
  const auto makes_one = [](const std::string& word) {
    const std::string key = key_of_option(word);
    return key == "array" || key == "a" || key == "each-line" || key == "each-json";
  };
  return std::find(task.command.begin(), task.command.end(), ":::") != task.command.end() ||
         std::any_of(task.ways.begin(), task.ways.end(), [&](const Texts& way) {
           return std::any_of(way.begin(), way.end(), makes_one);
         });
}

// Reads "NAME", or "NAME.3-9": tasks of an array.
Result<Awaited> awaited_of(const std::vector<NamedTask>& tasks, const NamedTask& waiter,
                           const std::string& scheme, const std::string& name,
                           const std::map<std::string, std::size_t>& by_name) {
  const auto whole = by_name.find(name);
  const auto dot = name.rfind('.');
  const auto part = dot == std::string::npos ? by_name.end() : by_name.find(name.substr(0, dot));
  const auto wrong = [&](const std::string& what) {
    return wrong_graph(fmt::format("{} = '{}'{}", scheme, name, what),
                       places_in(waiter.task)(scheme));
  };
  if (whole == by_name.end() && part == by_name.end())
    return wrong(": there is no task of that name");
  if (whole == by_name.end()) return Awaited{scheme, part->second, name.substr(dot + 1)};
  if (part == by_name.end() || !is_array(tasks[part->second].task) ||
      !Idset::parse(name.substr(dot + 1)))
    return Awaited{scheme, whole->second, {}};
  return wrong(fmt::format(
      " is the task at {}, and {} of the array at {}; one of the two needs "
      "another name",
      tasks[whole->second].task.place, name.substr(dot + 1), tasks[part->second].task.place));
}

// The tasks in order. Errors: invalid_argument (a name that no task has, a circle).
Result<std::vector<GraphTask>> in_order(std::vector<NamedTask> tasks) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto [known, fresh] = by_name.emplace(tasks[i].task.name, i);
    if (!fresh)
      return wrong_graph(fmt::format("a task '{}' stands at {} already", tasks[i].task.name,
                                     tasks[known->second].task.place),
                         tasks[i].task.place_of("name", 0));
  }
  std::vector<std::vector<std::size_t>> waiters(tasks.size());
  std::vector<std::size_t> open(tasks.size());
  std::vector<std::vector<Awaited>> awaited(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const auto& [scheme, name] : tasks[i].after) {
      auto target = awaited_of(tasks, tasks[i], scheme, name, by_name);
      if (!target) return tl::unexpected(target.error());
      waiters[target->task].push_back(i);
      ++open[i];
      awaited[i].push_back(std::move(*target));
    }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (open[i] == 0) free.push(i);
  std::vector<std::size_t> order, rank(tasks.size(), tasks.size());
  while (!free.empty()) {
    const std::size_t i = free.top();
    free.pop();
    rank[i] = order.size();
    order.push_back(i);
    for (const std::size_t waiter : waiters[i])
      if (--open[waiter] == 0) free.push(waiter);
  }
  if (order.size() < tasks.size()) {
    std::vector<std::size_t> waits_for(tasks.size(), tasks.size());
    std::size_t first = tasks.size();
    for (std::size_t i = tasks.size(); i-- > 0;) {
      if (rank[i] != tasks.size()) continue;
      first = i;
      for (const auto& one : awaited[i])
        if (rank[one.task] == tasks.size()) waits_for[i] = one.task;
    }
    return wrong_graph("tasks wait for each other in a circle: " + circle_from(tasks, waits_for),
                       tasks[first].task.place);
  }
  std::vector<GraphTask> sorted;
  for (const std::size_t i : order) {
    for (auto& one : awaited[i])
      tasks[i].task.after.push_back({one.scheme, rank[one.task], std::move(one.indices)});
    sorted.push_back(std::move(tasks[i].task));
  }
  return sorted;
}

// Refuses in [defaults] all but options: each task says itself what tells it apart.
Status check_defaults(const GraphDocument& document, const Json& defaults) {
  const Places where = [&document](const std::string& key) {
    return document.place({"defaults", key}) + ", defaults";
  };
  if (!defaults.is_object())
    return wrong_graph("'defaults' is a table of options", document.place({"defaults"}));
  for (const auto& [key, value] : defaults.items())
    if (is_own_key(key))
      return wrong_graph(
          fmt::format("'{}' belongs to a task; [defaults] has options of holon submit only", key),
          where(key));
  const auto words = words_of(defaults, Json::object(), where);
  return words ? Status{} : tl::unexpected(words.error());
}

}  // namespace

std::vector<std::string> GraphTask::way_to(const std::string& key, std::size_t way) const {
  const std::string task = std::to_string(number);
  const std::vector<std::string> places[] = {
      {"task", task, "variants", std::to_string(way), key}, {"task", task, key}, {"defaults", key}};
  if (document != nullptr && !key.empty())
    for (const auto& steps : places)
      if (document->has(steps)) return steps;
  return {};
}

std::string GraphTask::place_of(const std::string& key, std::size_t way) const {
  const auto steps = way_to(key, way);
  return steps.empty() ? place : document->place(steps);
}

bool GraphTask::is_default(const std::string& key, std::size_t way) const {
  const auto steps = way_to(key, way);
  return !steps.empty() && steps.front() == "defaults";
}

std::string GraphTask::where_is(const std::string& key, std::size_t way) const {
  if (is_default(key, way)) return place_of(key, way) + ", defaults";
  return fmt::format("{}, task {}", place_of(key, way), name);
}

std::string key_of_option(const std::string& word) {
  if (!word.starts_with("--")) return word.substr(std::min<std::size_t>(1, word.size()), 1);
  return word.substr(2, word.find('=') - 2);
}

std::string about_unknown_key(const std::string& key, std::vector<std::string> options,
                              bool in_defaults, const std::string& verb) {
  const bool is_batch = verb == "batch";
  const std::string what = is_batch      ? "option of holon batch, which a task with 'batch' takes"
                           : in_defaults ? "option of holon submit"
                                         : "key of a task";
  std::erase_if(options, is_not_for_tasks);
  if (!in_defaults) {
    options.insert(options.end(), kOwnKeys.begin(), kOwnKeys.end());
    options.insert(options.end(), kGraphSchemes.begin(), kGraphSchemes.end());
  }
  const auto close = nearest(key, options);
  if (!close.empty())
    return fmt::format("'{}' is no {}; did you mean {}?", key, what, fmt::join(close, " or "));
  if (in_defaults)
    return fmt::format("'{}' is no {}; its options are accepted without their dashes", key, what);
  return fmt::format(
      "'{}' is no {}; accepted are {}, {}, and the options of holon {} without their dashes", key,
      what, fmt::join(kOwnKeys, ", "), fmt::join(kGraphSchemes, ", "), verb);
}

Result<std::vector<GraphTask>> parse_graph(const std::string& text, const std::string& file) {
  auto parsed = GraphDocument::parse(text, file);
  if (!parsed) return tl::unexpected(parsed.error());
  const auto document = std::make_shared<const GraphDocument>(std::move(*parsed));
  const Json& root = document->root();
  if (!root.is_object()) return wrong_graph("is no object with a list 'task'", file);
  for (const auto& [key, value] : root.items())
    if (key != "defaults" && key != "task")
      return wrong_graph(fmt::format("'{}' is no key here; accepted are defaults and task", key),
                         document->place({key}));
  const Json defaults = root.value("defaults", Json::object());
  if (auto good = check_defaults(*document, defaults); !good) return tl::unexpected(good.error());
  const auto list = root.find("task");
  if (list == root.end() || !list->is_array() || list->empty())
    return wrong_graph("has no tasks; each is a table [[task]]", file);
  std::vector<NamedTask> tasks;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto task = read_task(document, i, defaults);
    if (!task) return tl::unexpected(task.error());
    tasks.push_back(std::move(*task));
  }
  return in_order(std::move(tasks));
}

Result<std::vector<GraphTask>> read_graph(const std::string& file) {
  const bool piped = file == "-";
  const auto text = read_whole_file(piped ? "/dev/stdin" : file, kLongestGraph);
  if (!text) return wrong_graph(text.error().what, piped ? "standard input" : "--file " + file);
  return parse_graph(*text, piped ? "standard input" : file);
}

}  // namespace holon::cli
