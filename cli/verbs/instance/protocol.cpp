// holon protocol: what can be asked of an instance, for programs.
#include <array>
#include <ostream>

#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"
#include "launch/topics.hpp"
#include "msg/topics.hpp"

namespace holon::cli {
namespace {

Table table_of_topics(std::span<const transport::TopicGroup> groups) {
  Table table({{"TOPIC"}, {"REQUEST"}, {"ANSWER"}});
  for (const auto& group : groups) {
    const auto name = [&group](transport::ShapeOf shape) {
      return std::string(group.prefix) + std::string(shape().name);
    };
    for (const auto& topic : group.topics)
      table.add({{std::string(topic.name)},
                 {name(topic.request)},
                 {(topic.is_stream ? "stream of " : "") + name(topic.answer)}});
  }
  return table;
}

}  // namespace

int verb_protocol(Invocation& call) {
  bool schema = false;
  Parser parser("protocol", "what can be asked of an instance, for programs");
  parser.flag("--json-schema", schema, "the JSON schema of all messages instead of their names")
      .note(
          "Requests and answers by their topics. A message travels as a msgpack map; the same "
          "fields make its JSON, which --json prints. The schema (draft 2020-12) has a definition "
          "for each message, and says in x-topics which of them belong together.")
      .example("holon protocol", "the topics")
      .example("holon protocol --json-schema > holon.schema.json",
               "for validators, and generators of code");
  if (const auto code = parser.parse(call)) return *code;
  const std::array groups = {msg::topics(), launch::topics()};
  if (schema)
    call.io.out << transport::json_schema(groups);
  else
    call.io.out << table_of_topics(groups).render(call.io);
  return kOk;
}

}  // namespace holon::cli
