#include "common/tinygpu/debug/source_variables.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <stdexcept>

#ifdef GEN5_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unordered_map>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/debug/debug_sections.h"
#endif

namespace tinygpu::debug {

#ifdef GEN5_LIBDW

const bool kReadsVariables = true;

namespace {

// Memory segments as NVIDIA's tools number them in DWARF (cuda-gdb's cudadebugger.h): DW_AT_address_class.
constexpr uint64_t kRegister = 2, kConstant = 4, kGlobal = 5, kLocal = 6, kParam = 7, kShared = 8;

const char* space_of(uint64_t address_class) {
  switch (address_class) {
    case kConstant:
    case kGlobal: return "global";
    case kLocal: return "local";
    case kParam: return "param";
    case kShared: return "shared";
    default: return nullptr;
  }
}

/// A register's name is its number: one character a byte, the last one lowest.
std::string register_of(uint64_t number) {
  std::string name;
  for (; number; number >>= 8) name.insert(name.begin(), char(number & 0xff));
  return name;
}

/// nvcc gives some types and enumerators their mangled names.
std::string name_of(Dwarf_Die* die) {
  const char* given = dwarf_diename(die);
  std::string name = given ? readable_name(given) : "";
  constexpr std::string_view kNoName = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kNoName)) != name.npos;) name.erase(at, kNoName.size());
  return name;
}

std::string unqualified(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

uint64_t number_of(Dwarf_Die* die, unsigned attribute, uint64_t otherwise) {
  Dwarf_Attribute a;
  Dwarf_Word value;
  return dwarf_attr_integrate(die, attribute, &a) && dwarf_formudata(&a, &value) == 0 ? value : otherwise;
}

/// An ELF file in memory with these sections.
class ElfImage {
 public:
  explicit ElfImage(const DebugSections& sections) : fd_(memfd_create("gen5-debug", MFD_CLOEXEC)) {
    elf_version(EV_CURRENT);
    Elf* out = elf_begin(fd_, ELF_C_WRITE, nullptr);
    if (fd_ < 0 || !out) throw std::runtime_error("no file for the module's variables");
    gelf_newehdr(out, ELFCLASS64);
    GElf_Ehdr head{};
    gelf_getehdr(out, &head);
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_EXEC;
    head.e_machine = EM_CUDA;
    head.e_version = EV_CURRENT;
    std::string names(1, '\0');
    const auto add = [&](std::string_view name, std::string_view bytes, uint32_t type) {
      Elf_Scn* section = elf_newscn(out);
      Elf_Data* data = elf_newdata(section);
      data->d_buf = const_cast<char*>(bytes.data());
      data->d_size = bytes.size();
      data->d_type = ELF_T_BYTE;
      data->d_align = 1;
      data->d_version = EV_CURRENT;
      GElf_Shdr shape{};
      gelf_getshdr(section, &shape);
      shape.sh_name = GElf_Word(names.find(std::string(1, '\0') + std::string(name) + '\0') + 1);
      shape.sh_type = type;
      gelf_update_shdr(section, &shape);
      return elf_ndxscn(section);
    };
    for (const auto& [name, bytes] : sections.bytes) names += name + '\0';
    names += std::string(".shstrtab") + '\0';
    for (const auto& [name, bytes] : sections.bytes) add(name, bytes, SHT_PROGBITS);
    head.e_shstrndx = GElf_Half(add(".shstrtab", names, SHT_STRTAB));
    gelf_update_ehdr(out, &head);
    const bool written = elf_update(out, ELF_C_WRITE) >= 0;
    elf_end(out);
    if (written) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
    if (!elf_) throw std::runtime_error("the module's variables make no ELF file");
  }
  ~ElfImage() {
    elf_end(elf_);
    close(fd_);
  }
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;
  Elf* get() const { return elf_; }

 private:
  const int fd_;
  Elf* elf_ = nullptr;
};

}  // namespace

class SourceVariables::Dwarf {
 public:
  explicit Dwarf(const std::string& ptx)
      : sections_(debug_sections(ptx)),
        image_(sections_),
        dwarf_(dwarf_begin_elf(image_.get(), DWARF_C_READ, nullptr)) {
    if (!dwarf_) throw std::runtime_error(std::string("the module's variables cannot be read: ") + dwarf_errmsg(-1));
  }
  ~Dwarf() { dwarf_end(dwarf_); }
  Dwarf(const Dwarf&) = delete;
  Dwarf& operator=(const Dwarf&) = delete;

