#include "tests/conformance/random_kernels/generator.h"

#include <algorithm>

#include "tests/conformance/random_kernels/expressions.h"

namespace conformance::random_kernels {
namespace {

const char kPrelude[] =
#include "tests/conformance/random_kernels/prelude.inc"
    ;

/// What a function offers to its callers.
struct Callee {
  enum class Kind { plain, masked, recursive, memory, barrier } kind = Kind::plain;
  std::string name;
  char result = 'u';
  std::string parameters;  // type letters
};

class Generator {
 public:
  explicit Generator(uint64_t seed)
      : r_(0x72616e64 + seed * 0x9e37), name_(kernel_name(seed)), shape_(shape_of(seed)) {}

  std::string text() {
    const int functions = int(r_.between(2, 5));
    for (int i = 0; i < functions; ++i) function(i);
    if (r_.one_in(2)) recursive();
    table();
    if (r_.one_in(2)) memory_function();
    if (r_.one_in(3)) barrier_function();
    kernel();
    return text_;
  }

 private:
  /// What holds at a place in the program.
  struct Place {
    int depth = 0;  // of nesting
    bool in_kernel = false;
    bool uniform = false;   // all threads of the block that have not returned come here together: barriers are legal
    bool all_here = false;  // … and none has returned
    std::string mask;       // names the lanes of this warp that come here; empty where that isn't known
    bool in_loop = false;   // break and continue are legal
    int loops = 0;          // around it
  };

  // ---- text
  void line(const std::string& s) { text_.append(size_t(indent_) * 2, ' ').append(s).append("\n"); }
  void open(const std::string& s) { line(s + (s.empty() ? "{" : " {")), ++indent_; }
  void close(const std::string& after = "") { --indent_, line("}" + after); }
  std::string fresh(const char* stem) { return stem + std::to_string(++names_); }
  std::string e(char type, int depth = 2) { return expression(r_, scope_, type, r_.one_in(4) ? 3 : depth); }
  std::string v(char type) { return variable(r_, scope_, type); }
  char any_type() {
    for (;;)
      if (const char t = kVariableTypes[r_.below(sizeof kVariableTypes - 1)]; scope_.variables[t]) return t;
  }
  /// Some word of an expression, in a variable.
  std::string temporary(char type, int depth = 3) {
    const std::string n = fresh("t");
    line("const " + std::string(type_name(type)) + " " + n + " = " + e(type, depth) + ";");
    return n;
  }
  void fold(const std::string& word) {
    const std::string x = v('u');
    line(x + " = mixed(" + x + ", " + word + ");");
  }
  /// Local variables of all types; the first ones are parameters.
  void locals(const std::string& parameters, const std::map<char, int>& counts) {
    scope_ = {};
    for (char t : parameters) ++scope_.variables[t];
    for (char t : kVariableTypes) {
      if (!t) break;
      const auto wanted = counts.find(t);
      for (int i = scope_.variables[t]; wanted != counts.end() && i < wanted->second; ++i) {
        const std::string init = expression(r_, scope_, t, 2);
        line(std::string(type_name(t)) + " " + t + std::to_string(i) + " = " + init + ";");
        scope_.variables[t] = i + 1;
      }
    }
    line("u32 local[8] = {" + v('u') + ", 1, 2, " + v('u') + "};");
  }

