// TOML is turned into the JSON that says the same; its own tree is kept for the lines.
#include "cli/workflow/graph_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/text/nesting.hpp"
#include "config/toml_bounds.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNesting = 256;  // of lists and objects, as in a jobspec

Json json_of_toml(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    // A table's keys differ, so none is looked for among those that are there.
    Json object = Json::object();
    auto& members = object.get_ref<Json::object_t&>();
    for (const auto& [key, value] : *table)
      members.emplace_back(std::string(key.str()), json_of_toml(value));
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

const Json* step(const Json& at, const std::string& name) {
  if (at.is_object()) {
    const auto found = at.find(name);
    return found == at.end() ? nullptr : &*found;
  }
  const auto number = std::strtoull(name.c_str(), nullptr, 10);
  return at.is_array() && number < at.size() ? &at[number] : nullptr;
}

// The line of the byte at which nlohmann's parser stopped.
std::size_t line_of(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

// The part behind the place in "[json.exception.parse_error.101] parse error at line 1, column 2:
// syntax error while ...".
std::string what_of(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const auto begin = text.find(": ");
  return begin == std::string::npos ? text : text.substr(begin + 2);
}

}  // namespace

struct GraphDocument::Lines {
  toml::table table;
};

GraphDocument::GraphDocument(Json root, std::string file, std::unique_ptr<Lines> lines)
    : root_(std::move(root)), file_(std::move(file)), lines_(std::move(lines)) {}
GraphDocument::GraphDocument(GraphDocument&&) noexcept = default;
GraphDocument::~GraphDocument() = default;

Result<GraphDocument> GraphDocument::parse(const std::string& text, const std::string& file) {
  // TOML never begins with a brace.
  const auto begin = text.find_first_not_of(" \t\r\n");
  const bool is_json =
      file.ends_with(".json") || (begin != std::string::npos && text[begin] == '{');
  if (is_json && json_nesting(text) > kMostNesting)
    return fail(Errc::invalid_argument, fmt::format("nested deeper than {} levels", kMostNesting),
                file);
  if (auto bounded = is_json ? Status() : config::check_toml(text, file); !bounded)
    return tl::unexpected(bounded.error());
  try {
    if (is_json) return GraphDocument(Json::parse(text), file, nullptr);
    auto lines = std::make_unique<Lines>(Lines{toml::parse(text, file)});
    Json root = json_of_toml(lines->table);
    return GraphDocument(std::move(root), file, std::move(lines));
  } catch (const nlohmann::json::parse_error& e) {
    return fail(Errc::invalid_argument, what_of(e),
                fmt::format("{}:{}", file, line_of(text, e.byte)));
  } catch (const nlohmann::json::exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  } catch (const toml::parse_error& e) {
    return fail(Errc::invalid_argument, std::string(e.description()),
                fmt::format("{}:{}", file, e.source().begin.line));
  }
}

std::string GraphDocument::place(const std::vector<std::string>& way) const {
  if (!lines_) return fmt::format("{}/{}", file_, fmt::join(way, "/"));
  std::string place = file_;
  const toml::node* at = &lines_->table;
  for (const std::string& name : way) {
    toml::source_position position;
    if (const auto* table = at->as_table()) {
      const auto found = table->find(name);
      if (found == table->end()) return place;
      position = found->first.source().begin;
      at = &found->second;
    } else {
      const auto* list = at->as_array();
      const auto number = std::strtoull(name.c_str(), nullptr, 10);
      if (list == nullptr || number >= list->size()) return place;
      at = list->get(number);
      position = at->source().begin;
    }
    if (position) place = fmt::format("{}:{}", file_, position.line);
  }
  return place;
}

bool GraphDocument::has(const std::vector<std::string>& way) const {
  const Json* at = &root_;
  for (const std::string& name : way)
    if (at = step(*at, name); at == nullptr) return false;
  return true;
}

}  // namespace holon::cli
