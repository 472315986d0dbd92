// TOML is turned into the JSON that says the same, with the line of each task beside it. The order
// is Kahn's, with the first task of the file that is free next.
#include "cli/workflow/graph_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>

#include "base/whole_file.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr std::size_t kLongestGraph = 256 << 20;  // bytes
constexpr auto kGraphSchemes = std::to_array<std::string_view>(
    {"afterok", "afterany", "afternotok", "afterstart", "aftercorr"});
// What of holon submit's options says the same as something here, or is about more than one task.
constexpr auto kNotForTasks = std::to_array<std::string_view>(
    {"file", "jobspec", "json", "dry-run", "instance", "count", "wrap", "help", "now", "into"});

struct Document {
  Json root;
  std::vector<std::string> places;  // of the tasks
};

tl::unexpected<Error> wrong_graph(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

Json json_of_toml(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of_toml(value);
    return object;
  }
  if (const auto* list = node.as_array()) {
    Json array = Json::array();
    for (const auto& value : *list) array.push_back(json_of_toml(value));
    return array;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  std::ostringstream other;  // a date, a time
  node.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) other << value.get();
  });
  return other.str();
}

Result<Document> read_toml(const std::string& text, const std::string& file) {
  try {
    const toml::table table = toml::parse(text, file);
    Document document{json_of_toml(table), {}};
    if (const auto* tasks = table["task"].as_array())
      for (const auto& task : *tasks)
        document.places.push_back(fmt::format("{}:{}", file, task.source().begin.line));
    return document;
  } catch (const toml::parse_error& e) {
    return wrong_graph(std::string(e.description()),
                       fmt::format("{}:{}", file, e.source().begin.line));
  }
}

Result<Document> read_json(const std::string& text, const std::string& file) {
  try {
    Document document{Json::parse(text), {}};
    if (const auto tasks = document.root.find("task");
        tasks != document.root.end() && tasks->is_array())
      for (std::size_t i = 0; i < tasks->size(); ++i)
        document.places.push_back(fmt::format("{}/task/{}", file, i));
    return document;
  } catch (const nlohmann::json::exception& e) {
    return wrong_graph(e.what(), file);
  }
}

bool is_scheme(const std::string& key) {
  return std::find(kGraphSchemes.begin(), kGraphSchemes.end(), key) != kGraphSchemes.end();
}

// "--time=10m"; true is the option alone, a list the option again and again.
Status add_option(const std::string& key, const Json& value, const std::string& where,
                  Words& words) {
  if (std::find(kNotForTasks.begin(), kNotForTasks.end(), key) != kNotForTasks.end())
    return wrong_graph(fmt::format("'{}' is no key of a task", key), where);
  if (key == "after")
    return wrong_graph(
        "'after' says too little; afterok (it has completed), afterany (it is over), "
        "afternotok and afterstart are accepted",
        where);
  const std::string option = (key.size() == 1 ? "-" : "--") + key;
  if (value.is_boolean()) {
    if (value.get<bool>()) words.push_back(option);
    return {};
  }
  if (value.is_array()) {
    for (const auto& one : value) {
      if (one.is_array() || one.is_object())
        return wrong_graph(fmt::format("'{}' holds a list of values", key), where);
      if (auto added = add_option(key, one, where, words); !added) return added;
    }
    return {};
  }
  if (!value.is_string() && !value.is_number())
    return wrong_graph(fmt::format("'{}' is a text, a number, true, false or a list of them", key),
                       where);
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  // In one word: what an option cannot have would be taken for the command's first word.
  if (key.size() > 1) {
    words.push_back(option + "=" + text);
  } else {
    words.push_back(option);
    words.push_back(text);
  }
  return {};
}

// Of two tables the options of the second one count where both have one.
Result<Words> words_of(Json options, const Json& more, const std::string& where) {
  options.update(more);
  Words words;
  for (const auto& [key, value] : options.items())
    if (auto added = add_option(key, value, where, words); !added)
      return tl::unexpected(added.error());
  return words;
}

Result<Words> texts_of(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_string()) return Words{value.get<std::string>()};
  Words texts;
  bool good = value.is_array();
  for (std::size_t i = 0; good && i < value.size(); ++i) {
    good = value[i].is_string();
    if (good) texts.push_back(value[i].get<std::string>());
  }
  if (good) return texts;
  return wrong_graph(fmt::format("'{}' is a text or a list of texts", key), where);
}

// A task as the file has it: it names those it waits for.
struct NamedTask {
  GraphTask task;
  std::vector<std::pair<std::string, std::string>> after;  // scheme, name
};

// One way for each of the variants; without any there is one way.
Status take_ways(const Json& options, const Json& variants, const std::string& where,
                 GraphTask& task) {
  if (!variants.is_array() || variants.empty())
    return wrong_graph("'variants' is a list of tables of options", where);
  for (const auto& variant : variants) {
    if (!variant.is_object())
      return wrong_graph("'variants' is a list of tables of options", where);
    auto words = words_of(options, variant, where);
    if (!words) return tl::unexpected(words.error());
    task.ways.push_back(std::move(*words));
  }
  return {};
}