  // ---- functions
  std::string signature(const std::string& parameters) {
    std::map<char, int> seen;
    std::string s;
    for (char t : parameters) {
      s += s.empty() ? "" : ", ";
      if (t == 'm')
        s += "u32 lanes";
      else
        s += std::string(type_name(t)) + " " + t + std::to_string(seen[t]++);
    }
    return s + ", const u32* in";
  }
  static std::string without_mask(std::string p) {
    p.erase(std::remove(p.begin(), p.end(), 'm'), p.end());
    return p;
  }
  void function(int i) {
    static const char* const shapes[] = {"uu", "ufq", "fu", "qus", "hub", "dfu", "uHB", "cuu"};
    Callee c;
    c.kind = r_.one_in(3) ? Callee::Kind::masked : Callee::Kind::plain;
    c.name = name_ + "_f" + std::to_string(i);
    c.parameters = r_.pick(shapes);
    c.result = r_.one_in(2) ? 'u' : without_mask(c.parameters)[0];
    if (c.kind == Callee::Kind::masked) c.parameters += 'm';
    open("__device__ " + std::string(r_.one_in(4) ? "" : "__noinline__ ") + type_name(c.result) + " " + c.name + "(" +
         signature(c.parameters) + ")");
    locals(without_mask(c.parameters), {{'u', 3}, {'f', 1}, {'q', 1}, {'s', 1}});
    Place p;
    p.depth = 1;
    if (c.kind == Callee::Kind::masked) p.mask = "lanes";
    statements(p, int(r_.between(2, 5)));
    line("return " + e(c.result) + ";");
    close();
    callees_.push_back(c);
  }
  void recursive() {
    Callee c;
    c.kind = Callee::Kind::recursive;
    c.name = name_ + "_r";
    const bool mutual = r_.one_in(2);
    const std::string other = mutual ? name_ + "_s" : c.name;
    if (mutual) line("__device__ __noinline__ u32 " + other + "(u32 n, u32 u0, const u32* in);");
    for (const std::string& self : mutual ? std::vector{c.name, other} : std::vector{c.name}) {
      const std::string next = self == c.name ? other : c.name;
      open("__device__ __noinline__ u32 " + self + "(u32 n, u32 u0, const u32* in)");
      scope_ = {{{'u', 1}}, {}};
      line("if (n == 0 || " + e('p', 2) + ") return " + e('u', 2) + ";");
      line("u32 u1 = " + e('u', 2) + ";");
      scope_.variables['u'] = 2;
      if (r_.one_in(2)) {
        line("u32 kept[4] = {u0, u1, u0 ^ u1, n};");
        line("kept[u1 & 3] += " + next + "(n - 1, " + e('u', 2) + ", in);");
        line("u1 += kept[u0 & 3];");
      } else {
        line("u1 ^= " + next + "(n - 1, " + e('u', 2) + ", in);");
      }
      if (r_.one_in(2)) line("if (" + e('p', 2) + ") u1 += " + next + "(n - 1, u1, in);");
      line("return " + e('u', 2) + " + u1;");
      close();
    }
    callees_.push_back(c);
  }
  /// Functions of one signature, chosen by index.
  void table() {
    const int n = int(r_.between(3, 6));
    const bool masked = r_.one_in(2);
    table_mask_ = masked;
    table_size_ = n;
    std::string list;
    for (int i = 0; i < n; ++i) {
      const std::string f = name_ + "_t" + std::to_string(i);
      open("__device__ __noinline__ u32 " + f + "(u32 u0, float f0" + (masked ? ", u32 lanes" : "") +
           ", const u32* in)");
      locals("uf", {{'u', 2}, {'q', 1}});
      Place p;
      p.depth = 1;
      if (masked) p.mask = "lanes";
      statements(p, int(r_.between(1, 3)));
      line("return " + e('u') + ";");
      close();
      list += (i ? ", " : "") + f;
    }
    line("typedef u32 (*" + name_ + "_t)(u32, float" + (masked ? ", u32" : "") + ", const u32*);");
    line(std::string(r_.one_in(2) ? "__device__" : "__constant__") + " " + name_ + "_t " + name_ + "_table[" +
         std::to_string(n) + "] = {" + list + "};");
  }
  /// Works on words behind a generic address: of local, shared or global memory.
  void memory_function() {
    memory_ = name_ + "_m";
    open("__device__ __noinline__ u32 " + memory_ + "(u32* a, u32 n, u32 u0, const u32* in)");
    scope_ = {{{'u', 1}}, {}};
    line("u32 u1 = 0;");
    scope_.variables['u'] = 2;
    open("for (u32 i = 0; i < n; ++i)");
    line("u1 = mixed(u1, a[(i + u0) % n]);");
    line("a[i] = " + e('u', 2) + ";");
    if (r_.one_in(2)) line("if (" + e('p', 1) + ") reinterpret_cast<u16*>(a)[2 * i + 1] = u16(u1);");
    close();
    line("return u1;");
    close();
  }
  /// A barrier inside a function that all threads call.
  void barrier_function() {
    barrier_ = name_ + "_b";
    open("__device__ __noinline__ u32 " + barrier_ + "(u32* shared, u32 u0, u32 from, const u32* in)");
    line("shared[threadIdx.x] = u0;");
    line("__syncthreads();");
    line("u0 = mixed(u0, shared[from % " + threads() + "]);");
    line("__syncthreads();");
    line("return u0;");
    close();
  }
  std::string threads() const { return std::to_string(shape_.threads); }

