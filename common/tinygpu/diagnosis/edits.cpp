#include "common/tinygpu/diagnosis/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <tuple>

#include "common/tinygpu/diagnosis/render.h"

namespace tinygpu::diagnosis {
namespace {

using Put = Edit::Put;

/// Which of a diagnosis's places: the first, or the one beside it, which is the earlier one of two that meet.
enum class Place : uint8_t { first, other };

/// A line for a code, if the other place's instruction begins so.
struct Remedy {
  std::string_view code;
  Put put;
  Place place;
  std::string_view ptx;
  std::string_view other = {};  // the beginning of the other place's instruction; empty: any
};

constexpr std::string_view kMeetInCluster = "barrier.cluster.arrive; barrier.cluster.wait;";
constexpr std::string_view kProductsOver = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

// Of a code the first that fits, and those of the same code that follow it at another place.
constexpr Remedy kRemedies[] = {
    {"async-not-complete", Put::before, Place::first, "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.global"},
    {"async-not-complete", Put::before, Place::first, "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.tensor.store"},
    {"async-not-complete", Put::before, Place::first, "cp.async.wait_all;", "cp.async.ca"},
    {"async-not-complete", Put::before, Place::first, "cp.async.wait_all;", "cp.async.cg"},
    {"async-not-complete", Put::before, Place::first, kProductsOver, "wgmma"},
    {"cluster-double-arrive", Put::before, Place::first, "barrier.cluster.wait;"},
    {"cluster-wait-without-arrive", Put::before, Place::first, "barrier.cluster.arrive;"},
    {"cta-pair-exited", Put::before_return, Place::first, kMeetInCluster},
    {"data-race", Put::before, Place::first, "bar.sync 0;"},
    {"dealloc-before-peer", Put::before, Place::first, kMeetInCluster},
    {"exit-with-remote-access", Put::before_return, Place::first, kMeetInCluster},
    {"lane-order-missing", Put::before, Place::first, "bar.warp.sync 0xffffffff;"},
    {"mbarrier-init-not-published", Put::behind, Place::other, "fence.mbarrier_init.release.cluster;"},
    {"proxy-fence-missing", Put::behind, Place::other, "fence.proxy.async;"},
    {"tmem-fence-missing", Put::behind, Place::other, "tcgen05.fence::before_thread_sync;"},
    {"tmem-fence-missing", Put::before, Place::first, "tcgen05.fence::after_thread_sync;"},
    {"tmem-load-not-waited", Put::behind, Place::other, "tcgen05.wait::ld.sync.aligned;", "tcgen05.ld"},
    {"tmem-not-complete", Put::behind, Place::other, "tcgen05.wait::st.sync.aligned;", "tcgen05.st"},
    {"wgmma-fence-missing", Put::before, Place::first, "wgmma.fence.sync.aligned;"},
    {"wgmma-not-waited", Put::before, Place::first, kProductsOver},
};

std::string_view trimmed(std::string_view s) {
  const size_t a = s.find_first_not_of(" \t");
  if (a == s.npos) return {};
  return s.substr(a, s.find_last_not_of(" \t\r") + 1 - a);
}

/// "@%p1 " of an instruction; empty if it has no guard.
std::string guard_of(std::string_view ptx) {
  ptx = trimmed(ptx);
  return ptx.starts_with('@') ? std::string(ptx.substr(0, ptx.find_first_of(" \t"))) + " " : "";
}
std::string_view without_guard(std::string_view ptx) {
  ptx = trimmed(ptx);
  return ptx.starts_with('@') ? trimmed(ptx.substr(std::min(ptx.find_first_of(" \t"), ptx.size()))) : ptx;
}

/// What stands in the first brackets that `opening` begins: "%r1+8" of "[%r1+8], 4".
std::string in_brackets(std::string_view ptx, std::string_view ends) {
  const size_t from = ptx.find('['), to = from == ptx.npos ? from : ptx.find_first_of(ends, from);
  return to == ptx.npos ? "" : std::string(ptx.substr(from + 1, to - from - 1));
}

/// Those that follow from the instruction itself.
std::string instead_of(const Diagnosis& d) {
  const std::string& ptx = d.where.ptx_text;
  const auto with = [&](std::string_view from, std::string_view to) {
    const size_t at = ptx.find(from);
    return at == ptx.npos ? "" : ptx.substr(0, at) + std::string(to) + ptx.substr(at + from.size()) + ";";
  };
  const size_t comma = ptx.rfind(',');
  if (d.code == "setmaxnreg-direction")
    return ptx.find(".inc.") != ptx.npos ? with(".inc.", ".dec.") : with(".dec.", ".inc.");
  if (comma == ptx.npos) return {};
  if (d.code == "warp-mask-without-self") return ptx.substr(0, comma) + ", 0xffffffff;";
  if (d.code != "alloc-granularity") return {};
  const std::string_view number = trimmed(std::string_view(ptx).substr(comma + 1));
  uint32_t columns = 0, legal = 32;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), columns);
  if (error != std::errc() || columns > 512) return {};
  while (legal < columns) legal *= 2;
  return fmt::format("{}, {};", ptx.substr(0, comma), legal);
}

