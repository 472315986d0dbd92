// screen.hpp - `holon top` as lines of text: an instance of the page's model (web/model.hpp), its
// children, queues, running and waiting jobs, and what is planned. Pure: the same model, view and
// time give the same lines.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/io.hpp"
#include "web/model.hpp"

namespace holon::cli {

struct TopView {
  std::string at = "/";    // the instance that is shown
  std::size_t chosen = 0;  // of its children, counted as top_children() has them
  int width = 80, height = 24;
  bool unicode = false;   // may it use characters beyond ASCII?
  bool connected = true;  // else what is shown is what was
  Time now = 0;           // ms since the epoch
};

struct TopLine {
  std::string text;  // no wider than the view
  Colour colour = Colour::plain;
  bool chosen = false;
};

// Has the instance told of itself and of its resources, so that its screen is whole?
bool is_told(const web::Model& model, const std::string& at);

// The paths of the child instances that are there, in their order.
std::vector<std::string> top_children(const web::Model& model, const std::string& at);
// Exactly `height` lines, the last one with the keys. O(jobs of the instance).
std::vector<TopLine> top_screen(const web::Model& model, const TopView& view);
// The same as text, without the keys and without empty lines at the end. Errors: timed_out (the
// instance has told nothing of itself).
Result<std::string> top_once(const web::Model& model, const TopView& view);

// The shares of the cores that are taken, 0 to 1, in `parts` equal parts of the time from `now` to
// `until`: by running jobs until their limits, by reservations, by advance reservations.
std::vector<double> planned_shares(const web::InstanceView& at, Time now, Time until,
                                   std::size_t parts);

}  // namespace holon::cli
