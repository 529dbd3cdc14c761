// What a run knows so far: its nodes as the store holds them, and as proposers see them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/verdict.h"
#include "propose/proposer.h"
#include "store/store.h"

namespace cutegen {

class History {
 public:
  static Result<History> load(const Store& store);

  int size() const { return static_cast<int>(nodes_.size()); }
  int finished() const { return static_cast<int>(attempts_.size()); }
  // The node in flight when the run stopped; only the newest can be.
  std::optional<int> unfinished() const;
  const Candidate& candidate(int id) const { return candidates_.at(static_cast<size_t>(id)); }
  const StoredNode& node(int id) const { return nodes_.at(static_cast<size_t>(id)); }
  const std::vector<Attempt>& attempts() const { return attempts_; }

  void add(StoredNode node, Candidate candidate);
  // `verdict` as the store will give it back.
  void finish(int id, Json verdict, const NodeNotes& notes);

  // The earliest finished node with this source, or with this PTX.
  std::optional<int> same_source(const std::string& candidate_hash) const { return find(by_source_, candidate_hash); }
  std::optional<int> same_ptx(const std::string& ptx_hash) const { return find(by_ptx_, ptx_hash); }
  // Verified nodes, the fastest first, of equals the earlier first, untimed ones last. Duplicates are left to their originals.
  std::vector<int> ranking() const;
  std::optional<int> best() const;
  // Why there is no verified node: the sentence of the node that came furthest.
  std::string why_none() const;

 private:
  static std::optional<int> find(const std::map<std::string, int>& index, const std::string& key);

  std::vector<StoredNode> nodes_;
  std::vector<Candidate> candidates_;
  std::vector<Attempt> attempts_;  // of finished nodes
  std::map<std::string, int> by_source_, by_ptx_;
};

// A node's row for a proposal, and back.
StoredNode stored_node(int id, const Proposal& proposal, std::string source_object);
Result<Candidate> stored_candidate(const StoredNode& node, const Store& store);

}  // namespace cutegen
