#include "resource/jobspec/document_builder.hpp"

#include <algorithm>

#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource::jobspec {
namespace {

// Far above any jobspec, far below what hurts.
constexpr std::size_t kMaxValues = 1u << 20;

}  // namespace

bool DocumentBuilder::takes_key() const {
  return !open_.empty() && open_.back().document.kind == Document::Kind::map &&
         !open_.back().has_key;
}

// The way to what is being read, its first steps where it is long: JSON's parser tells no lines.
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

// A look at each key before it is the quickest where there are few.
bool DocumentBuilder::is_new_key(Open& map, const std::string& name) {
  constexpr std::size_t kFew = 16;
  const std::vector<std::string>& keys = map.document.keys;
  if (keys.size() < kFew) return std::find(keys.begin(), keys.end(), name) == keys.end();
  if (map.known.empty()) map.known.insert(keys.begin(), keys.end());
  return map.known.insert(name).second;
}

void DocumentBuilder::key(std::string name, int line) {
  if (failed_) return;
  Open& top = open_.back();
  if (!is_new_key(top, name))
    return complain("key \"" + name.substr(0, 64) + "\" given twice", line);
  top.document.keys.push_back(std::move(name));
  top.has_key = true;
}

bool DocumentBuilder::counted(int line) {
  if (!failed_ && ++values_ > kMaxValues) complain("too many values, at most 1048576", line);
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
  Document done = std::move(open_.back().document);
  open_.pop_back();
  place(std::move(done));
}

Result<Document> DocumentBuilder::finish() && {
  if (failed_) return tl::unexpected<Error>(std::move(error_));
  return std::move(root_);
}

}  // namespace holon::resource::jobspec
