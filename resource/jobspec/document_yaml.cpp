// document_yaml.cpp - YAML through yaml-cpp's event interface: its node tree would cost more and
// forget less.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "resource/jobspec/document.hpp"
#include "resource/jobspec/document_builder.hpp"

namespace holon::resource::jobspec {
namespace {

class YamlHandler : public YAML::EventHandler {
 public:
  explicit YamlHandler(std::size_t most_values) : builder_(most_values) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { builder_.null(line(mark)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    builder_.complain("aliases (*name) are not accepted here", line(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    const bool quoted = tag == "!";
    if (!quoted && is_null(text)) return builder_.null(line(mark));
    builder_.scalar(text, quoted, line(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    builder_.begin(Document::Kind::list, line(mark));
  }
  void OnSequenceEnd() override { builder_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    builder_.begin(Document::Kind::map, line(mark));
  }
  void OnMapEnd() override { builder_.end(); }

  DocumentBuilder& builder() { return builder_; }

 private:
  static int line(const YAML::Mark& mark) { return mark.line + 1; }
  static bool is_null(const std::string& text) {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
  }

  DocumentBuilder builder_;
};

}  // namespace

Result<Document> parse_yaml(std::string_view bytes, std::size_t most_values) {
  YamlHandler handler(most_values);
  try {
    std::istringstream stream{std::string(bytes)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(handler);
  } catch (const YAML::Exception& error) {
    // what() repeats the place; msg is the bare words
    handler.builder().complain("not YAML: " + error.msg, error.mark.line + 1);
  }
  return std::move(handler.builder()).finish();
}

}  // namespace holon::resource::jobspec
