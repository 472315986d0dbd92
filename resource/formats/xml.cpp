#include "resource/formats/xml.hpp"

namespace holon::resource {

bool xml_nested_too_deep(std::string_view xml) {
  int depth = 0;
  bool tag = false, opening = false;
  char quote = '\0';
  for (std::size_t i = 0; i < xml.size(); ++i) {
    const char c = xml[i];
    const char next = i + 1 < xml.size() ? xml[i + 1] : '\0';
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (!tag && c == '<') {
      if (xml.substr(i, 4) == "<!--") {
        i = xml.find("-->", i + 4);
        if (i == xml.npos) return false;
        continue;
      }
      tag = true;
      opening = next != '/' && next != '!' && next != '?';
      if (opening && ++depth > kMaxXmlDepth) return true;
      if (next == '/') --depth;
    } else if (tag && (c == '"' || c == '\'')) {
      quote = c;
    } else if (tag && c == '>') {
      if (opening && xml[i - 1] == '/') --depth;
      tag = false;
    }
  }
  return false;
}

}  // namespace holon::resource
