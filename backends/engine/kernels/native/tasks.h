// Attention cut into pieces: a few adjacent rows of one sequence, one KV head, and where rows are few, one chunk.
#pragma once
#include <algorithm>
#include <vector>

#include "abi.h"
#include "attention.h"

struct Task {
  int first, rows;       // of the list of attending rows
  const int32_t* table;  // the sequence's blocks
  int last;              // position of the last row
  size_t parts;          // where the task's first part lies
  int chunks() const { return last / attention::CHUNK + 1; }
};

// The attending rows of a layer: indices into the step's rows, and the tasks that cover them.
struct Attending {
  std::vector<int32_t> rows;
  std::vector<Task> tasks;
  std::vector<std::pair<int, int>> chunks;  // (task, chunk): the pieces when each chunk is one
  size_t parts = 0;                         // query vectors times chunks, per KV head

  // `together`: rows per task at most; `queries`: query heads per row and KV head.
  void plan(const Rows& step, int together, int queries) {
    tasks.clear(), chunks.clear(), parts = 0;
    for (int i = 0, n; i < static_cast<int>(rows.size()); i += n) {
      n = 1;
      while (n < together && follows(step, i + n)) n++;
      const int32_t* table = step.tables + static_cast<int64_t>(step.sequence[rows[i]]) * step.width;
      tasks.push_back({i, n, table, step.positions[rows[i + n - 1]], parts});
      for (int c = 0; c < tasks.back().chunks(); c++) chunks.emplace_back(static_cast<int>(tasks.size()) - 1, c);
      parts += static_cast<size_t>(n) * queries * tasks.back().chunks();
    }
  }

 private:
  bool follows(const Rows& step, int i) const {
    if (i >= static_cast<int>(rows.size())) return false;
    const int row = rows[i], before = rows[i - 1];
    return step.sequence[row] == step.sequence[before] && step.positions[row] == step.positions[before] + 1;
  }
};
