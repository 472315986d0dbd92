// constraint_text.cpp - constraints as a person would type them (--requires).
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

constexpr std::size_t kLongest = 200;  // bytes; the rest is dots

std::string listed(const std::vector<std::string>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

bool is_joined(const Constraint& constraint) {
  return (constraint.op == "and" || constraint.op == "or") && constraint.operands.size() > 1;
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
    text += is_joined(operand) ? "(" + part + ")" : part;
  }
  if (!negates) return text;
  return constraint.operands.size() > 1 ? "not (" + text + ")" : "not " + text;
}

}  // namespace

std::string constraint_text(const Constraint& constraint) {
  std::string text = words(constraint);
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace holon::resource
