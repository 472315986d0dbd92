// graph_document.hpp - a file of tasks as one JSON value, whether it was written as JSON or as
// TOML, and where in the file each key stands. Private to this folder.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

class GraphDocument {
 public:
  // Reads JSON if `file` ends in ".json" or the text begins with a brace, else TOML. Errors:
  // invalid_argument, with the line of the fault.
  static Result<GraphDocument> parse(const std::string& text, const std::string& file);
  GraphDocument(GraphDocument&&) noexcept;
  ~GraphDocument();

  const nlohmann::ordered_json& root() const { return root_; }
  const std::string& file() const { return file_; }

  // The place of {"task", "3", "time"}: "campaign.toml:12", or "campaign.json/task/3/time". If the
  // way leads nowhere, the place up to which it leads.
  std::string place(const std::vector<std::string>& way) const;
  bool has(const std::vector<std::string>& way) const;

 private:
  struct Lines;  // of TOML; JSON has none
  GraphDocument(nlohmann::ordered_json root, std::string file, std::unique_ptr<Lines> lines);

  nlohmann::ordered_json root_;
  std::string file_;
  std::unique_ptr<Lines> lines_;
};

}  // namespace holon::cli
