// report_page.hpp - the fixed parts of the report: style, table head, and the script that draws.
// Private to sim/.
#pragma once
#include <string>

namespace holon::sim {

extern const std::string kReportHead;
extern const std::string kReportTableHead;
extern const std::string kReportTableEnd;
extern const std::string kReportScript;

}  // namespace holon::sim
