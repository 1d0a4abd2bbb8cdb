// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines are aligned without their numbers, then compared with them.
#include "tools/tlc/TextDiff.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <optional>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr size_t contextLines = 3;

using Symbols = ArrayRef<unsigned>;

class Aligner {
public:
  void align(Symbols a, Symbols b, size_t offsetA, size_t offsetB) {
    while (!a.empty() && !b.empty() && a.front() == b.front()) {
      pairs.emplace_back(offsetA++, offsetB++);
      a = a.drop_front(), b = b.drop_front();
    }
    size_t tail = 0;
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
      a = a.drop_back(), b = b.drop_back();
      ++tail;
    }
    if (!a.empty() && !b.empty()) {
      // Neither begins nor ends with a match, so both parts are smaller.
      const auto [x, y] = middle(a, b);
      align(a.take_front(x), b.take_front(y), offsetA, offsetB);
      align(a.drop_front(x), b.drop_front(y), offsetA + x, offsetB + y);
    }
    for (size_t i = 0; i < tail; ++i)
      pairs.emplace_back(offsetA + a.size() + i, offsetB + b.size() + i);
  }

  std::vector<std::pair<size_t, size_t>> pairs;

private:
  /// A point of a shortest path from (0, 0) to the ends, other than these: where the search from the front
  /// meets the one from the back.
  static std::pair<size_t, size_t> middle(Symbols a, Symbols b) {
    const auto n = int64_t(a.size()), m = int64_t(b.size()), delta = n - m;
    const int64_t most = (n + m + 1) / 2, origin = most + 1;
    // The furthest x on diagonal x - y = k, or -1.
    std::vector<int64_t> front(size_t(2 * origin + 1), -1), back = front;
    front[size_t(origin + 1)] = back[size_t(origin + 1)] = 0;
    const auto advance = [&](std::vector<int64_t> &furthest, int64_t k, int64_t d, auto equal) {
      const int64_t below = furthest[size_t(origin + k - 1)], above = furthest[size_t(origin + k + 1)];
      int64_t x = k == -d || (k != d && below < above) ? above : below + 1;
      while (x < n && x - k < m && equal(x, x - k))
        ++x;
      return furthest[size_t(origin + k)] = x;
    };
    for (int64_t d = 0; d <= most; ++d) {
      for (int64_t k = -d; k <= d; k += 2) {
        const int64_t x =
            advance(front, k, d, [&](int64_t i, int64_t j) { return a[size_t(i)] == b[size_t(j)]; });
        const int64_t other = delta - k;
        if (delta % 2 != 0 && std::abs(other) < d && x <= n && x - k <= m &&
            x + back[size_t(origin + other)] >= n)
          return {size_t(x), size_t(x - k)};
      }
      for (int64_t k = -d; k <= d; k += 2) {
        const int64_t x = advance(
            back, k, d, [&](int64_t i, int64_t j) { return a[size_t(n - 1 - i)] == b[size_t(m - 1 - j)]; });
        const int64_t other = delta - k;
        if (delta % 2 == 0 && std::abs(other) <= d && x <= n && x - k <= m &&
            x + front[size_t(origin + other)] >= n)
          return {size_t(n - x), size_t(m - (x - k))};
      }
    }
    return {a.size(), 0}; // never: at `most` steps the searches have met
  }
};

/// A number or name of a value (%12, %arg3) or of an alias (#layout1) in a line.
struct Name {
  StringRef text;
  bool isDefined = false;
};

bool isNamePart(char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-'; }

/// The names of a line in order, and the line without their numbers.
std::vector<Name> splitNames(StringRef line, std::string &key) {
  std::vector<Name> names;
  const size_t equals = line.find(" = ");
  const StringRef whole = line;
  bool inText = false;
  while (!line.empty()) {
    const char c = line.front();
    inText ^= c == '"';
    if (inText || (c != '%' && c != '#')) {
      key += c;
      line = line.drop_front();
      continue;
    }
    StringRef name = line.take_front(1 + line.drop_front().take_while(isNamePart).size());
    // %12:3 are three results of one operation, "->" is no part of a name.
    while (name.ends_with("-") || name.ends_with("."))
      name = name.drop_back();
    const size_t at = size_t(line.data() - whole.data());
    line = line.drop_front(name.size());
    if (c == '#' && name.contains('.')) { // an attribute of a dialect
      key += name;
      continue;
    }
    // Before the equals sign of a statement, and arguments of blocks: "%arg3 = ", "%arg3: ".
    names.push_back(
        {name, line.starts_with(" = ") || line.starts_with(": ") ||
                   (equals != StringRef::npos && at < equals && !whole.take_front(equals).contains('('))});
    key += c == '%' ? "%" : name.rtrim("0123456789");
  }
  return names;
}

struct Line {
  StringRef text;
  std::vector<Name> names;
  unsigned key = 0;
};

std::vector<Line> readLines(StringRef text, StringMap<unsigned> &keys) {
  std::vector<Line> lines;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    std::string key;
    std::vector<Name> names = splitNames(line, key);
    lines.push_back({line, std::move(names), keys.try_emplace(key, unsigned(keys.size())).first->second});
    text = rest;
  }
  return lines;
}