  void kernel() {
    open("extern \"C\" __global__ void __launch_bounds__(" + threads() + ") " + name_ +
         (r_.one_in(2) ? "(const u32* in" : "(const u32* __restrict__ in") + ", u32* out, u32* cells, u32 salt)");
    line("__shared__ __align__(16) u32 shared[" + std::to_string(2 * shape_.threads) + "];");
    line("__shared__ u32 own[" + std::to_string(2 * shape_.threads) + "], of_warp[" + threads() + "];");
    line("__shared__ u32 shared_cells[16];");
    line("__shared__ u64 shared_wide[16];");
    line("const u32 tid = threadIdx.x, gid = blockIdx.x * " + threads() + " + tid;");
    line("const u32 in_warp = " + threads() + " - (tid & ~31u);");
    line("const u32 lanes = in_warp >= 32 ? 0xffffffffu : (1u << in_warp) - 1;");
    line("u32 u0 = in[gid & 4095], u1 = tid;");
    // Threads that return early leave their words as they are.
    line("shared[2 * tid] = own[2 * tid] = u0;");
    line("shared[2 * tid + 1] = own[2 * tid + 1] = ~u0;");
    set_cells();
    scope_ = {};
    const std::map<char, int> counts{{'u', 6}, {'q', 3}, {'s', 2}, {'c', 1}, {'f', 3},
                                     {'d', 2}, {'h', 2}, {'b', 2}, {'H', 1}, {'B', 1}};
    scope_.variables['u'] = 2;
    for (const auto& [t, n] : counts)
      for (int i = scope_.variables[t]; i < n; ++i)
        line(std::string(type_name(t)) + " " + t + std::to_string(i) + " = " +
             made_from(
                 "in[(gid * " + std::to_string(1 + r_.below(64)) + " + " + std::to_string(r_.below(4096)) + ") & 4095]",
                 t) +
             ";");
    for (const auto& [t, n] : counts) scope_.variables[t] = n;
    line("u32 local[8] = {u0, u3, 2, u5};");
    scope_.uniform = {"salt", "blockIdx.x"};
    Place p;
    p.in_kernel = p.uniform = p.all_here = true;
    p.mask = "lanes";
    statements(p, int(r_.between(8, 14)));
    store();
    close();
  }
  void store() {
    std::string words[kWordsPerThread];
    size_t k = 0;
    for (const auto& [t, n] : scope_.variables)
      for (int i = 0; i < n; ++i) {
        std::string name = t + std::to_string(i);
        if (t == 's' || t == 'c') name = "u32(" + name + ")";
        if (t != 'u' && t != 'q' && t != 's' && t != 'c') name = "bits(" + name + ")";
        std::string& w = words[k++ % kWordsPerThread];
        w = w.empty() ? "mixed(0u, " + name + ")" : "mixed(" + w + ", " + name + ")";
      }
    words[7] = "mixed(" + words[7] + ", local[" + v('u') + " & 7])";
    line("uint4* const result = reinterpret_cast<uint4*>(out + u64(gid) * 8);");
    line("result[0] = make_uint4(" + words[0] + ", " + words[1] + ", " + words[2] + ", " + words[3] + ");");
    line("result[1] = make_uint4(" + words[4] + ", " + words[5] + ", " + words[6] + ", " + words[7] + ");");
  }