Status take_command(const Json& value, const std::string& key, const std::string& where,
                    GraphTask& task) {
  if (!task.command.empty())
    return wrong_graph("has both 'command' and 'shell'; one of them is accepted", where);
  if (key == "shell") {
    if (!value.is_string()) return wrong_graph("'shell' is one line for the shell", where);
    task.command = {"/bin/sh", "-c", value.get<std::string>()};
    return {};
  }
  auto words = value.is_array() ? texts_of(value, key, where) : Result<Words>(Words());
  if (!words || words->empty())
    return wrong_graph(
        "'command' is a list of texts, the program first; a line for the shell is "
        "'shell'",
        where);
  task.command = std::move(*words);
  return {};
}

Result<NamedTask> read_task(const Json& table, Json options, const std::string& place) {
  NamedTask named;
  named.task.place = place;
  if (!table.is_object()) return wrong_graph("is no table", place);
  const auto name = table.find("name");
  if (name == table.end() || !name->is_string() || name->get<std::string>().empty())
    return wrong_graph("has no 'name'", place);
  named.task.name = name->get<std::string>();
  const std::string where = fmt::format("{}, task {}", place, named.task.name);
  Json variants = Json::array({Json::object()});
  for (const auto& [key, value] : table.items()) {
    Status taken;
    if (key == "command" || key == "shell") {
      taken = take_command(value, key, where, named.task);
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
  if (named.task.command.empty()) return wrong_graph("has no 'command' and no 'shell'", where);
  if (auto taken = take_ways(options, variants, where, named.task); !taken)
    return tl::unexpected(taken.error());
  return named;
}

std::string circle_from(const std::vector<NamedTask>& tasks,
                        const std::vector<std::size_t>& waits_for) {
  // Each task that is left waits for one that is left: going on from any, one comes twice.
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

// What a task waits for, by its place in the file.
struct Awaited {
  std::string scheme;
  std::size_t task = 0;
  std::string indices;
};

// "NAME", or else "NAME.3-9": tasks of an array.
Result<Awaited> awaited_of(const NamedTask& waiter, const std::string& scheme,
                           const std::string& name,
                           const std::map<std::string, std::size_t>& by_name) {
  if (const auto whole = by_name.find(name); whole != by_name.end())
    return Awaited{scheme, whole->second, {}};
  const auto dot = name.rfind('.');
  if (dot != std::string::npos)
    if (const auto array = by_name.find(name.substr(0, dot)); array != by_name.end())
      return Awaited{scheme, array->second, name.substr(dot + 1)};
  return wrong_graph(fmt::format("{} = '{}': there is no task of that name", scheme, name),
                     fmt::format("{}, task {}", waiter.task.place, waiter.task.name));
}

// Errors: invalid_argument (a name that no task has, a circle).
Result<std::vector<GraphTask>> in_order(std::vector<NamedTask> tasks) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto [known, fresh] = by_name.emplace(tasks[i].task.name, i);
    if (!fresh)
      return wrong_graph(fmt::format("a task '{}' stands at {} already", tasks[i].task.name,
                                     tasks[known->second].task.place),
                         tasks[i].task.place);
  }
  std::vector<std::vector<std::size_t>> waiters(tasks.size());
  std::vector<std::size_t> open(tasks.size());
  std::vector<std::vector<Awaited>> awaited(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const auto& [scheme, name] : tasks[i].after) {
      auto target = awaited_of(tasks[i], scheme, name, by_name);
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

}  // namespace

Result<std::vector<GraphTask>> parse_graph(const std::string& text, const std::string& file) {
  // No TOML begins with a brace.
  const auto begin = text.find_first_not_of(" \t\r\n");
  const bool is_json =
      file.ends_with(".json") || (begin != std::string::npos && text[begin] == '{');
  const auto document = is_json ? read_json(text, file) : read_toml(text, file);
  if (!document) return tl::unexpected(document.error());
  const Json& root = document->root;
  if (!root.is_object()) return wrong_graph("is no object with a list 'task'", file);
  for (const auto& [key, value] : root.items())
    if (key != "defaults" && key != "task")
      return wrong_graph(fmt::format("'{}' is no key here; accepted are defaults and task", key),
                         file);
  const Json defaults = root.value("defaults", Json::object());
  if (!defaults.is_object() || defaults.contains("name"))
    return wrong_graph("'defaults' is a table of options, without 'name'", file + ", defaults");
  if (auto words = words_of(defaults, Json::object(), file + ", defaults"); !words)
    return tl::unexpected(words.error());
  const auto list = root.find("task");
  if (list == root.end() || !list->is_array() || list->empty())
    return wrong_graph("has no tasks; each is a table [[task]]", file);
  std::vector<NamedTask> tasks;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto task = read_task((*list)[i], defaults, document->places[i]);
    if (!task) return tl::unexpected(task.error());
    tasks.push_back(std::move(*task));
  }
  return in_order(std::move(tasks));
}

Result<std::vector<GraphTask>> read_graph(const std::string& file) {
  const bool piped = file == "-";
  const auto text = read_whole_file(piped ? "/dev/stdin" : file, kLongestGraph);
  if (!text) return fail(text.error().code, text.error().what, piped ? "standard input" : file);
  return parse_graph(*text, piped ? "standard input" : file);
}

}  // namespace holon::cli
