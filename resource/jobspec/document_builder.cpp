#include "resource/jobspec/document_builder.hpp"

#include <algorithm>
#include <optional>

#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource::jobspec {
namespace {

// The number of keys of one map that are compared with each other; larger maps look for equal keys
// once all are there. Not by hashes: a sender could choose keys with equal ones.
constexpr std::size_t kFewKeys = 16;

// The place of the first key that repeats an earlier one; nullopt: all differ. O(keys log keys).
std::optional<std::size_t> repeated(const std::vector<std::string>& keys) {
  std::vector<std::pair<std::string_view, std::size_t>> sorted;
  sorted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) sorted.emplace_back(keys[i], i);
  std::sort(sorted.begin(), sorted.end());
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].first == sorted[i - 1].first && (!first || sorted[i].second < *first))
      first = sorted[i].second;
  return first;
}

}  // namespace

bool DocumentBuilder::takes_key() const {
  return !open_.empty() && open_.back().document.kind == Document::Kind::map &&
         !open_.back().has_key;
}

// The way to the value being read, its first steps if long: JSON's parser tells no lines.
std::string DocumentBuilder::pointer() const {
  constexpr std::size_t kSteps = 8;
  std::string text;
  for (std::size_t i = 0; i < open_.size() && i < kSteps; ++i) {
    const Document& at = open_[i].document;
    if (at.kind == Document::Kind::map)
      text += "/" + (at.keys.empty() ? std::string() : at.keys.back().substr(0, 64));
    else
      text += "/" + std::to_string(at.items.size());
  }
  return open_.size() > kSteps ? text + "/..." : text.empty() ? "/" : text;
}

void DocumentBuilder::complain(std::string what, int line) {
  if (failed_) return;
  failed_ = true;
  error_ = Error{Errc::invalid_argument, std::move(what),
                 line > 0 ? "line " + std::to_string(line) : pointer()};
}

void DocumentBuilder::key(std::string name, int line) {
  if (failed_) return;
  Open& top = open_.back();
  std::vector<std::string>& keys = top.document.keys;
  if (keys.size() < kFewKeys && std::find(keys.begin(), keys.end(), name) != keys.end())
    return given_twice(name, line);
  keys.push_back(std::move(name));
  top.has_key = true;
}

void DocumentBuilder::given_twice(const std::string& key, int line) {
  complain("key \"" + key.substr(0, 64) + "\" given twice", line);
}

bool DocumentBuilder::counted(int line) {
  if (!failed_ && ++values_ > most_values_)
    complain("too many values, at most " + std::to_string(most_values_), line);
  return !failed_;
}

void DocumentBuilder::place(Document document) {
  if (takes_key()) {
    if (document.kind != Document::Kind::scalar)
      return complain("a key must be a scalar", document.line);
    return key(std::move(document.text), document.line);
  }
  if (open_.empty()) {
    root_ = std::move(document);
    return;
  }
  open_.back().document.items.push_back(std::move(document));
  open_.back().has_key = false;
}

void DocumentBuilder::scalar(std::string text, bool quoted, int line) {
  // An escape can say what the document's own bytes must not.
  if (!is_utf8(text)) return complain("a string that is not UTF-8 or holds a NUL", line);
  Document document;
  document.kind = Document::Kind::scalar;
  document.quoted = quoted;
  document.line = line;
  document.text = std::move(text);
  if (counted(line)) place(std::move(document));
}

void DocumentBuilder::null(int line) {
  Document document;
  document.line = line;
  if (counted(line)) place(std::move(document));
}

void DocumentBuilder::begin(Document::Kind kind, int line) {
  if (!counted(line)) return;
  if (takes_key()) return complain("a key must be a scalar", line);
  if (open_.size() >= static_cast<std::size_t>(kMaxJobspecDepth))
    return complain("nested deeper than " + std::to_string(kMaxJobspecDepth) + " levels", line);
  Open open;
  open.document.kind = kind;
  open.document.line = line;
  open_.push_back(std::move(open));
}

void DocumentBuilder::end() {
  if (failed_) return;
  const std::vector<std::string>& keys = open_.back().document.keys;
  if (keys.size() > kFewKeys)
    if (const auto at = repeated(keys))
      return given_twice(keys[*at], open_.back().document.items[*at].line);
  Document done = std::move(open_.back().document);
  open_.pop_back();
  place(std::move(done));
}

Result<Document> DocumentBuilder::finish() && {
  if (failed_) return tl::unexpected<Error>(std::move(error_));
  return std::move(root_);
}

}  // namespace holon::resource::jobspec
