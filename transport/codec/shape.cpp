#include "transport/codec/shape.hpp"

#include <nlohmann/json.hpp>

namespace holon::transport {
namespace {

using Json = nlohmann::ordered_json;

class Schema {
 public:
  void add(const TopicGroup& group) {
    prefix_ = group.prefix;
    for (const Topic& topic : group.topics) {
      Json& entry = topics_[std::string(topic.name)];
      entry["request"] = describe(topic.request());
      entry[topic.is_stream ? "stream" : "answer"] = describe(topic.answer());
    }
  }

  std::string text() {
    return Json{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                {"title", "the messages of holon"},
                {"description",
                 "One definition for each message; x-topics says which of them a topic's request "
                 "and answer are, and what the parts of a stream of answers. Fields that are "
                 "absent have their default, unknown ones are ignored."},
                {"x-topics", std::move(topics_)},
                {"$defs", std::move(definitions_)}}
               .dump(2) +
           "\n";
  }

 private:
  Json describe(const Shape& shape) {
    using Kind = Shape::Kind;
    switch (shape.kind) {
      case Kind::flag:
        return {{"type", "boolean"}};
      case Kind::integer:
        return {{"type", "integer"}, {"minimum", shape.min}, {"maximum", shape.max}};
      case Kind::real:
        return {{"type", "number"}};
      case Kind::text:
        return {{"type", "string"}};
      case Kind::list:
        return {{"type", "array"}, {"items", describe(shape.parts[0]())}};
      case Kind::set:
        return {{"type", "array"}, {"items", describe(shape.parts[0]())}, {"uniqueItems", true}};
      case Kind::pair:
        return {{"type", "array"},
                {"prefixItems", {describe(shape.parts[0]()), describe(shape.parts[1]())}},
                {"minItems", 2},
                {"maxItems", 2}};
      case Kind::map:
        return {{"type", "object"}, {"additionalProperties", describe(shape.parts[0]())}};
      case Kind::object:
        break;
    }
    const std::string name = std::string(prefix_) + std::string(shape.name);
    define(name, shape);
    return {{"$ref", "#/$defs/" + name}};
  }

  void define(const std::string& name, const Shape& shape) {
    if (definitions_.contains(name)) return;
    definitions_[name] = Json::object();  // one that holds itself finds it
    const Json defaults = Json::parse(shape.defaults());
    Json properties = Json::object();
    for (std::size_t i = 0; i < shape.fields.size(); ++i) {
      const std::string field(shape.fields[i]);
      Json property = describe(shape.parts[i]());
      property["default"] = defaults.at(field);
      properties[field] = std::move(property);
    }
    definitions_[name] = {{"type", "object"}, {"properties", std::move(properties)}};
  }

  std::string_view prefix_;
  Json topics_ = Json::object(), definitions_ = Json::object();
};

}  // namespace

std::string json_schema(std::span<const TopicGroup> groups) {
  Schema schema;
  for (const auto& group : groups) schema.add(group);
  return schema.text();
}

}  // namespace holon::transport
