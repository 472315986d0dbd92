// rows.hpp - jobs as pieces of rows over time: a row is a node, a job, an instance or a user, its
// lanes are cores. Pure: the same jobs give the same pieces.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "web/model.hpp"

namespace holon::web {

enum class RowsBy : std::uint8_t { nodes, jobs, instances, users };
enum class ColourBy : std::uint8_t { result, user, queue, wait, size };
enum class Kind : std::uint8_t { ran, planned, reserved, waited, advance, given };

struct Row {
  std::string name;
  std::int32_t lanes = 1;
};
// What a piece is about: a job, or an advance reservation (a path of "").
struct Subject {
  std::string path, label;
};
// Some lanes of a row for a time. `end` may be kTimeMax: until the instance ends.
// `given`: cores that a child instance has, its own and others; its jobs lie within.
struct Piece {
  Time begin = 0, end = 0;
  std::int32_t row = 0, lane = 0, lanes = 1;
  Kind kind = Kind::ran;
  std::uint8_t colour = 0;    // of Layout::colours
  std::uint32_t subject = 0;  // of Layout::subjects
};
struct Layout {
  std::vector<Row> rows;
  std::vector<Piece> pieces;
  std::vector<Subject> subjects;
  std::vector<std::string> colours;  // what they mean; a later one is worse
};

struct LayoutInput {
  std::vector<const msg::JobRecord*> jobs;
  std::vector<const msg::Span*> plan;  // reservations are taken from it
  std::vector<Host> hosts;             // rows of nodes: these, and those that jobs name
  RowsBy rows = RowsBy::nodes;
  ColourBy colour = ColourBy::result;
  Time now = 0;
  // Jobs that hold for a child instance what it did not begin with: their paths, and its.
  std::map<std::string, std::string> grants = {};
};

// O(jobs x (log jobs + lanes of a row)). Two pieces of one lane do not overlap unless the row has
// less cores than its jobs hold.
Layout lay_out(const LayoutInput& input);

}  // namespace holon::web