  // ---- statements
  void statements(Place p, int count) {
    for (int i = 0; i < count; ++i) statement(p);
  }
  /// A statement in `p`; what later ones of the same block may rely on changes with it.
  void statement(Place& p) {
    switch (r_.below(p.uniform ? 22 : 16)) {
      case 0:
      case 1: return assign();
      case 2: return vector_load();
      case 3: return array(p);
      case 4:
      case 5: return p.depth < 3 ? branch(p) : assign();
      case 6: return p.depth < 2 ? loop(p) : assign();
      case 7: return p.depth < 3 ? jump(p) : assign();
      case 8:
      case 9: return call(p);
      case 10: return indirect_call(p);
      case 11:
      case 12: return collective(p);
      case 13: return leave(p);
      case 14: return p.in_kernel ? global_atomic() : assign();
      case 15: return warp_exchange(p);
      case 16: return exchange();
      case 17: return block_vote();
      case 18: return shared_atomics();
      case 19: return tickets();
      case 20: return tile(p);
      default: return uniform_control(p);
    }
  }
  void assign() {
    const char t = any_type();
    if (t == 'u' && r_.one_in(3)) {
      static const char* const ops[] = {"+=", "^=", "-="};
      line(v('u') + " " + r_.pick(ops) + " " + e('u') + ";");
    } else {
      line(v(t) + " = " + e(t) + ";");
    }
  }
  void vector_load() {
    const std::string n = fresh("v");
    switch (r_.below(4)) {
      case 0:
        line("const uint4 " + n + " = reinterpret_cast<const uint4*>(in)[" + e('u', 2) + " & 1023];");
        line(v('u') + " += " + n + ".x ^ " + n + ".w;");
        return fold(n + ".y - " + n + ".z");
      case 1:
        line("const ulonglong2 " + n + " = reinterpret_cast<const ulonglong2*>(in)[" + e('u', 2) + " & 1023];");
        return fold("u64(" + n + ".x * 3 + " + n + ".y)");
      case 2:
        line("const uchar4 " + n + " = reinterpret_cast<const uchar4*>(in)[" + e('u', 2) + " & 4095];");
        return fold("u32(" + n + ".x * " + n + ".y + " + n + ".z - " + n + ".w)");
      default:
        line("const short2 " + n + " = reinterpret_cast<const short2*>(in)[" + e('u', 2) + " & 4095];");
        return fold("u32(" + n + ".x * " + n + ".y)");
    }
  }
  void array(const Place& p) {
    if (r_.one_in(3)) {
      const std::string i = fresh("j");
      line("for (u32 " + i + " = 0; " + i + " < 8; ++" + i + ") local[" + i + "] " + (r_.one_in(2) ? "+=" : "^=") +
           " " + v('u') + " * " + i + ";");
    } else if (!memory_.empty() && r_.one_in(2)) {
      static const char* const from[] = {"local + (u0 & 3), 4", "own + 2 * threadIdx.x, 2", "out + u64(gid) * 8, 8"};
      line(v('u') + " ^= " + memory_ + "(" + (p.in_kernel ? r_.pick(from) : from[0]) + ", " + e('u', 2) + ", in);");
    } else {
      line("local[" + e('u', 2) + " & 7] = " + e('u', 2) + ";");
    }
    line(v('u') + " += local[" + e('u', 1) + " & 7];");
  }
  /// Conditions that about half of the lanes meet come often.
  std::string condition() { return r_.one_in(2) ? "((" + e('u', 2) + " ^ " + v('u') + ") & 1) != 0" : e('p'); }

