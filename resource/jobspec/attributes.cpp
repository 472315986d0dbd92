// attributes.cpp - attributes (RFC 14) and constraints (RFC 31).
#include "resource/jobspec/attributes.hpp"

namespace holon::resource::jobspec {
namespace {

// A copy of `document` without its entry `key`.
Document without(const Document& document, std::string_view key) {
  Document rest;
  rest.kind = document.kind;
  for (std::size_t i = 0; i < document.items.size(); ++i) {
    if (document.keys[i] == key) continue;
    rest.keys.push_back(document.keys[i]);
    rest.items.push_back(document.items[i]);
  }
  return rest;
}

void add(Document& map, std::string key, Document value) {
  map.kind = Document::Kind::map;
  map.keys.push_back(std::move(key));
  map.items.push_back(std::move(value));
}

Status take(const DocumentPlace& place, std::string& field) {
  auto text = place.text();
  if (!text) return tl::unexpected(text.error());
  field = std::move(*text);
  return {};
}

Status take_environment(const DocumentPlace& place, Jobspec& into) {
  if (auto ok = place.require_map(); !ok) return ok;
  into.empty_environment = place->items.empty();
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    const std::string& name = place->keys[i];
    const DocumentPlace value = place.at(name, place->items[i]);
    if (value->kind == Document::Kind::null) {
      into.unset_environment.push_back(name);
      continue;
    }
    if (auto ok = take(value, into.environment[name]); !ok) return ok;
  }
  return {};
}

Status take_duration(const DocumentPlace& place, Jobspec& into) {
  const auto seconds = place.real();
  if (!seconds) return tl::unexpected(seconds.error());
  if (*seconds < 0) return place.wrong("a duration must not be negative; 0 means no limit");
  into.duration_seconds = *seconds;
  return {};
}

// Takes the name out of {name: NAME, ...} and returns the rest, to be kept.
Result<Document> take_job(const DocumentPlace& place, Jobspec& into) {
  if (auto ok = place.require_map(); !ok) return tl::unexpected(ok.error());
  if (const auto name = place.find("name"))
    if (auto ok = take(*name, into.name); !ok) return tl::unexpected(ok.error());
  return without(*place, "name");
}

Result<Document> take_system(const DocumentPlace& place, Jobspec& into) {
  Document rest;
  rest.kind = Document::Kind::map;
  if (place->kind == Document::Kind::null) return rest;
  if (auto ok = place.require_map(); !ok) return tl::unexpected(ok.error());
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    const std::string& key = place->keys[i];
    const DocumentPlace value = place.at(key, place->items[i]);
    Status status;
    if (key == "duration") {
      status = take_duration(value, into);
    } else if (key == "queue") {
      status = take(value, into.queue);
    } else if (key == "cwd") {
      status = take(value, into.cwd);
    } else if (key == "environment") {
      status = take_environment(value, into);
    } else if (key == "constraints") {
      auto constraint = parse_constraint(value);
      if (!constraint) return tl::unexpected(constraint.error());
      into.constraints = std::move(*constraint);
    } else if (key == "job") {
      auto others = take_job(value, into);
      if (!others) return tl::unexpected(others.error());
      if (!others->items.empty()) add(rest, key, std::move(*others));
    } else {
      add(rest, key, place->items[i]);
    }
    if (!status) return tl::unexpected(status.error());
  }
  return rest;
}

constexpr std::string_view kPropertyForbids = "!&'\"^`|()";

Status check_property(const DocumentPlace& place, std::string_view name) {
  if (!name.empty() && name.front() == '^') name.remove_prefix(1);
  if (name.empty()) return place.wrong("an empty property");
  if (name.find_first_of(kPropertyForbids) != std::string_view::npos)
    return place.wrong("a property must not contain ! & ' \" ^ ` | ( )");
  return {};
}

Result<Constraint> parse_operands(const DocumentPlace& place, std::string op) {
  Constraint constraint;
  constraint.op = std::move(op);
  const bool logical = constraint.op == "and" || constraint.op == "or" || constraint.op == "not";
  for (std::size_t i = 0; i < place->items.size(); ++i) {
    const DocumentPlace item = place.at(i);
    if (logical) {
      auto operand = parse_constraint(item);
      if (!operand) return tl::unexpected(operand.error());
      constraint.operands.push_back(std::move(*operand));
      continue;
    }
    auto value = item.text();
    if (!value) return tl::unexpected(value.error());
    if (constraint.op == "properties")
      if (auto ok = check_property(item, *value); !ok) return tl::unexpected(ok.error());
    constraint.values.push_back(std::move(*value));
  }
  return constraint;
}

}  // namespace

Status parse_attributes(const DocumentPlace& place, Jobspec& into) {
  if (place->kind == Document::Kind::null) return {};
  if (auto ok = place.require_map(); !ok) return ok;
  if (auto ok = place.only({"user", "system"}); !ok) return ok;
  Document others;
  others.kind = Document::Kind::map;
  if (const auto system = place.find("system")) {
    auto rest = take_system(*system, into);
    if (!rest) return tl::unexpected(rest.error());
    if (!rest->items.empty()) add(others, "system", std::move(*rest));
  }
  if (const auto user = place.find("user"))
    if ((*user)->kind != Document::Kind::null) add(others, "user", **user);
  if (!others.items.empty()) into.other_attributes = to_json(others);
  return {};
}

Result<Constraint> parse_constraint(const DocumentPlace& place) {
  if (auto ok = place.require_map(); !ok) return tl::unexpected(ok.error());
  if (auto ok = place.only({"properties", "hostlist", "ranks", "and", "or", "not"}); !ok)
    return tl::unexpected(ok.error());
  if (place->items.empty()) return Constraint{};
  if (place->items.size() > 1)
    return place.wrong("one operator a constraint; join several with \"and\"");
  const std::string& op = place->keys.front();
  const DocumentPlace operands = place.at(op, place->items.front());
  if (auto ok = operands.require_list(); !ok) return tl::unexpected(ok.error());
  return parse_operands(operands, op);
}

}  // namespace holon::resource::jobspec
