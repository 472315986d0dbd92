#include "resource/jobspec/decode.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace holon::resource::jobspec {
namespace {

std::string found(const Document& document) {
  switch (document.kind) {
    case Document::Kind::null:
      return "nothing";
    case Document::Kind::list:
      return "a list";
    case Document::Kind::map:
      return "a mapping";
    case Document::Kind::scalar:
      break;
  }
  return "\"" + document.text.substr(0, 64) + (document.text.size() > 64 ? "...\"" : "\"");
}

template <class T>
bool whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

}  // namespace

std::string DocumentPlace::pointer() const {
  if (up_ == nullptr) return {};
  const std::string step = key_.empty() ? std::to_string(index_) : std::string(key_.substr(0, 64));
  return up_->pointer() + "/" + step;
}

tl::unexpected<Error> DocumentPlace::wrong(const std::string& what) const {
  std::string where = pointer();
  if (where.empty()) where = "/";
  if (document_->line > 0) where = "line " + std::to_string(document_->line) + " (" + where + ")";
  return fail(Errc::invalid_argument, what, where);
}

std::optional<DocumentPlace> DocumentPlace::find(std::string_view key) const {
  const Document* child = document_->find(key);
  if (child == nullptr) return std::nullopt;
  return at(key, *child);
}

Status DocumentPlace::require_map() const {
  if (document_->kind == Document::Kind::map) return {};
  return wrong("found " + found(*document_) + ", a mapping is needed");
}

Status DocumentPlace::require_list() const {
  if (document_->kind == Document::Kind::list) return {};
  return wrong("found " + found(*document_) + ", a list is needed");
}

Status DocumentPlace::only(std::initializer_list<std::string_view> keys) const {
  for (const std::string& key : document_->keys) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string known;
    for (const auto accepted : keys) known += (known.empty() ? "" : ", ") + std::string(accepted);
    return at(key, *document_->find(key)).wrong("unknown key; accepted: " + known);
  }
  return {};
}

Result<DocumentPlace> DocumentPlace::required(std::string_view key) const {
  if (auto child = find(key)) return *child;
  return wrong("the key \"" + std::string(key) + "\" is missing");
}

Result<std::string> DocumentPlace::text() const {
  if (document_->kind == Document::Kind::scalar) return document_->text;
  return wrong("found " + found(*document_) + ", a string is needed");
}

Result<bool> DocumentPlace::boolean() const {
  if (document_->kind == Document::Kind::scalar) {
    if (document_->text == "true") return true;
    if (document_->text == "false") return false;
  }
  return wrong("found " + found(*document_) + ", true or false is needed");
}

Result<std::int64_t> DocumentPlace::integer(std::int64_t min, std::int64_t max) const {
  std::int64_t value = 0;
  if (document_->kind == Document::Kind::scalar && whole(document_->text, value) && value >= min &&
      value <= max)
    return value;
  return wrong("found " + found(*document_) + ", a whole number from " + std::to_string(min) +
               " to " + std::to_string(max) + " is needed");
}

Result<double> DocumentPlace::real() const {
  double value = 0;
  if (document_->kind == Document::Kind::scalar && whole(document_->text, value) &&
      std::isfinite(value))
    return value;
  return wrong("found " + found(*document_) + ", a number is needed");
}

}  // namespace holon::resource::jobspec