  std::vector<SourceVariable> at(uint64_t line) {
    std::vector<SourceVariable> out;
    Dwarf_Off next = 0;
    size_t head = 0;
    for (Dwarf_Off unit = 0; dwarf_nextcu(dwarf_, unit, &next, &head, nullptr, nullptr, nullptr) == 0; unit = next)
      if (Dwarf_Die die; dwarf_offdie(dwarf_, unit + head, &die))
        each_child(die, [&](Dwarf_Die& child) {
          if (dwarf_tag(&child) == DW_TAG_subprogram && dwarf_haspc(&child, line) == 1) block(child, line, 0, out);
        });
    return out;
  }

 private:
  template <class F>
  static void each_child(Dwarf_Die& of, F&& f) {
    Dwarf_Die child;
    if (dwarf_child(&of, &child) != 0) return;
    do f(child);
    while (dwarf_siblingof(&child, &child) == 0);
  }

  void block(Dwarf_Die& of, uint64_t line, int depth, std::vector<SourceVariable>& out) {
    // Before the body's block begins, a function's first instructions still bring its parameters to their places.
    bool begun = true;
    each_child(of, [&](Dwarf_Die& child) {
      Dwarf_Addr low;
      if (dwarf_tag(&of) == DW_TAG_subprogram && dwarf_tag(&child) == DW_TAG_lexical_block &&
          dwarf_lowpc(&child, &low) == 0 && line < low)
        begun = false;
    });
    each_child(of, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) return;
      SourceVariable v = variable(child, line);
      v.depth = depth;
      if (tag == DW_TAG_formal_parameter && !begun && v.where == SourceVariable::Where::in_memory && v.space == "local")
        v.where = SourceVariable::Where::not_yet;
      if (!v.name.empty()) out.push_back(std::move(v));
    });
    each_child(of, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && dwarf_haspc(&child, line) == 1)
        block(child, line, depth + 1, out);
    });
  }

  SourceVariable variable(Dwarf_Die& die, uint64_t line) {
    using Where = SourceVariable::Where;
    SourceVariable v;
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&die, DW_AT_name, &attribute))
      if (const char* name = dwarf_formstring(&attribute)) v.name = name;
    v.type = type_of(die);
    if (!dwarf_attr_integrate(&die, DW_AT_location, &attribute)) return v;
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    const int found = dwarf_getlocation_addr(&attribute, line, &ops, &count, 1);
    if (found < 1 || count == 0) return v;
    v.where = Where::unreadable;
    const uint64_t address_class = number_of(&die, DW_AT_address_class, kRegister);
    if (count == 1 && ops[0].atom == DW_OP_regx && address_class == kRegister) {
      v.where = Where::in_register;
      v.register_name = register_of(ops[0].number);
    } else if (const char* space = space_of(address_class);
               space && ops[0].atom == DW_OP_addr && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
      const DebugSections::Symbol symbol = sections_.symbol(ops[0].number);
      if (symbol.name.empty()) return v;
      v.where = Where::in_memory;
      v.space = space;
      v.symbol = symbol.name;
      v.offset = symbol.offset + (count == 2 ? ops[1].number : 0);
    }
    return v;
  }

  const SourceType* type_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type)) return nullptr;
    return made_of(type);
  }

  /// Types may name each other in a circle: each is known before its parts are.
  const SourceType* made_of(Dwarf_Die& die) {
    const auto [it, fresh] = types_.try_emplace(dwarf_dieoffset(&die));
    if (fresh) {
      it->second = std::make_unique<SourceType>();
      fill(*it->second, die);
    }
    return it->second.get();
  }

  void fill(SourceType& t, Dwarf_Die& die) {
    using Kind = SourceType::Kind;
    const int tag = dwarf_tag(&die);
    switch (tag) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type: {
        if (const SourceType* plain = type_of(die)) t = *plain;
        if (tag == DW_TAG_typedef)
          t.name = name_of(&die);
        else
          t.name = std::string(tag == DW_TAG_const_type      ? "const "
                               : tag == DW_TAG_volatile_type ? "volatile "
                                                             : "") +
                   t.name;
        return;
      }
      case DW_TAG_base_type: t.kind = base_kind(number_of(&die, DW_AT_encoding, 0)); break;
      case DW_TAG_pointer_type:
      case DW_TAG_reference_type:
      case DW_TAG_rvalue_reference_type:
        t.kind = Kind::pointer;
        t.target = type_of(die);
        t.name = (t.target ? t.target->name : "void") + (tag == DW_TAG_pointer_type ? "*" : "&");
        t.size = 8;
        return;
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type: record(t, die); break;
      case DW_TAG_array_type: array(t, die); return;
      case DW_TAG_enumeration_type:
        t.kind = Kind::enumeration;
        each_child(die, [&](Dwarf_Die& child) {
          Dwarf_Attribute a;
          Dwarf_Sword value;
          if (dwarf_attr(&child, DW_AT_const_value, &a) && dwarf_formsdata(&a, &value) == 0)
            t.enumerators[value] = unqualified(name_of(&child));
        });
        break;
      default: break;
    }
    t.name = name_of(&die);
    t.size = number_of(&die, DW_AT_byte_size, 0);
  }

  static SourceType::Kind base_kind(uint64_t encoding) {
    using Kind = SourceType::Kind;
    switch (encoding) {
      case DW_ATE_boolean: return Kind::boolean;
      case DW_ATE_signed_char:
      case DW_ATE_unsigned_char: return Kind::character;
      case DW_ATE_signed: return Kind::signed_integer;
      case DW_ATE_unsigned: return Kind::unsigned_integer;
      case DW_ATE_float: return Kind::real;
      default: return Kind::unknown;
    }
  }

  void record(SourceType& t, Dwarf_Die& die) {
    t.kind = SourceType::Kind::record;
    const bool is_union = dwarf_tag(&die) == DW_TAG_union_type;
    each_child(die, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
      SourceType::Member m;
      Dwarf_Attribute a;
      Dwarf_Op* ops = nullptr;
      size_t count = 0;
      if (!dwarf_attr(&child, DW_AT_data_member_location, &a)) {
        if (!is_union) return;  // a static one
      } else if (Dwarf_Word offset; dwarf_formudata(&a, &offset) == 0) {
        m.offset = offset;
      } else if (dwarf_getlocation(&a, &ops, &count) == 0 && count == 1 && ops[0].atom == DW_OP_plus_uconst) {
        m.offset = ops[0].number;
      } else {
        return;
      }
      m.type = type_of(child);
      m.name = tag == DW_TAG_inheritance && m.type ? m.type->name : name_of(&child);
      m.bit_field = dwarf_hasattr(&child, DW_AT_bit_size) != 0;
      t.members.push_back(std::move(m));
    });
  }

  /// One of several dimensions is one of arrays.
  void array(SourceType& t, Dwarf_Die& die) {
    std::vector<uint64_t> counts;
    each_child(die, [&](Dwarf_Die& child) {
      if (dwarf_tag(&child) != DW_TAG_subrange_type) return;
      counts.push_back(number_of(&child, DW_AT_count, number_of(&child, DW_AT_upper_bound, ~0ull) + 1));
    });
    const SourceType* element = type_of(die);
    for (size_t k = counts.size(); k-- > 0;) {
      SourceType* made = &t;
      if (k) {
        parts_.push_back(std::make_unique<SourceType>());
        made = parts_.back().get();
      }
      made->kind = SourceType::Kind::array;
      made->count = counts[k];
      made->target = element;
      made->size = element ? element->size * counts[k] : 0;
      // "int[4]" of which there are two is "int[2][4]".
      const std::string inner = element ? element->name : "";
      const size_t bracket =
          element && element->kind == SourceType::Kind::array ? std::min(inner.find('['), inner.size()) : inner.size();
      made->name = inner.substr(0, bracket) + "[" + std::to_string(counts[k]) + "]" + inner.substr(bracket);
      element = made;
    }
  }

  const DebugSections sections_;
  const ElfImage image_;
  ::Dwarf* const dwarf_;
  std::unordered_map<Dwarf_Off, std::unique_ptr<SourceType>> types_;
  std::vector<std::unique_ptr<SourceType>> parts_;
};

