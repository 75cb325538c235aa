#include "tests/conformance/random_kernels/expressions.h"

#include <span>

namespace conformance::random_kernels {
namespace {

// Operators by the type of their result. @t stands for an expression of type t, # for a number from 1 to 31.
constexpr const char* kWords[] = {"(@u + @u)",
                                  "(@u - @u)",
                                  "(@u * @u)",
                                  "(@u & @u)",
                                  "(@u | @u)",
                                  "(@u ^ @u)",
                                  "(~ @u)",
                                  "(@u << (@u & 31))",
                                  "(@u >> (@u & 31))",
                                  "(@u << #)",
                                  "(@u >> #)",
                                  "u32(i32(@u) >> (@u & 31))",
                                  "(@u / (@u | 1))",
                                  "(@u % (@u | 1))",
                                  "(@u / #)",
                                  "(@u % #)",
                                  "u32(i32(@u) / i32((@u & 0x7fff) | 1))",
                                  "u32(i32(@u) % i32((@u & 0xff) | 1))",
                                  "u32(i32(@u) / -(# + 1))",
                                  "min(@u, @u)",
                                  "max(@u, @u)",
                                  "u32(min(i32(@u), i32(@u)))",
                                  "u32(max(i32(@u), i32(@u)))",
                                  "__umulhi(@u, @u)",
                                  "u32(__mulhi(i32(@u), i32(@u)))",
                                  "u32(__popc(@u))",
                                  "u32(__clz(i32(@u)))",
                                  "u32(__ffs(i32(@u)))",
                                  "__brev(@u)",
                                  "__byte_perm(@u, @u, @u)",
                                  "__funnelshift_l(@u, @u, @u)",
                                  "__funnelshift_rc(@u, @u, @u)",
                                  "__dp4a(@u, @u, @u)",
                                  "u32(__dp4a(i32(@u), i32(@u), i32(@u)))",
                                  "u32(__dp2a_lo(i32(@u), i32(@u), i32(@u)))",
                                  "__vadd4(@u, @u)",
                                  "__vmaxs2(@u, @u)",
                                  "__vcmpgtu4(@u, @u)",
                                  "__vavgu4(@u, @u)",
                                  "__usad(@u, @u, @u)",
                                  "__uhadd(@u, @u)",
                                  "u32(__rhadd(i32(@u), i32(@u)))",
                                  "(@p ? @u : @u)",
                                  "(@p ? @u : @u)",
                                  "u32(@p)",
                                  "u32(@q)",
                                  "u32(@q >> #)",
                                  "u32(@s)",
                                  "u32(@c)",
                                  "u32(i32(i16(@s)))",
                                  "u32(i32(i8(@c)))",
                                  "bits(@f)",
                                  "bits(@h)",
                                  "bits(@b)",
                                  "bits(@H)",
                                  "bits(@B)",
                                  "u32(__float2int_rn(@f))",
                                  "u32(__float2int_rz(@f))",
                                  "__float2uint_rd(@f)",
                                  "u32(__double2int_rz(@d))",
                                  "__double2uint_ru(@d)",
                                  "u32(__half2int_rn(@h))",
                                  "__half2uint_rz(@h)",
                                  "u32(__bfloat162int_rd(@b))",
                                  "u32(__popcll(@q))",
                                  "u32(__clzll(i64(@q)))",
                                  "ptx_shl(@u, @u)",
                                  "ptx_shr(@u, @u)",
                                  "ptx_sar(@u, @u)",
                                  "ptx_mul24_hi(@u, @u)",
                                  "ptx_mul24_lo(@u, @u)",
                                  "ptx_add_sat(@u, @u)",
                                  "ptx_sub_sat(@u, @u)",
                                  "ptx_mad_hi(@u, @u, @u)",
                                  "ptx_sad(@u, @u, @u)",
                                  "ptx_bfe_u(@u, @u, @u)",
                                  "ptx_bfe_s(@u, # + 0u, #)",
                                  "ptx_bfi(@u, @u, @u, @u)",
                                  "ptx_prmt_f4e(@u, @u, @u)",
                                  "ptx_prmt_rc16(@u, @u, @u)",
                                  "ptx_shf_wrap(@u, @u, @u)",
                                  "ptx_shf_clamp(@u, @u, @u)",
                                  "ptx_bfind(@u)",
                                  "ptx_bfind_shift(@u)",
                                  "ptx_cnot(@u & 3)",
                                  "ptx_lop3<# * 7>(@u, @u, @u)",
                                  "ptx_borrow(@u, @u, @u)",
                                  "ptx_setp_pair(@u, @u, @u)",
                                  "ptx_slct(@u, @u, @u)",
                                  "jump4(@u, @u)",
                                  "jump3(@u, @u & 3)",
                                  "jump_machine(@u, @u)",
                                  "in[@u & 4095]",
                                  "constants[@u & 15]",
                                  "u32(table16[@u & 15])"};
constexpr const char* kLongs[] = {"(@q + @q)",
                                  "(@q - @q)",
                                  "(@q * @q)",
                                  "(@q ^ @q)",
                                  "(@q & @q)",
                                  "(@q | @q)",
                                  "(~ @q)",
                                  "(@q << (@u & 63))",
                                  "(@q >> (@u & 63))",
                                  "u64(i64(@q) >> (@u & 63))",
                                  "(@q / (@q | 1))",
                                  "(@q % (@q | 1))",
                                  "(@q / #)",
                                  "u64(i64(@q) / i64(@u | 1))",
                                  "u64(i64(@q) % i64((@u & 0xffff) | 1))",
                                  "min(@q, @q)",
                                  "u64(max(i64(@q), i64(@q)))",
                                  "__umul64hi(@q, @q)",
                                  "u64(__mul64hi(i64(@q), i64(@q)))",
                                  "__brevll(@q)",
                                  "(u64(@u) * @u)",
                                  "u64(i64(i32(@u)) * i32(@u))",
                                  "(u64(@u) << 32 | @u)",
                                  "u64(i64(i32(@u)))",
                                  "bits(@d)",
                                  "__float2ull_rn(@f)",
                                  "u64(__float2ll_rz(@f))",
                                  "__double2ull_rz(@d)",
                                  "u64(__double2ll_rd(@d))",
                                  "u64(__half2ll_rn(@h))",
                                  "(@p ? @q : @q)",
                                  "ptx_carry(@q, @q, @q)",
                                  "ptx_mad_wide(@u, @u, @q)"};
constexpr const char* kShorts[] = {"u16(@u)",
                                   "u16(@u >> 16)",
                                   "u16(@s + @s)",
                                   "u16(@s - @s)",
                                   "u16(u32(@s) * u32(@s))",
                                   "u16(@s >> (@u & 15))",
                                   "u16(i16(@s) >> (@u & 15))",
                                   "u16(@s ^ @s)",
                                   "u16(@s & @s)",
                                   "u16(bits(@h))",
                                   "u16(bits(@b))",
                                   "u16(@c)",
                                   "u16(i16(i8(@c)))",
                                   "ptx_mul16_hi(@s, @s)",
                                   "ptx_div16(@s, u16(@s | 1))",
                                   "ptx_min16(@s, @s)",
                                   "ptx_mad16(@s, @s, @s)",
                                   "u16(@p ? @s : @s)",
                                   "__half2ushort_rn(@h)",
                                   "u16(__half2short_rz(@h))",
                                   "table16[@u & 15]"};
constexpr const char* kBytes[] = {
    "u8(@u)",      "u8(@u >> 24)",           "u8(@c + @c)",       "u8(@c - @c)",      "u8(@c * @c)",
    "u8(@c ^ @s)", "u8(i8(@c) >> (@u & 7))", "u8(@c / (@c | 1))", "u8(@p ? @c : @c)", "u8(i8(@c) < i8(@c))"};
constexpr const char* kFloats[] = {"(@f + @f)",
                                   "(@f + @f)",
                                   "(@f - @f)",
                                   "(@f * @f)",
                                   "(@f * @f)",
                                   "(@f / @f)",
                                   "fmaf(@f, @f, @f)",
                                   "fmaf(@f, @f, @f)",
                                   "sqrtf(fabsf(@f))",
                                   "fminf(@f, @f)",
                                   "fmaxf(@f, @f)",
                                   "fabsf(@f)",
                                   "(- @f)",
                                   "floorf(@f)",
                                   "ceilf(@f)",
                                   "truncf(@f)",
                                   "rintf(@f)",
                                   "roundf(@f)",
                                   "copysignf(@f, float(i32(@u)))",
                                   "float(@u)",
                                   "float(i32(@u))",
                                   "float(@q)",
                                   "float(i64(@q))",
                                   "float(@d)",
                                   "float(@s)",
                                   "__double2float_rd(@d)",
                                   "__double2float_rz(@d)",
                                   "__half2float(@h)",
                                   "__bfloat162float(@b)",
                                   "__uint2float_rz(@u)",
                                   "__ll2float_ru(i64(@q))",
                                   "__fadd_rz(@f, @f)",
                                   "__fadd_ru(@f, @f)",
                                   "__fsub_rd(@f, @f)",
                                   "__fmul_rd(@f, @f)",
                                   "__fmul_rz(@f, @f)",
                                   "__fmaf_ru(@f, @f, @f)",
                                   "__fmaf_rz(@f, @f, @f)",
                                   "__fdiv_rz(@f, @f)",
                                   "__fdiv_ru(@f, @f)",
                                   "__fsqrt_rd(fabsf(@f))",
                                   "__frcp_rn(@f)",
                                   "__frcp_ru(@f)",
                                   "__saturatef(@f)",
                                   "(@p ? @f : @f)",
                                   "f32_of(@u)",
                                   "__low2float(@H)"};
constexpr const char* kDoubles[] = {"(@d + @d)",
                                    "(@d - @d)",
                                    "(@d * @d)",
                                    "(@d * @d)",
                                    "(@d / @d)",
                                    "fma(@d, @d, @d)",
                                    "sqrt(fabs(@d))",
                                    "fmin(@d, @d)",
                                    "fmax(@d, @d)",
                                    "fabs(@d)",
                                    "(- @d)",
                                    "floor(@d)",
                                    "ceil(@d)",
                                    "trunc(@d)",
                                    "rint(@d)",
                                    "double(@u)",
                                    "double(i32(@u))",
                                    "double(@q)",
                                    "double(i64(@q))",
                                    "double(@f)",
                                    "double(__half2float(@h))",
                                    "__dadd_rz(@d, @d)",
                                    "__dmul_ru(@d, @d)",
                                    "__fma_rd(@d, @d, @d)",
                                    "__ddiv_rz(@d, @d)",
                                    "__dsqrt_ru(fabs(@d))",
                                    "__ull2double_rd(@q)",
                                    "(@p ? @d : @d)",
                                    "f64_of(@q)"};
constexpr const char* kHalves[] = {"__hadd_rn(@h, @h)",
                                   "__hsub_rn(@h, @h)",
                                   "__hmul_rn(@h, @h)",
                                   "__hfma(@h, @h, @h)",
                                   "__hfma_sat(@h, @h, @h)",
                                   "__hfma_relu(@h, @h, @h)",
                                   "__habs(@h)",
                                   "__hneg(@h)",
                                   "__hmin(@h, @h)",
                                   "__hmax(@h, @h)",
                                   "__hmin_nan(@h, @h)",
                                   "__hmax_nan(@h, @h)",
                                   "hfloor(@h)",
                                   "hceil(@h)",
                                   "htrunc(@h)",
                                   "hrint(@h)",
                                   "__float2half_rn(@f)",
                                   "__float2half_rz(@f)",
                                   "__float2half_ru(@f)",
                                   "__double2half(@d)",
                                   "__uint2half_rn(@u)",
                                   "__int2half_rz(i32(@u))",
                                   "__ushort2half_rn(@s)",
                                   "__ull2half_rd(@q)",
                                   "f16_of(@u)",
                                   "(@p ? @h : @h)",
                                   "__low2half(@H)",
                                   "__high2half(@H)"};
constexpr const char* kBfloats[] = {"__hadd_rn(@b, @b)",
                                    "__hsub_rn(@b, @b)",
                                    "__hmul_rn(@b, @b)",
                                    "__hfma(@b, @b, @b)",
                                    "__hfma_sat(@b, @b, @b)",
                                    "__hfma_relu(@b, @b, @b)",
                                    "__habs(@b)",
                                    "__hneg(@b)",
                                    "__hmin(@b, @b)",
                                    "__hmax(@b, @b)",
                                    "__hmax_nan(@b, @b)",
                                    "__float2bfloat16_rn(@f)",
                                    "__float2bfloat16_rz(@f)",
                                    "__float2bfloat16_rd(@f)",
                                    "__double2bfloat16(@d)",
                                    "__uint2bfloat16_rn(@u)",
                                    "__short2bfloat16_rn(i16(@s))",
                                    "bf16_of(@u)",
                                    "(@p ? @b : @b)",
                                    "__low2bfloat16(@B)",
                                    "__high2bfloat16(@B)"};
constexpr const char* kHalfPairs[] = {"__hadd2_rn(@H, @H)",   "__hsub2_rn(@H, @H)",        "__hmul2_rn(@H, @H)",
                                      "__hfma2(@H, @H, @H)",  "__hfma2_relu(@H, @H, @H)",  "__hfma2_sat(@H, @H, @H)",
                                      "__hmin2(@H, @H)",      "__hmax2_nan(@H, @H)",       "__habs2(@H)",
                                      "__hneg2(@H)",          "__halves2half2(@h, @h)",    "__lowhigh2highlow(@H)",
                                      "__lows2half2(@H, @H)", "__floats2half2_rn(@f, @f)", "__hge2(@H, @H)",
                                      "h2floor(@H)"};
constexpr const char* kBfloatPairs[] = {"__hadd2_rn(@B, @B)",
                                        "__hsub2_rn(@B, @B)",
                                        "__hmul2_rn(@B, @B)",
                                        "__hfma2(@B, @B, @B)",
                                        "__hfma2_relu(@B, @B, @B)",
                                        "__hmax2(@B, @B)",
                                        "__hmin2_nan(@B, @B)",
                                        "__habs2(@B)",
                                        "__hneg2(@B)",
                                        "__halves2bfloat162(@b, @b)",
                                        "__floats2bfloat162_rn(@f, @f)",
                                        "__lowhigh2highlow(@B)"};
constexpr const char* kPredicates[] = {"(@u < @u)",       "(i32(@u) < i32(@u))", "(@u == (@u & #))",
                                       "((@u & #) != 0)", "((@u & #) != 0)",     "((@u >> # & 1) != 0)",
                                       "((@u % #) < 3)",  "(@f < @f)",           "(@f != @f)",
                                       "(@f >= @f)",      "!(@f <= @f)",         "(@d < @d)",
                                       "(@d == @d)",      "(@q > @q)",           "(i64(@q) <= i64(@q))",
                                       "(@s < @s)",       "(i8(@c) > i8(@c))",   "__hlt(@h, @h)",
                                       "__hgeu(@h, @h)",  "__hne(@b, @b)",       "__hbgt2(@H, @H)",
                                       "(!@p)",           "(@p && @p)",          "(@p || @p)",
                                       "(@p != @p)",      "isnan(@f)",           "(__popc(@u) > 15)"};
constexpr const char* kUniformWords[] = {"(@U + @U)", "(@U * 5 + #)", "(@U ^ @U)",          "(@U >> #)",
                                         "(@U & @U)", "(@U % #)",     "constants[@U & 15]", "in[@U & 4095]"};

std::span<const char* const> operators(char type) {
  switch (type) {
    case 'u': return kWords;
    case 'q': return kLongs;
    case 's': return kShorts;
    case 'c': return kBytes;
    case 'f': return kFloats;
    case 'd': return kDoubles;
    case 'h': return kHalves;
    case 'b': return kBfloats;
    case 'H': return kHalfPairs;
    case 'B': return kBfloatPairs;
    case 'p': return kPredicates;
    case 'U': return kUniformWords;
    default: return {};
  }
}

std::string literal(Random& r, char type) {
  static const char* const u[] = {"0u", "1u",          "2u",          "31u",         "0xffffffffu",
                                  "7u", "0x80000000u", "0x7fffffffu", "0x12345678u", "1000003u"};
  static const char* const q[] = {"0ull", "1ull", "0xffffffffffffffffull", "0x8000000000000000ull",
                                  "6364136223846793005ull"};
  static const char* const f[] = {"0.0f", "-0.0f", "1.0f", "-1.5f", "0.333333343f", "16777216.0f", "1e-38f", "3e38f"};
  static const char* const d[] = {"0.0", "1.0", "-2.5", "0.1", "1e300", "4503599627370496.5", "-1e-310"};
  switch (type) {
    case 'u':
    case 'U': return r.pick(u);
    case 'q': return r.pick(q);
    case 's': return "u16(" + std::string(r.pick(u)) + ")";
    case 'c': return "u8(" + std::string(r.pick(u)) + ")";
    case 'f': return r.pick(f);
    case 'd': return r.pick(d);
    case 'h': return "f16_of(" + std::string(r.pick(u)) + ")";
    case 'b': return "bf16_of(" + std::string(r.pick(u)) + ")";
    case 'H': return "__float2half2_rn(" + std::string(r.pick(f)) + ")";
    case 'B': return "__float2bfloat162_rn(" + std::string(r.pick(f)) + ")";
    default: return r.one_in(2) ? "true" : "false";
  }
}

bool has(const Scope& scope, char type) {
  if (type == 'U') return !scope.uniform.empty();
  const auto found = scope.variables.find(type);
  return found != scope.variables.end() && found->second > 0;
}

}  // namespace

const char* type_name(char type) {
  switch (type) {
    case 'q': return "u64";
    case 's': return "u16";
    case 'c': return "u8";
    case 'f': return "float";
    case 'd': return "double";
    case 'h': return "half";
    case 'b': return "bf16";
    case 'H': return "__half2";
    case 'B': return "__nv_bfloat162";
    case 'p': return "bool";
    default: return "u32";
  }
}

std::string made_from(const std::string& u, char type) {
  switch (type) {
    case 'q': return "(u64(" + u + ") << 32 | ~" + u + ")";
    case 's': return "u16(" + u + ")";
    case 'c': return "u8(" + u + ")";
    case 'f': return "f32_of(" + u + ")";
    case 'd': return "f64_of(u64(" + u + ") * 0x100000007ull)";
    case 'h': return "f16_of(" + u + ")";
    case 'b': return "bf16_of(" + u + ")";
    case 'H': return "__halves2half2(f16_of(" + u + " >> 16), f16_of(" + u + "))";
    case 'B': return "__halves2bfloat162(bf16_of(" + u + " >> 16), bf16_of(" + u + "))";
    case 'p': return "((" + u + " & 1) != 0)";
    default: return u;
  }
}

std::string variable(Random& r, const Scope& scope, char type) {
  if (type == 'U') return scope.uniform[r.below(scope.uniform.size())];
  return type + std::to_string(r.below(uint64_t(scope.variables.at(type))));
}

std::string expression(Random& r, const Scope& scope, char type, int depth) {
  const bool leaf = depth <= 0 || r.one_in(5);
  if (leaf && has(scope, type) && !r.one_in(12)) return variable(r, scope, type);
  // A predicate compares something.
  if (leaf && (type != 'p' || depth < -1))
    return has(scope, type) || r.one_in(4) || !has(scope, 'u') ? literal(r, type)
                                                               : made_from(variable(r, scope, 'u'), type);
  const auto choices = operators(type);
  std::string out;
  for (const char* c = choices[r.below(choices.size())]; *c; ++c) {
    if (*c == '@')
      out += expression(r, scope, *++c, depth - 1);
    else if (*c == '#')
      out += std::to_string(1 + r.below(31));
    else
      out += *c;
  }
  return out;
}

}  // namespace conformance::random_kernels
