// translation.hpp - what the translations of Slurm's and Flux's options share. A private header.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/translate.hpp"

namespace holon::cli {

using Text = std::optional<std::string>;

enum class Takes { nothing, value, joined_value };  // joined_value: only behind '='

struct Equal {
  std::string_view letter;  // "-n"; may be empty
  std::string_view name;    // "--ntasks"
  Takes takes;
  // "-n"; empty: it has no equal, unless it is looked at together with others
  std::string_view ours;
  // The value in our notation; nullopt: it has no equal. nullptr: as it is.
  Text (*convert)(const std::string&) = nullptr;
};

// The row of an option as it is typed, by its letter or its name; nullptr: there is none. A long
// name may be abbreviated as far as no other begins so, as getopt_long(3) has it.
const Equal* row_of(std::span<const Equal> rows, std::string_view name);

class Translation {
 public:
  struct Given {
    std::string place;
    std::string typed;  // "--mem=4G"
    std::string value;
    bool has_value = false;
  };

  Translation(std::span<const Equal> rows, const Around& around) : rows_(rows), around_(around) {}

  // Splits the lines into options; all that have a row with `ours` are translated at once.
  void read(const Parser::Layer& lines);
  // The option given last, of a row without `ours`; it is taken out of what is left.
  std::optional<Given> take(std::string_view name);
  // Takes it out where this is its value.
  void take_where(std::string_view name, std::string_view value);
  void use(const Given& given, std::vector<std::string> ours);
  // `why`: what the option would be for, or what is missing.
  void no_equal(const Given& given, std::string_view why = "");

  // Counts nodes and tasks, as far as they are numbers. `per_node`: the names of the option that
  // says how many tasks each node has.
  void count_tasks(std::initializer_list<std::string_view> per_node);
  std::optional<std::int64_t> nodes() const { return nodes_; }
  std::optional<std::int64_t> tasks() const { return tasks_; }
  std::int64_t cores_per_task() const;
  // The value of this option of ours that holds in the end: the command line's, else that of a line
  // here; nullopt: it is not given.
  Text value_of(const std::string& ours) const;
  bool uses(const std::string& ours) const { return value_of(ours).has_value(); }
  // Was an equal of the option given here, though the command does not take it?
  bool lacks(const std::string& ours) const { return lacking_.contains(ours); }
  // Does the command take the option?
  bool knows(const std::string& ours) const { return around_.knows(ours); }
  // Sets a variable that the script finds.
  void set(std::string_view name, const std::string& value);
  // Tasks on each node; nullopt: unknown.
  std::optional<std::int64_t> tasks_per_node() const;

  // Ends the translation; options that are left have no equal.
  Translated finish() &&;

 private:
  void add(const Equal* row, Given given);
  void share_tasks(const Given& given, std::int64_t each);
  void spread_over_named_hosts();
  void leave_nodes_without_task();
  std::optional<std::int64_t> number_of(const std::string& ours) const;

  std::span<const Equal> rows_;
  const Around& around_;
  std::vector<std::pair<std::string, Given>> left_;  // by the name of the row; "": of none
  std::map<std::string, Given> used_;  // the last of "-n", "-N", "-c", in our notation
  std::set<std::string> lacking_;
  std::optional<std::int64_t> nodes_, tasks_;
  Translated done_;
};

// A whole number from 1 on.
std::optional<std::int64_t> count_of(const std::string& text);
Text a_number(const std::string& text);

}  // namespace holon::cli