/// Those that need the instruction's address, ahead of it and with its guard.
std::string before_it(const Diagnosis& d) {
  const std::string_view ptx = d.where.ptx_text;
  if (d.code == "mbarrier-reinit")
    return fmt::format("{}mbarrier.inval.shared::cta.b64 [{}];", guard_of(ptx), in_brackets(ptx, "]"));
  if (d.code != "tensormap-not-acquired") return {};
  const size_t box = ptx.find(", {");
  const size_t from = box == ptx.npos ? box : ptx.rfind('[', box);
  if (from == ptx.npos) return {};
  return fmt::format("{}fence.proxy.tensormap::generic.acquire.gpu [{}], 128;", guard_of(ptx),
                     ptx.substr(from + 1, box - from - 1));
}

/// Two ordinary accesses of one CTA: a barrier of its threads can order them.
bool meets_in_cta(const Diagnosis& d) {
  const Where &a = d.where, &b = d.others[0].where;
  return a.operation.empty() && b.operation.empty() && std::ranges::equal(a.cta, b.cta);
}

/// The line and all behind it up to the end of its statement: where the next one begins, from 1 on; 0: nowhere.
template <class Line>
int behind_statement(int line, Line&& text_of) {
  for (int i = line; i < line + 20; ++i) {
    const std::optional<std::string_view> text = text_of(i);
    if (!text) return 0;
    std::string_view code = *text;
    code = trimmed(code.substr(0, code.find("//")));
    if (code.ends_with(';') || code.ends_with('}')) return i + 1;
  }
  return 0;
}

}  // namespace

std::vector<Edit> edits_of(const Diagnosis& d) {
  if (d.where.ptx_line <= 0 || d.severity == Severity::note) return {};
  if (const std::string ptx = instead_of(d); !ptx.empty()) return {{Put::instead, d.where, ptx}};
  if (const std::string ptx = before_it(d); !ptx.empty()) return {{Put::before, d.where, ptx}};
  if (d.code == "data-race") {
    if (d.section.find("griddepcontrol") != std::string::npos) return {{Put::before, d.where, "griddepcontrol.wait;"}};
    if (d.others.empty() || !meets_in_cta(d)) return {};
  }
  std::vector<Edit> out;
  for (const Remedy& r : kRemedies) {
    if (r.code != d.code) continue;
    const bool other = !d.others.empty() && d.others[0].where.ptx_line > 0;
    const bool fits = r.other.empty() || (other && without_guard(d.others[0].where.ptx_text).starts_with(r.other));
    if (!fits || (r.place == Place::other && !other && r.code != "proxy-fence-missing")) continue;
    // Without the access that came first, in the thread that issues the second.
    const bool here = r.place == Place::first || !other;
    out.push_back(
        {here && r.put == Put::behind ? Put::before : r.put, here ? d.where : d.others[0].where, std::string(r.ptx)});
  }
  return out;
}

