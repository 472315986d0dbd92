// What the JSON schema says of a message is what its codec takes and writes: for messages made at
// random of each kind, and for those with one field spoiled.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "launch/topics.hpp"
#include "msg/topics.hpp"

namespace holon::msg {
namespace {

using Json = nlohmann::ordered_json;
using transport::Shape;

std::vector<transport::TopicGroup> all_topics() {
  return {topics(), launch::topics()};
}

// The part of draft 2020-12 that the schema uses; whatever else it has is a failure.
class Validator {
 public:
  Validator() {
    const auto groups = all_topics();
    schema_ = Json::parse(transport::json_schema(groups));
  }
  const Json& schema() const { return schema_; }

  bool takes(const Json& value, const Json& by) const {
    for (const auto& [word, said] : by.items())
      if (!holds(value, by, word, said)) return false;
    return true;
  }
  bool takes(const Json& value, const std::string& name) const {
    return takes(value, schema_["$defs"].at(name));
  }

 private:
  bool holds(const Json& value, const Json& by, const std::string& word, const Json& said) const {
    if (word == "$ref") return takes(value, said.get<std::string>().substr(8));
    if (word == "type") return is(value, said);
    if (word == "minimum") return value.is_number_unsigned() || value >= said;
    // The library compares a signed number with an unsigned one as if both were signed.
    if (word == "maximum")
      return (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) ||
             value.get<std::uint64_t>() <= said.get<std::uint64_t>();
    if (word == "minItems") return value.size() >= said;
    if (word == "maxItems") return value.size() <= said;
    if (word == "uniqueItems")
      return std::set<Json>(value.begin(), value.end()).size() == value.size();
    if (word == "items" || word == "additionalProperties") {
      for (const auto& element : value)
        if (!takes(element, said)) return false;
      return true;
    }
    if (word == "prefixItems") {
      for (std::size_t i = 0; i < said.size(); ++i)
        if (!takes(value.at(i), said[i])) return false;
      return true;
    }
    if (word == "properties") {
      for (const auto& [name, property] : said.items())
        if (value.contains(name) && !takes(value[name], property)) return false;
      return true;
    }
    EXPECT_EQ(word, "default") << by;
    return true;
  }

  static bool is(const Json& value, const Json& type) {
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "array") return value.is_array();
    return type == "object" && value.is_object();
  }

  Json schema_;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }

  Json make(const Shape& shape, int depth = 0) {
    using Kind = Shape::Kind;
    switch (shape.kind) {
      case Kind::flag:
        return below(2) == 1;
      case Kind::integer:
        return integer(shape);
      case Kind::real:
        return static_cast<double>(below(1000)) / 8;
      case Kind::text:
        return std::string(below(4), static_cast<char>('a' + below(26)));
      case Kind::pair:
        return Json::array({make(shape.parts[0](), depth), make(shape.parts[1](), depth)});
      case Kind::list:
      case Kind::set:
        return elements(shape, depth);
      case Kind::map: {
        Json map = Json::object();
        for (const char* key : {"core", "gpu"})
          if (below(2) == 1) map[key] = make(shape.parts[0](), depth);
        return map;
      }
      case Kind::object:
        break;
    }
    Json object = Json::object();
    for (std::size_t i = 0; i < shape.fields.size(); ++i)
      object[std::string(shape.fields[i])] = make(shape.parts[i](), depth + 1);
    return object;
  }

 private:
  Json integer(const Shape& shape) {
    switch (below(4)) {
      case 0:
        return shape.min;
      case 1:
        return shape.max;
      case 2:
        return shape.min < 0 ? Json(-static_cast<std::int64_t>(below(100)) - 1) : Json(1U);
      default:
        return std::uint64_t{below(100)};
    }
  }

  Json elements(const Shape& shape, int depth) {
    std::set<Json> some;
    const std::size_t n = depth > 3 ? 0 : below(3);
    for (std::size_t i = 0; i < n; ++i) some.insert(make(shape.parts[0](), depth));
    return Json(std::vector<Json>(some.begin(), some.end()));
  }

  std::mt19937 random_;
};

template <class Check>
void for_each_message(const Check& check) {
  for (const auto& group : all_topics())
    for (const auto& topic : group.topics)
      for (const auto shape_of : {topic.request, topic.answer}) {
        const Shape shape = shape_of();
        check(std::string(group.prefix) + std::string(shape.name), shape);
      }
}

TEST(Schema, TakesEveryMessageThatTheCodecWrites) {
  const Validator validator;
  Maker maker(1);
  for_each_message([&](const std::string& name, const Shape& shape) {
    for (int i = 0; i < 50; ++i) {
      const Json message = maker.make(shape);
      const auto again = shape.reread(message.dump());
      ASSERT_TRUE(again) << name << ": " << to_string(again.error()) << message;
      EXPECT_EQ(*again, message.dump()) << name;
      EXPECT_TRUE(validator.takes(message, name)) << name << ": " << message;
    }
  });
}

TEST(Schema, RefusesWhatTheCodecRefuses) {
  const Validator validator;
  Maker maker(2);
  int refused = 0;
  for_each_message([&](const std::string& name, const Shape& shape) {
    for (std::size_t field = 0; field < shape.fields.size(); ++field)
      for (const Json& other : {Json("text"), Json(-1), Json(UINT64_MAX), Json(0.5), Json(true),
                                Json(nullptr), Json::array({1}), Json{{"a", "b"}}}) {
        Json message = maker.make(shape);
        message[std::string(shape.fields[field])] = other;
        const bool good = shape.reread(message.dump()).has_value();
        EXPECT_EQ(validator.takes(message, name), good)
            << name << "." << shape.fields[field] << ": " << other;
        refused += !good;
      }
  });
  EXPECT_GT(refused, 500);
}

TEST(Schema, DefinesEachNameOnce) {
  std::map<std::string, std::vector<std::string_view>> fields;
  for_each_message([&](const std::string& name, const Shape& shape) {
    const std::vector<std::string_view> own(shape.fields.begin(), shape.fields.end());
    const auto known = fields.try_emplace(name, own).first;
    EXPECT_EQ(known->second, own) << name << " is the name of two structs";
  });
  const Validator validator;
  EXPECT_EQ(validator.schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_GE(validator.schema()["$defs"].size(), fields.size());
}

}  // namespace
}  // namespace holon::msg
