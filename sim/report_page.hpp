// report_page.hpp - the fixed parts of the report: table head, style, the script that draws, and
// the library it draws with. Private to sim/.
#pragma once
#include <string>

namespace holon::sim {

extern const std::string kReportTableHead;
extern const std::string kReportTableEnd;

// The files of page/, which the build makes texts of (sim/CMakeLists.txt).
extern const char* const kReportStyle;
extern const char* const kReportScript;
extern const char* const kPlotStyle;
extern const char* const kPlotScript;
extern const char* const kPlotLicence;

}  // namespace holon::sim