  Place inside(const Place& p, const std::string& mask) {
    Place in = p;
    ++in.depth;
    in.uniform = in.all_here = false;
    in.mask = mask;
    return in;
  }
  void branch(const Place& p) {
    const std::string c = fresh("c");
    const bool masks = !p.mask.empty() && r_.one_in(2);
    open("");
    line("const bool " + c + " = " + condition() + ";");
    std::string yes, no;
    if (masks) {
      yes = fresh("m"), no = fresh("m");
      line("const u32 " + yes + " = __ballot_sync(" + p.mask + ", " + c + "), " + no + " = " + p.mask + " & ~" + yes +
           ";");
      line("(void)" + no + ";");
    }
    open("if (" + c + ")");
    statements(inside(p, yes), int(r_.between(1, 3)));
    if (r_.one_in(2)) {
      --indent_;
      open("} else");
      statements(inside(p, no), int(r_.between(1, 3)));
    }
    close();
    close();
  }
  /// The trip count differs from lane to lane.
  void loop(const Place& p) {
    const std::string i = fresh("j"), n = temporary('u', 2), m = fresh("m");
    const bool masks = !p.mask.empty() && r_.one_in(2);
    const int bound = int(r_.between(2, 6));
    Place in = inside(p, "");
    in.in_loop = true;
    ++in.loops;
    if (masks) {
      // The lanes of a round are those that the round's head has counted. One that has left is not asked again.
      const std::string go = fresh("c");
      line("u32 " + m + " = " + p.mask + ";");
      open("for (u32 " + i + " = 0;; ++" + i + ")");
      line("const bool " + go + " = " + i + " < " + n + " % " + std::to_string(bound) + ";");
      line(m + " = __ballot_sync(" + m + ", " + go + ");");
      line("if (!" + go + ") break;");
      in.mask = m;
      in.in_loop = false;  // `continue` is legal, but the lanes after it would not be known
      statements(in, int(r_.between(1, 3)));
      if (r_.one_in(2)) {
        line("if (" + condition() + ") continue;");
        in.mask.clear();
        statement(in);
      }
      close();
    } else if (r_.one_in(3)) {
      line("u32 " + i + " = 0;");
      open("do");
      statements(in, int(r_.between(1, 3)));
      close(" while (++" + i + " < " + n + " % " + std::to_string(bound) + ");");
    } else {
      open("for (u32 " + i + " = 0; " + i + " < " + n + " % " + std::to_string(bound) + "; ++" + i + ")");
      statements(in, int(r_.between(1, 3)));
      fold(i);
      close();
    }
  }
  void jump(const Place& p) {
    const std::string k = fresh("k"), m = fresh("m");
    const int cases = int(r_.between(4, 8));
    const bool masks = !p.mask.empty() && r_.one_in(2), sparse = r_.one_in(4);
    open("");
    line("const u32 " + k + " = " + e('u', 2) + " % " + std::to_string(cases + 1) + ";");
    if (masks) line("const u32 " + m + " = __match_any_sync(" + p.mask + ", " + k + ");");
    open("switch (" + k + (sparse ? " * 37 & 0xff" : "") + ")");
    Place in = inside(p, "");
    ++in.depth;
    for (int i = 0; i < cases; ++i) {
      line("case " + std::to_string(sparse ? i * 37 & 0xff : i) + ":");
      ++indent_;
      open("");
      in.mask = masks ? m : "";
      in.in_loop = false;
      statement(in);
      close();
      // Falling through mixes lanes of two keys.
      if (masks || !r_.one_in(4))
        line("break;");
      else
        line("[[fallthrough]];");
      --indent_;
    }
    line("default:");
    ++indent_;
    if (masks) line(v('u') + " += __reduce_add_sync(" + m + ", " + e('u', 1) + ");");
    line(v('u') + " ^= " + e('u', 2) + ";");
    --indent_;
    close();
    close();
  }
  void call(const Place& p) {
    std::vector<const Callee*> fit;
    for (const Callee& c : callees_)
      if (c.kind != Callee::Kind::masked || !p.mask.empty()) fit.push_back(&c);
    // Calls out of loops of functions would multiply.
    if (fit.empty() || (!p.in_kernel && (p.loops || r_.one_in(2)))) return assign();
    const Callee& c = *fit[r_.below(fit.size())];
    if (c.kind == Callee::Kind::recursive)
      return line(v('u') + " ^= " + c.name + "(" + e('u', 1) + " & 3, " + e('u', 2) + ", in);");
    std::string arguments;
    for (char t : c.parameters) arguments += (t == 'm' ? p.mask : e(t, 2)) + ", ";
    const std::string n = fresh("t");
    line("const " + std::string(type_name(c.result)) + " " + n + " = " + c.name + "(" + arguments + "in);");
    if (scope_.variables[c.result])
      line(v(c.result) + " = " + n + ";");
    else
      line(v('u') + " ^= " + (c.result == 'c' || c.result == 's' ? "u32(" : "bits(") + n + ");");
  }
  /// Lanes call different functions of a table; with masks, each function hears which lanes came to it.
  void indirect_call(const Place& p) {
    if (!table_size_ || (table_mask_ && p.mask.empty())) return assign();
    if (!p.in_kernel) return assign();
    const std::string k = fresh("k");
    line("const u32 " + k + " = " + e('u', 2) + " % " + std::to_string(table_size_) + ";");
    const std::string mask = table_mask_ ? ", __match_any_sync(" + p.mask + ", " + k + ")" : "";
    line(v('u') + " += " + name_ + "_table[" + k + "](" + e('u', 2) + ", " + e('f', 2) + mask + ", in);");
  }
  void collective(const Place& p) {
    if (p.mask.empty()) return assign();
    const std::string& m = p.mask;
    switch (r_.below(14)) {
      case 0:
        return line(v('u') + " = __shfl_sync(" + m + ", " + e('u', 2) + ", lane_in(" + m + ", " + e('u', 1) + "));");
      case 1:
        return line(v('q') + " ^= __shfl_sync(" + m + ", " + e('q', 2) + ", lane_in(" + m + ", " + e('u', 1) + "));");
      case 2: return line(v('u') + " ^= __ballot_sync(" + m + ", " + e('p') + ");");
      case 3: return line("if (__any_sync(" + m + ", " + e('p') + ")) " + v('u') + " += " + e('u', 1) + ";");
      case 4: return line("if (__all_sync(" + m + ", " + e('p') + ")) " + v('u') + " += " + e('u', 1) + ";");
      case 5: return line(v('u') + " += __match_any_sync(" + m + ", " + e('u', 2) + " & 7);");
      case 6: {
        const std::string n = fresh("k"), w = fresh("t");
        line("int " + n + ";");
        line("const u32 " + w + " = __match_all_sync(" + m + ", " + e('u', 1) + " & 1, &" + n + ");");
        return line(v('u') + " ^= " + w + " + u32(" + n + ");");
      }
      case 7: return line(v('u') + " += __reduce_add_sync(" + m + ", " + e('u', 2) + ");");
      case 8: return line(v('u') + " ^= u32(__reduce_min_sync(" + m + ", i32(" + e('u', 2) + ")));");
      case 9: {
        static const char* const ops[] = {"max", "and", "or", "xor"};
        return line(v('u') + " ^= __reduce_" + r_.pick(ops) + "_sync(" + m + ", " + e('u', 2) + ");");
      }
      case 10: return line("__syncwarp(" + m + ");");
      case 11: return line(v('u') + " += __activemask() >> (threadIdx.x & 31) & 1;");
      case 12: return line(v('q') + " += __match_any_sync(" + m + ", " + e('q', 1) + " & 3);");
      default: {
        if (m != "lanes" || !p.all_here || shape_.threads % 32) return line("__syncwarp(" + m + ");");
        static const char* const ops[] = {"up", "down", "xor"};
        static const char* const widths[] = {"4", "8", "16", "32"};
        const char t = r_.one_in(3) ? 'f' : 'u';
        const std::string op = r_.pick(ops), n = fresh("t");
        line("const " + std::string(type_name(t)) + " " + n + " = __shfl_" + op + "_sync(" + m + ", " + e(t, 2) + ", " +
             std::to_string(1 + r_.below(3)) + ", " + r_.pick(widths) + ");");
        return line(v(t) + " = " + n + ";");
      }
    }
  }
  void leave(Place& p) {
    if (p.in_loop) return line("if (" + e('p', 2) + ") " + (r_.one_in(2) ? "break;" : "continue;"));
    if (!p.in_kernel || p.depth > 0 || !r_.one_in(2)) return assign();
    const std::string c = fresh("c");
    line("const bool " + c + " = (" + e('u', 2) + " & 7) == 5;");
    std::string rest;
    if (!p.mask.empty()) {
      rest = fresh("m");
      line("const u32 " + rest + " = " + p.mask + " & ~__ballot_sync(" + p.mask + ", " + c + ");");
    }
    open("if (" + c + ")");
    store();
    line("return;");
    close();
    p.mask = rest;
    p.all_here = false;
  }
  /// Cells belong to one operation each, so that order does not matter.
  void global_atomic() {
    static const char* const calls[] = {"atomicAdd(cells + #, @)",
                                        "atomicXor(cells + #, @)",
                                        "atomicOr(cells + #, @)",
                                        "atomicAnd(cells + #, @)",
                                        "atomicMin(cells + #, @)",
                                        "atomicMax(cells + #, @)",
                                        "atomicMax(reinterpret_cast<i32*>(cells) + #, i32(@))",
                                        "atomicSub(cells + #, @)"};
    const bool own = r_.one_in(4);
    if (own) {
      // The thread's own word of the output: a value comes back, and no other thread uses it.
      static const char* const back[] = {"atomicExch(&out[u64(gid) * 8], @)", "atomicAdd(&out[u64(gid) * 8], @)",
                                         "atomicInc(&out[u64(gid) * 8], @)", "atomicDec(&out[u64(gid) * 8], @)",
                                         "atomicCAS(&out[u64(gid) * 8], @, @)"};
      std::string s = r_.pick(back);
      for (size_t at; (at = s.find('@')) != std::string::npos;) s.replace(at, 1, e('u', 2));
      return line(v('u') + " += " + s + ";");
    }
    const size_t op = r_.below(8);
    std::string s = calls[op];
    s.replace(s.find('@'), 1, op == 2 || op == 3 ? "1u << (" + e('u', 2) + " & 31)" : e('u', 2));
    if (op == 3) s.replace(s.find("1u <<"), 5, "~1u <<");
    s.replace(s.find('#'), 1, std::to_string(op * 8) + " + (" + e('u', 1) + " & 3)");
    line(s + ";");
    if (r_.one_in(3)) line("atomicAdd(reinterpret_cast<float*>(cells + 7), float(" + e('u', 1) + " & 15));");
    if (r_.one_in(3)) line("atomicAdd(reinterpret_cast<u64*>(cells + 4), " + e('q', 1) + ");");
  }
  /// Lanes of a known mask hand words to each other through memory.
  void warp_exchange(const Place& p) {
    if (!p.in_kernel || p.mask.empty()) return assign();
    line("of_warp[tid] = " + e('u', 2) + ";");
    line("__syncwarp(" + p.mask + ");");
    line(v('u') + " ^= of_warp[(tid & ~31u) + lane_in(" + p.mask + ", " + e('u', 1) + ")];");
    line("__syncwarp(" + p.mask + ");");
  }