/// Which names of the text before are which of the text after.
class Renaming {
public:
  /// Whether the lines, equal without numbers, mean the same; learns what they define.
  bool matches(const Line &before, const Line &after) {
    bool same = before.names.size() == after.names.size();
    for (size_t i = 0; same && i < before.names.size(); ++i)
      if (!before.names[i].isDefined)
        same = meet(before.names[i].text, after.names[i].text);
    if (!same)
      return false;
    for (size_t i = 0; i < before.names.size(); ++i)
      if (before.names[i].isDefined)
        define(before.names[i].text, after.names[i].text);
    return true;
  }

private:
  bool meet(StringRef before, StringRef after) {
    auto known = forth.find(before);
    if (known != forth.end())
      return known->second == after;
    if (back.contains(after))
      return false;
    define(before, after);
    return true;
  }
  void define(StringRef before, StringRef after) {
    if (auto old = forth.find(before); old != forth.end())
      back.erase(old->second);
    if (auto old = back.find(after); old != back.end())
      forth.erase(old->second);
    forth[before] = after.str();
    back[after] = before.str();
  }
  StringMap<std::string> forth, back;
};

/// Cuts what is between changes, but for a few lines.
void addHunks(ModuleDiff &diff, ArrayRef<DiffLine> lines) {
  const auto changed = [&](size_t i) { return lines[i].kind != DiffLine::Kind::context; };
  size_t before = 1, after = 1;
  for (size_t i = 0; i < lines.size();) {
    size_t first = i;
    while (first < lines.size() && !changed(first))
      ++first;
    if (first == lines.size())
      return;
    const size_t begin = first - std::min(first - i, contextLines);
    before += begin - i, after += begin - i;
    size_t end = first;
    for (size_t same = 0; end < lines.size() && same <= 2 * contextLines; ++end)
      same = changed(end) ? 0 : same + 1;
    size_t trailing = 0;
    while (!changed(end - 1 - trailing))
      ++trailing;
    end -= trailing - std::min(trailing, contextLines);
    DiffHunk hunk{before, 0, after, 0, {lines.begin() + long(begin), lines.begin() + long(end)}};
    for (const DiffLine &line : hunk.lines) {
      hunk.numBefore += line.kind != DiffLine::Kind::added;
      hunk.numAfter += line.kind != DiffLine::Kind::removed;
    }
    before += hunk.numBefore, after += hunk.numAfter;
    diff.hunks.push_back(std::move(hunk));
    i = end;
  }
}

} // namespace

std::vector<std::pair<size_t, size_t>> driver::longestCommon(Symbols before, Symbols after) {
  Aligner aligner;
  aligner.align(before, after, 0, 0);
  return std::move(aligner.pairs);
}

ModuleDiff driver::diffModules(StringRef before, StringRef after) {
  StringMap<unsigned> keys;
  const std::vector<Line> a = readLines(before, keys), b = readLines(after, keys);
  const auto symbols = [](const std::vector<Line> &lines) {
    std::vector<unsigned> result;
    for (const Line &line : lines)
      result.push_back(line.key);
    return result;
  };
  const std::vector<unsigned> keysA = symbols(a), keysB = symbols(b);
  std::vector<std::pair<size_t, size_t>> pairs = longestCommon(keysA, keysB);
  pairs.emplace_back(a.size(), b.size());

  ModuleDiff diff;
  std::vector<DiffLine> lines, added; // what was added follows what was removed there
  const auto flush = [&] {
    lines.insert(lines.end(), added.begin(), added.end());
    added.clear();
  };
  Renaming renaming;
  size_t nextA = 0, nextB = 0;
  for (auto [atA, atB] : pairs) {
    const bool isPair = atA < a.size();
    const bool same = isPair && renaming.matches(a[atA], b[atB]);
    const size_t endA = atA + (isPair && !same), endB = atB + (isPair && !same);
    for (; nextA < endA; ++nextA, ++diff.removed)
      lines.push_back({DiffLine::Kind::removed, a[nextA].text});
    for (; nextB < endB; ++nextB, ++diff.added)
      added.push_back({DiffLine::Kind::added, b[nextB].text});
    if (same) {
      flush();
      lines.push_back({DiffLine::Kind::context, b[atB].text});
      ++nextA, ++nextB;
    }
  }
  flush();
  addHunks(diff, lines);
  return diff;
}
