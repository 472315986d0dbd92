// page_files.hpp - the files of the page, which the build puts into the program, compressed.
#pragma once
#include <string>
#include <string_view>

namespace holon::web {

struct PageFile {
  std::string_view name, type;
  std::string_view bytes;  // gzip
  std::string_view hash;   // of the plain ones, as a Content-Security-Policy names it: sha256-...
};

// The script of a page in one file, for which a server has no use.
inline constexpr std::string_view kReportScript = "report.js";

// nullptr: there is no such file. A program that was built without the page has none.
const PageFile* page_file(std::string_view name);

}  // namespace holon::web