  // ---- what only uniform places may do
  void exchange() {
    const std::string n = threads();
    switch (r_.below(5)) {
      case 0:
        line("reinterpret_cast<u8*>(shared)[tid] = " + e('c', 2) + ";");
        line("__syncthreads();");
        line(v('u') + " += reinterpret_cast<u8*>(shared)[" + e('u', 2) + " % " + n + "];");
        break;
      case 1:
        line("reinterpret_cast<u64*>(shared)[tid] = " + e('q', 2) + ";");
        line("__syncthreads();");
        line(v('q') + " ^= reinterpret_cast<u64*>(shared)[" + e('u', 2) + " % " + n + "];");
        break;
      case 2:
        line("reinterpret_cast<half*>(shared)[tid] = " + e('h', 2) + ";");
        line("__syncthreads();");
        line(v('h') + " = reinterpret_cast<half*>(shared)[" + e('u', 2) + " % " + n + "];");
        break;
      case 3:
        if (!barrier_.empty()) {
          line(v('u') + " = " + barrier_ + "(shared, " + e('u', 2) + ", " + e('u', 2) + ", in);");
          return;
        }
        [[fallthrough]];
      default:
        line("shared[tid] = " + e('u', 2) + ";");
        line("__syncthreads();");
        line(v('u') + " ^= shared[" + e('u', 2) + " % " + n + "];");
    }
    line("__syncthreads();");
  }
  void block_vote() {
    static const char* const votes[] = {"__syncthreads_count", "__syncthreads_and", "__syncthreads_or"};
    line(v('u') + " += u32(" + r_.pick(votes) + "(" + e('p') + "));");
  }
  void set_cells() {
    line("for (u32 i = tid; i < 16; i += " + threads() + ") shared_cells[i] = in[i + 64], shared_wide[i] = i;");
    line("__syncthreads();");
  }
  void shared_atomics() {
    set_cells();
    static const char* const ops[] = {"atomicAdd", "atomicXor", "atomicMin", "atomicMax"};
    const std::string op = r_.pick(ops);
    line("if (" + condition() + ") " + op + "(&shared_cells[" + e('u', 1) + " & 15], " + e('u', 2) + ");");
    if (r_.one_in(2)) line("atomicAdd(&shared_wide[" + e('u', 1) + " & 15], " + e('q', 2) + ");");
    line("__syncthreads();");
    line(v('u') + " ^= shared_cells[" + e('u', 1) + " & 15];");
    line(v('q') + " += shared_wide[" + e('u', 1) + " & 15];");
    line("__syncthreads();");
  }
  /// Who gets which ticket depends on the order; the sum over all does not.
  void tickets() {
    set_cells();
    const std::string t = fresh("t"), c = fresh("k"), old = fresh("t");
    line("const u32 " + t + " = atomicAdd(&shared_cells[0], " + std::to_string(1 + r_.below(9)) + ");");
    if (r_.one_in(2)) {
      line("atomicAdd(&shared_cells[1], " + t + " * " + t + ");");
    } else {
      line("u32 " + c + " = " + t + " * 5, " + old + " = atomicAdd(&shared_cells[1], 0);");
      open("for (;;)");
      line("const u32 seen = atomicCAS(&shared_cells[1], " + old + ", " + old + " + " + c + ");");
      line("if (seen == " + old + ") break;");
      line(old + " = seen;");
      close();
    }
    line("__syncthreads();");
    line(v('u') + " += shared_cells[1];");
    line("__syncthreads();");
  }
  void tile(const Place& p) {
    if (!p.all_here || shape_.threads % 32) return block_vote();
    const std::string t = fresh("g");
    static const int sizes[] = {4, 8, 16, 32};
    const int size = r_.pick(sizes);
    open("");
    line("const auto " + t + " = cg::tiled_partition<" + std::to_string(size) + ">(cg::this_thread_block());");
    switch (r_.below(6)) {
      case 0:
        line(v('u') + " += " + t + ".shfl(" + e('u', 2) + ", " + std::to_string(r_.below(uint64_t(size))) + ");");
        break;
      case 1: line(v('u') + " ^= " + t + ".ballot(" + e('p') + ") + " + t + ".meta_group_rank();"); break;
      case 2: line(v('u') + " = cg::reduce(" + t + ", " + e('u', 2) + ", cg::plus<u32>());"); break;
      case 3: line(v('q') + " = cg::reduce(" + t + ", " + e('q', 2) + ", cg::bit_xor<u64>());"); break;
      case 4: line(v('f') + " = cg::reduce(" + t + ", " + e('f', 2) + ", cg::less<float>());"); break;
      default: {
        const std::string part = fresh("g");
        line("const auto " + part + " = cg::labeled_partition(" + t + ", " + e('u', 2) + " & 1);");
        line(v('u') + " += " + part + ".size() * 64 + " + part + ".thread_rank();");
        line(v('u') + " ^= " + part + ".shfl(" + e('u', 2) + ", 0);");
      }
    }
    line(t + ".sync();");
    close();
  }
  /// A branch or a loop that the whole block takes.
  void uniform_control(const Place& p) {
    if (p.depth > 1) return exchange();
    Place in = p;
    ++in.depth;
    if (r_.one_in(2)) {
      const std::string i = fresh("j");
      open("for (u32 " + i + " = 0; " + i + " < " + std::to_string(r_.between(2, 3)) + "; ++" + i + ")");
      ++in.loops;
      scope_.uniform.push_back(i);
      statements(in, int(r_.between(1, 3)));
      scope_.uniform.pop_back();
    } else {
      open("if ((" + expression(r_, scope_, 'U', 2) + " & 1) != 0)");
      statements(in, int(r_.between(1, 3)));
    }
    close();
  }

