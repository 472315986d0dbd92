// document_json.cpp - JSON through nlohmann's SAX parser, which does not recurse whatever the
// depth.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "resource/jobspec/document.hpp"
#include "resource/jobspec/document_builder.hpp"

namespace holon::resource::jobspec {
namespace {

class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonHandler(std::string_view bytes, std::size_t most_values)
      : bytes_(bytes), builder_(most_values) {}

  bool null() override { return builder_.null(0), ok(); }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return plain(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return plain(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return plain(text); }
  bool string(std::string& value) override {
    builder_.scalar(std::move(value), true, 0);
    return ok();
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return builder_.begin(Document::Kind::map, 0), ok(); }
  bool key(std::string& name) override { return builder_.key(std::move(name), 0), ok(); }
  bool end_object() override { return builder_.end(), ok(); }
  bool start_array(std::size_t) override { return builder_.begin(Document::Kind::list, 0), ok(); }
  bool end_array() override { return builder_.end(), ok(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    const auto upto = bytes_.substr(0, position);
    const auto lines = std::count(upto.begin(), upto.end(), '\n');
    builder_.complain(std::string("not JSON: ") + error.what(), static_cast<int>(lines) + 1);
    return false;
  }

  DocumentBuilder& builder() { return builder_; }

 private:
  bool plain(std::string text) {
    builder_.scalar(std::move(text), false, 0);
    return ok();
  }
  bool ok() const { return !builder_.failed(); }

  std::string_view bytes_;
  DocumentBuilder builder_;
};

}  // namespace

Result<Document> parse_json(std::string_view bytes, std::size_t most_values) {
  JsonHandler handler(bytes, most_values);
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &handler);
  return std::move(handler.builder()).finish();
}

}  // namespace holon::resource::jobspec
