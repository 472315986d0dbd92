// resource_rows.hpp - a ResourceStore as rows of a ResourceDatabase, and back. A private header of
// resource_database.cpp; calls throw SQLite::Exception.
//
// Rows are keyed by uniq_id and job, which outlive this process. A vertex's slot gives the order of
// siblings: slots only grow, and parents have lower ones than their children, so rows in the order
// of their slots are a GraphSpec.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store.hpp"

namespace holon::instance {

// A prepared statement; each call runs it for one row.
class RowStatement {
 public:
  RowStatement(SQLite::Database& db, const char* sql) : statement_(db, sql) {}

  template <class... Values>
  void operator()(const Values&... values) {
    statement_.reset();
    statement_.clearBindings();
    int place = 0;
    (bind(++place, values), ...);
    statement_.exec();
  }

 private:
  void bind(int place, std::int64_t value) { statement_.bind(place, value); }
  void bind(int place, std::string_view text) { statement_.bind(place, std::string(text)); }
  template <class T>
  void bind(int place, const std::optional<T>& value) {
    if (value) bind(place, *value);  // else the value stays NULL
  }
  SQLite::Statement statement_;
};

class RowWriter {
 public:
  RowWriter(SQLite::Database& db, const resource::ResourceStore& store)
      : db_(db), store_(store), graph_(store.graph()) {}

  void clear();
  void meta();
  void vertex(resource::VertexId v);
  // Writes edges of other subsystems; removes rows of vertices that are gone.
  void shape();
  void holding(const resource::Holding& holding);
  void drop(JobId job);

 private:
  SQLite::Database& db_;
  const resource::ResourceStore& store_;
  const resource::ResourceGraph& graph_;
  RowStatement vertices_{db_, "INSERT OR REPLACE INTO vertices VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"};
  RowStatement drop_properties_{db_, "DELETE FROM properties WHERE uniq_id=?"};
  RowStatement properties_{db_, "INSERT INTO properties VALUES(?,?,?)"};
  RowStatement paths_{db_, "INSERT OR REPLACE INTO paths VALUES(?,?,?)"};
  RowStatement allocations_{db_, "INSERT INTO allocations VALUES(?,?,?,?,?,?)"};
  RowStatement shares_{db_, "INSERT INTO shares VALUES(?,?,?,?,?)"};
  RowStatement labels_{db_, "INSERT INTO labels VALUES(?,?,?,?)"};
  RowStatement drop_allocation_{db_, "DELETE FROM allocations WHERE job=?"};
  RowStatement drop_shares_{db_, "DELETE FROM shares WHERE job=?"};
  RowStatement drop_labels_{db_, "DELETE FROM labels WHERE job=?"};
};

// Errors of all: invalid_argument with the table and row, for rows that no save has written.
class RowReader {
 public:
  explicit RowReader(const SQLite::Database& db) : db_(db) {}

  Result<resource::StoreOptions> options();
  Result<resource::GraphSpec> graph();  // REQUIRES: after options()
  std::vector<resource::Holding> holdings();

 private:
  std::optional<std::int64_t> whole(const std::string& key);
  Status subsystems();
  Status vertices();
  Result<resource::GraphSpec::Row> vertex(SQLite::Statement& row);
  Status properties();
  Status paths();
  Status edges();
  Result<std::uint32_t> row(const SQLite::Column& uniq_id, const char* table) const;
  Result<std::uint32_t> subsystem(const SQLite::Column& column, const char* table) const;

  const SQLite::Database& db_;
  std::unordered_map<std::string, std::string> meta_;
  std::unordered_map<std::int64_t, std::uint32_t> row_of_;  // by uniq_id
  resource::GraphSpec spec_;
};

}  // namespace holon::instance