  Random r_;
  std::string name_, text_;
  Shape shape_;
  int indent_ = 0, names_ = 0;
  Scope scope_;
  std::vector<Callee> callees_;
  int table_size_ = 0;
  bool table_mask_ = false;
  std::string memory_, barrier_;
};

}  // namespace

Shape shape_of(uint64_t seed) {
  static const uint32_t threads[] = {32, 64, 96, 128, 256, 48, 100, 1};
  Random r(0x5a4e + seed);
  return {uint32_t(r.between(1, 3)), threads[r.below(r.one_in(4) ? 8 : 4)]};
}

std::string kernel_name(uint64_t seed) { return "k" + std::to_string(seed); }

std::string kernel_source(uint64_t seed) { return Generator(seed).text(); }

std::string module_source(uint64_t first, uint64_t last) {
  std::string s = kPrelude;
  for (uint64_t seed = first; seed < last; ++seed) s += "\n" + kernel_source(seed);
  return s;
}

std::vector<uint32_t> input_words() {
  Random r(0x696e);
  std::vector<uint32_t> words(kInputWords);
  for (uint32_t& w : words) w = r.one_in(8) ? uint32_t(r.below(64)) : uint32_t(r.next());
  return words;
}

std::vector<uint32_t> cell_words() {
  Random r(0x63656c6c);
  std::vector<uint32_t> words(kCells);
  for (uint32_t& w : words) w = uint32_t(r.next());
  words[7] = 0;  // sums of small whole numbers in f32
  return words;
}

uint64_t hash(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t h = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) h = (h ^ bytes[i]) * 0x100000001b3;
  return h;
}

}  // namespace conformance::random_kernels
