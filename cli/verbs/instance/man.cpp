// holon man DIR: the man pages, from the same text as --help. The build calls it; see
// cmake/Man.cmake.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/parser/help.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

constexpr std::string_view kTitle = ".TH ";

Status write_page(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return fail(Errc::system, "cannot be written", file.string());
  return {};
}

// The pages of the verb: one, or for a table of verbs one of each.
std::vector<std::string> pages_of(const Verb& verb) {
  std::ostringstream text;
  Io io{text, text};
  Invocation call{io, {}, "", true};
  verb.run(call);
  std::vector<std::string> pages;
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kTitle)) pages.emplace_back();
    if (!pages.empty()) pages.back() += line + "\n";
  }
  return pages;
}

// The file of a page: ".TH holon\-job\-info 1 ..." is kept in holon-job-info.1.
std::string file_of(const std::string& page) {
  std::string name = page.substr(kTitle.size(), page.find(' ', kTitle.size()) - kTitle.size());
  std::erase(name, '\\');
  return name + ".1";
}

Status write_pages(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Errc::system, error.message(), folder.string());
  if (auto status = write_page(folder / "holon.1", render_overview_man(verbs())); !status)
    return status;
  for (const auto& verb : verbs()) {
    if (verb.group == Group::hidden) continue;
    for (const auto& page : pages_of(verb))
      if (auto status = write_page(folder / file_of(page), page); !status) return status;
  }
  return {};
}

bool is_verb(const std::string& word) {
  return std::any_of(verbs().begin(), verbs().end(),
                     [&](const Verb& verb) { return verb.name == word; });
}

}  // namespace

int verb_man(Invocation& call) {
  std::string folder;
  Parser parser("man", "write the man pages");
  parser.required("DIR", folder, "where to; it is made if it is not there");
  parser.example("holon man build/man", "then: man build/man/holon.1");
  if (const auto code = parser.parse(call)) return *code;
  if (is_verb(folder))
    return report(
        call, "man",
        {Errc::invalid_argument,
         fmt::format("a verb; `holon {} --help` tells about it, and ./{} would be a folder", folder,
                     folder),
         "DIR"});
  if (const auto status = write_pages(folder); !status) return report(call, "man", status.error());
  return kOk;
}

}  // namespace holon::cli
