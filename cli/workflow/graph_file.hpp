// graph_file.hpp - tasks that wait for each other by their names, in one file (docs/formats.md,
// "Task graphs"). Nothing is known of options here: they are words for the parser of holon submit,
// or of holon batch.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

class GraphDocument;

struct GraphTask {
  std::string name;
  std::string place;  // "campaign.toml:12", "campaign.json/task/3"
  // Options, one a word, with those of [defaults]; of several ways the first that can ever run is
  // taken.
  std::vector<std::vector<std::string>> ways;
  std::vector<std::string> command;
  bool batch = false;  // it is an instance, and the command its initial program: as of holon batch
  struct After {
    std::string scheme;        // afterok, ...
    std::size_t task = 0;      // its place in the list, before this one
    std::string indices = {};  // of an array, "3-9": these tasks; empty: the whole
    bool operator==(const After&) const = default;
  };
  std::vector<After> after;

  std::shared_ptr<const GraphDocument> document;
  std::size_t number = 0;  // among the tasks of the file, in its order

  // The place of the option `key` of the way: in its variant, in the task or in [defaults];
  // "campaign.toml:14". `place` if it stands nowhere.
  std::string place_of(const std::string& key, std::size_t way) const;
  // The place and its owner: "campaign.toml:14, task fit", "campaign.toml:2, defaults".
  std::string where_is(const std::string& key, std::size_t way) const;
  // Does the key stand in [defaults], and nowhere nearer?
  bool is_default(const std::string& key, std::size_t way) const;

 private:
  // {"task", "3", "time"}; empty: the key stands nowhere.
  std::vector<std::string> way_to(const std::string& key, std::size_t way) const;
};

// The key of the option "--time=10m" of a way: "time".
std::string key_of_option(const std::string& word);

// The message about a key that is neither a task's nor one of `options`: the nearest that is, or
// what is accepted. `in_defaults`: it stands in [defaults], where options alone are accepted.
// `verb`: whose options these are, submit or batch.
std::string about_unknown_key(const std::string& key, std::vector<std::string> options,
                              bool in_defaults, const std::string& verb = "submit");

// The tasks of the file ("-": standard input), each behind all that it waits for, otherwise in the
// order of the file. Errors: invalid_argument with the place: a file that cannot be read, no TOML
// or JSON, a key or value that is not accepted, two tasks of one name, a name that no task has,
// tasks that wait for each other in a circle.
Result<std::vector<GraphTask>> read_graph(const std::string& file);
// The tasks of a text, which is JSON if `file` ends in ".json" or the text begins with a brace.
Result<std::vector<GraphTask>> parse_graph(const std::string& text, const std::string& file);

}  // namespace holon::cli
