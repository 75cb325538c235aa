#include "common/tinygpu/image/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/base/range.h"

namespace tinygpu::image {

namespace {

template <class T>
bool read_at(Bytes b, uint64_t offset, T& out) {
  if (!inside(0, b.size(), offset, sizeof(T))) return false;
  std::memcpy(&out, b.data() + offset, sizeof(T));
  return true;
}

Bytes part(Bytes b, uint64_t offset, uint64_t size) {
  if (!inside(0, b.size(), offset, size)) return {};
  return b.subspan(offset, size);
}

std::string_view string_at(Bytes table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* s = reinterpret_cast<const char*>(table.data()) + offset;
  return {s, strnlen(s, table.size() - offset)};
}

/// f(name, symbol) for those of .symtab, of which a file has one.
template <class F>
void each_symbol(const std::vector<Elf::Section>& sections, const F& f) {
  const auto table = std::ranges::find_if(
      sections, [&](const Elf::Section& s) { return s.type == SHT_SYMTAB && s.link < sections.size(); });
  if (table == sections.end()) return;
  Elf64_Sym symbol;
  for (uint64_t at = 0; read_at(table->bytes, at, symbol); at += sizeof symbol)
    f(string_at(sections[table->link].bytes, symbol.st_name), symbol);
}

bool header(Bytes file, Elf64_Ehdr& h) {
  return is_elf(file) && read_at(file, 0, h) && h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB;
}

}  // namespace

bool is_elf(Bytes bytes) {
  return bytes.size() >= sizeof kElfMagic && std::memcmp(bytes.data(), kElfMagic, sizeof kElfMagic) == 0;
}

std::optional<Elf> Elf::read(Bytes file) {
  Elf64_Ehdr h;
  if (!header(file, h)) return std::nullopt;
  Elf out;
  out.machine_ = h.e_machine;
  out.flags_ = h.e_flags;
  std::vector<Elf64_Shdr> headers(h.e_shnum);
  for (size_t i = 0; i < headers.size(); ++i)
    if (!read_at(file, (h.e_shoff + CheckedSize(i) * sizeof(Elf64_Shdr)).value(), headers[i])) return std::nullopt;
  Bytes names;
  if (h.e_shstrndx < headers.size()) names = part(file, headers[h.e_shstrndx].sh_offset, headers[h.e_shstrndx].sh_size);
  for (const Elf64_Shdr& s : headers) {
    Section section;
    section.name = string_at(names, s.sh_name);
    section.type = s.sh_type;
    section.info = s.sh_info;
    section.link = s.sh_link;
    section.flags = s.sh_flags;
    if (s.sh_type != SHT_NOBITS) section.bytes = part(file, s.sh_offset, s.sh_size);
    out.sections_.push_back(section);
  }
  return out;
}

const Elf::Section* Elf::section(std::string_view name) const {
  for (const Section& s : sections_)
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<std::string_view> Elf::symbol_names() const {
  std::vector<std::string_view> out;
  each_symbol(sections_, [&](std::string_view name, const Elf64_Sym&) { out.push_back(name); });
  return out;
}

std::vector<Elf::Function> Elf::functions() const {
  std::vector<Function> out;
  each_symbol(sections_, [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
      out.push_back({name, symbol.st_value, symbol.st_size});
  });
  return out;
}

std::vector<std::string> Elf::dynamic_strings(int64_t tag) const {
  std::vector<std::string> out;
  for (const Section& s : sections_) {
    if (s.type != SHT_DYNAMIC || s.link >= sections_.size()) continue;
    Elf64_Dyn entry;
    for (uint64_t at = 0; read_at(s.bytes, at, entry) && entry.d_tag != DT_NULL; at += sizeof entry)
      if (entry.d_tag == tag) out.emplace_back(string_at(sections_[s.link].bytes, entry.d_un.d_val));
  }
  return out;
}

uint64_t Elf::size_of(Bytes file) {
  Elf64_Ehdr h;
  if (!header(file, h)) return 0;
  uint64_t end = sizeof h;
  const auto reaches = [&](CheckedSize offset, CheckedSize size) { end = std::max(end, (offset + size).value()); };
  reaches(h.e_shoff, CheckedSize(h.e_shnum) * sizeof(Elf64_Shdr));
  reaches(h.e_phoff, CheckedSize(h.e_phnum) * sizeof(Elf64_Phdr));
  Elf64_Shdr s;
  for (uint64_t i = 0; i < h.e_shnum && read_at(file, (h.e_shoff + CheckedSize(i) * sizeof s).value(), s); ++i)
    if (s.sh_type != SHT_NOBITS) reaches(s.sh_offset, s.sh_size);
  return end;
}

}  // namespace tinygpu::image
