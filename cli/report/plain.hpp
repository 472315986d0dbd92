// plain.hpp - what a report page says to whoever reads it without its scripts: a browser in a
// terminal, a program, a reader in ten years.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/study.hpp"

namespace holon::cli {

// With what HTML would take for markup written out.
std::string escaped_html(const std::string& text);

// A line of the table of figures.
std::string plain_row(const sim::PolicyRun& run);

// The title, what to take from the page, the facts and the figures, as a <noscript> element.
// `rows`: of plain_row().
std::string plain_report(const std::string& title, const std::string& verdict,
                         const std::vector<std::pair<std::string, std::string>>& facts,
                         const std::string& rows);

}  // namespace holon::cli
