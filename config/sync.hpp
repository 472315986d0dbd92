// sync.hpp - how durable a commit of an instance's journal is (journal.sync).
#pragma once

namespace holon::config {

// The event that a commit of the journal waits for.
enum class Sync {
  normal,  // no fsync per commit: survives any kill, a power cut may lose the last commits (never
           // the consistency)
  full,    // fsync per commit: survives a power cut too, at some milliseconds a turn
};

}  // namespace holon::config
