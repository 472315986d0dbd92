// constraint_text.cpp - which nodes a constraint allows, in the words of --requires.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "base/text/utf8.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

constexpr std::string_view kNot = "not ";
constexpr std::size_t kLongest = 200;  // bytes; the rest is dots

std::string listed(const std::vector<std::string>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

bool is_joined(const Constraint& constraint) {
  return (constraint.op == "and" || constraint.op == "or") && constraint.operands.size() > 1;
}

std::string bracketed(const std::string& text, bool is_needed) {
  return is_needed ? "(" + text + ")" : text;
}

std::string words(const Constraint& constraint) {
  if (constraint.op == "properties") return listed(constraint.values);
  if (constraint.op == "hostlist") return "host:" + listed(constraint.values);
  if (constraint.op == "ranks") return "rank:" + listed(constraint.values);
  const bool negates = constraint.op == "not";
  std::string text;
  for (const Constraint& operand : constraint.operands) {
    if (text.size() > kLongest) break;
    const std::string part = words(operand);
    if (!text.empty()) text += negates ? " and " : " " + constraint.op + " ";
    text += bracketed(part, is_joined(operand));
  }
  if (!negates) return text;
  return std::string(kNot) + bracketed(text, constraint.operands.size() > 1);
}

std::string cut_short(std::string text) {
  if (text.size() <= kLongest) return text;
  return std::string(cut_within(text, kLongest)) + "...";
}

}  // namespace

std::string constraint_text(const Constraint& constraint) {
  if (constraint.op.empty()) return {};
  const bool is_and = constraint.op == "and";
  const std::vector<Constraint> alone = {constraint};
  std::string with;
  std::vector<std::string> parts;
  for (const Constraint& part : is_and ? constraint.operands : alone) {
    const std::string text = words(part);
    const bool negates = part.op == "not";
    if (negates) parts.push_back("without " + text.substr(kNot.size()));
    if (!negates)
      with += (with.empty() ? "with " : " and ") + bracketed(text, is_and && is_joined(part));
  }
  if (!with.empty()) parts.insert(parts.begin(), with);
  return cut_short(fmt::format("{}", fmt::join(parts, ", ")));
}

}  // namespace holon::resource
