// decode.hpp - reading fields of a Document with errors that say where, what was found, what is
// accepted. Private.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "resource/jobspec/document.hpp"

namespace holon::resource::jobspec {

// A value and the way to it from the top, kept on the caller's stack.
class DocumentPlace {
 public:
  explicit DocumentPlace(const Document& top) : document_(&top) {}

  const Document& operator*() const { return *document_; }
  const Document* operator->() const { return document_; }

  // REQUIRES: the key or index exists. The child must not outlive this.
  DocumentPlace at(std::string_view key, const Document& child) const {
    return DocumentPlace(this, key, 0, child);
  }
  DocumentPlace at(std::size_t index) const {
    return DocumentPlace(this, {}, index, document_->items[index]);
  }
  std::optional<DocumentPlace> find(std::string_view key) const;

  std::string pointer() const;  // "/resources/0/count"
  tl::unexpected<Error> wrong(const std::string& what) const;

  Status require_map() const;
  Status require_list() const;
  // Checks that every key of this map is one of these.
  Status only(std::initializer_list<std::string_view> keys) const;
  Result<DocumentPlace> required(std::string_view key) const;

  // Reads scalars. Numbers in quotes are taken as numbers, as YAML writers often quote.
  Result<std::string> text() const;
  Result<bool> boolean() const;
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  Result<double> real() const;  // finite

 private:
  DocumentPlace(const DocumentPlace* up, std::string_view key, std::size_t index,
                const Document& document)
      : up_(up), key_(key), index_(index), document_(&document) {}

  const DocumentPlace* up_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  const Document* document_;
};

}  // namespace holon::resource::jobspec