#else

const bool kReadsVariables = false;

class SourceVariables::Dwarf {
 public:
  explicit Dwarf(const std::string&) {}
  std::vector<SourceVariable> at(uint64_t) { return {}; }
};

#endif

SourceVariables::SourceVariables(std::string ptx) : ptx_(std::move(ptx)) {
  lines_.push_back(0);
  for (size_t at = 0; (at = ptx_.find('\n', at)) != ptx_.npos;) lines_.push_back(++at);
}

SourceVariables::~SourceVariables() = default;

bool SourceVariables::is_of(std::string_view function, int line, std::string_view instruction) const {
  if (line < 1 || size_t(line) > lines_.size() || ptx_.find(function) == ptx_.npos) return false;
  // White space does not count.
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::string wanted, there;
  std::ranges::copy_if(instruction, std::back_inserter(wanted), std::not_fn(blank));
  const size_t begin = lines_[size_t(line) - 1], end = std::min(ptx_.find('\n', begin), ptx_.size());
  for (size_t at = begin; at < ptx_.size() && (at < end || there.size() < wanted.size()); ++at)
    if (!blank(ptx_[at])) there += ptx_[at];
  return there.find(wanted) != there.npos || wanted.starts_with(there);
}

std::vector<SourceVariable> SourceVariables::at(int line) {
  if (!dwarf_) dwarf_ = std::make_unique<Dwarf>(ptx_);
  return dwarf_->at(uint64_t(line));
}

}  // namespace tinygpu::debug
