// fields.hpp - what a job has under the names that squeue and sacct have for it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "msg/instance.hpp"

namespace holon::cli::slurm {

// The QOS of a job that names none.
inline constexpr const char* kUsualQos = "normal";

// A row of a listing.
struct View {
  const msg::JobRecord& job;
  Time now = 0;  // ms since the epoch
  // Of an array's tasks that wait and are one row: their indices, "3-9".
  std::string waiting = {};
  std::string step = {};       // sacct: "batch", for the row of the script alone
  bool is_accounting = false;  // in sacct's words: "Unknown", "00:01:00"
};

struct Field {
  std::string_view accounting;  // sacct's name; "": it has none
  char letter = 0;              // of squeue -o; 0: it has none
  std::string_view name = {};   // of squeue -O
  std::string_view title = {};  // squeue's
  std::string (*text)(const View& view) = nullptr;
};

// nullptr: there is no such field. Names in any case.
const Field* field_of_sacct(std::string_view name);
const Field* field_of_squeue(std::string_view name);
const Field* field_of_letter(char letter);
// The names of all that sacct has, in the order of sacct --helpformat.
std::string names_of_sacct();

// "cpu=4,node=1,gres/gpu=2"
std::string tres_of(const msg::JobRecord& job);

}  // namespace holon::cli::slurm