std::optional<std::string> edited(const std::string& ptx, const std::vector<Edit>& edits) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    lines.push_back(ptx.substr(at, end - at));
    at = end + 1;
  }
  const auto text_of = [&](int line) -> std::optional<std::string_view> {
    if (line < 1 || size_t(line) > lines.size()) return {};
    return lines[size_t(line) - 1];
  };
  std::multimap<int, std::string> insertions;  // ahead of a line
  for (const Edit& e : edits) {
    const std::optional<std::string_view> line = text_of(e.at.ptx_line);
    const std::string_view words = without_guard(e.at.ptx_text);
    if (!line || line->find(words.substr(0, words.find_first_of(" \t"))) == line->npos) return {};
    if (e.put == Put::before) insertions.emplace(e.at.ptx_line, e.ptx);
    if (e.put == Put::instead) lines[size_t(e.at.ptx_line) - 1] = e.ptx;
    if (e.put == Put::behind) {
      const int next = behind_statement(e.at.ptx_line, text_of);
      if (!next) return {};
      insertions.emplace(next, e.ptx);
    }
    if (e.put != Put::before_return) continue;
    // From the instruction to the end of its function, which a brace in the first column closes, and back to its head.
    int first = e.at.ptx_line, last = e.at.ptx_line;
    while (first > 1 && text_of(first)->find(".entry") == std::string_view::npos) --first;
    while (text_of(last) && *text_of(last) != "}") ++last;
    for (int i = first; i < last; ++i)
      if (const std::string_view code = trimmed(*text_of(i)); code == "ret;" || code.ends_with(" ret;"))
        insertions.emplace(i, e.ptx);
  }
  std::string out;
  for (int i = 1; size_t(i) <= lines.size() + 1; ++i) {
    for (auto [at, end] = insertions.equal_range(i); at != end; ++at) out += at->second + "\n";
    if (size_t(i) <= lines.size()) out += lines[size_t(i) - 1] + "\n";
  }
  return out;
}

std::optional<std::vector<SourceEdit>> source_edits(const std::vector<Edit>& edits, SourceFiles& files) {
  std::vector<SourceEdit> out;
  for (const Edit& e : edits) {
    const bool has_place = e.put == Put::before || e.put == Put::behind;
    if (!has_place || e.at.cuda_line <= 0 || e.ptx.find('%') != std::string::npos ||
        e.ptx.find('[') != std::string::npos)
      return {};
    const auto text_of = [&](int line) { return files.line(e.at.cuda_file, line); };
    const std::optional<std::string_view> line = text_of(e.at.cuda_line);
    if (!line) return {};
    int at = e.at.cuda_line;
    if (e.put == Put::behind) {
      at = behind_statement(at, text_of);
      if (!at) return {};
    } else {
      // Behind "if (…)" or a line that goes on, a statement put in would be taken for its body or its end.
      const std::optional<std::string_view> above = text_of(at - 1);
      std::string_view code = above ? *above : "{";
      code = trimmed(code.substr(0, code.find("//")));
      if (!code.empty() && !code.ends_with(';') && !code.ends_with('{') && !code.ends_with('}') && !code.ends_with(':'))
        return {};
    }
    const std::string indent(line->substr(0, std::min(line->find_first_not_of(" \t"), line->size())));
    out.push_back({e.at.cuda_file, at, fmt::format("{}asm volatile(\"{}\" ::: \"memory\");\n", indent, e.ptx)});
  }
  return out;
}

std::string diff_of(std::vector<SourceEdit> edits, SourceFiles& files, const std::string& folder) {
  constexpr int kContext = 3;
  const auto key = [](const SourceEdit& e) { return std::tie(e.file, e.line, e.text); };
  std::ranges::sort(edits, {}, key);
  const auto twice = std::ranges::unique(edits, {}, key);
  edits.erase(twice.begin(), twice.end());
  std::string out;
  int added = 0;  // lines, in this file so far
  for (size_t i = 0; i < edits.size();) {
    const std::string& file = edits[i].file;
    if (!i || edits[i - 1].file != file) {
      const std::string path = path_from(folder, file);
      out += fmt::format("--- {0}\n+++ {0}\n", path);
      added = 0;
    }
    size_t end = i + 1;
    while (end < edits.size() && edits[end].file == file && edits[end].line <= edits[end - 1].line + 2 * kContext)
      ++end;
    const int first = std::max(1, edits[i].line - kContext);
    std::string body;
    int before = 0, more = 0, line = first;
    const auto copy = [&](int to) {
      for (; line < to; ++line) {
        const auto text = files.line(file, line);
        if (!text) break;
        body += fmt::format(" {}\n", *text);
        ++before;
      }
    };
    for (size_t k = i; k < end; ++k) {
      copy(edits[k].line);
      body += "+" + edits[k].text;
      ++more;
    }
    copy(edits[end - 1].line + kContext);
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", first, before, first + added, before + more, body);
    added += more;
    i = end;
  }
  return out;
}

}  // namespace tinygpu::diagnosis
