// document_builder.hpp - makes a Document from the events of a parser, and keeps it within bounds.
// A private header.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "resource/jobspec/document.hpp"

namespace holon::resource::jobspec {

// The parser calls scalar, null, begin_*, end in document order. A map's keys arrive as ordinary
// scalars (YAML) or through key() (JSON). The first complaint stays in `error`, later calls do
// nothing.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(std::size_t most_values) : most_values_(most_values) {}

  void scalar(std::string text, bool quoted, int line);
  void null(int line);
  void begin(Document::Kind kind, int line);
  void key(std::string name, int line);
  void end();
  void complain(std::string what, int line);

  bool failed() const { return failed_; }
  // The document, or the first complaint with its line. REQUIRES: every begin has its end.
  Result<Document> finish() &&;

 private:
  struct Open {
    Document document;
    bool has_key = false;
  };

  std::string pointer() const;
  bool takes_key() const;
  void given_twice(const std::string& key, int line);
  bool counted(int line);
  void place(Document document);

  std::vector<Open> open_;
  Document root_;
  Error error_;
  bool failed_ = false;
  std::size_t most_values_;
  std::size_t values_ = 0;
};

}  // namespace holon::resource::jobspec
