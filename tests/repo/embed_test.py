#!/usr/bin/env python3
"""embed_test.py CMAKE COMPILER: cmake/Gen5Embed.cmake builds in every byte of any file, in the order of their names; a compiled program writes
them back."""
import pathlib
import subprocess
import sys
import tempfile

cmake, compiler = sys.argv[1:]
root = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = {
    "b/every byte.bin": bytes(range(256)) * 3,
    "a.txt": b'R"gen5(x)gen5"; [a] ${b} \\\n',
    "long.txt": b"longer than a literal need be\n" * 3000,
    "empty": b"",
}
PROGRAM = """
#include "made.h"
#include <cstdio>
int main() {
  for (const tinygpu::EmbeddedFile& f : a::b::files()) {
    std::printf("%zu %zu ", f.path.size(), f.text.size());
    std::fwrite(f.path.data(), 1, f.path.size(), stdout);
    std::fwrite(f.text.data(), 1, f.text.size(), stdout);
  }
}
"""
HEADER = '#include "common/tinygpu/base/embedded_file.h"\nnamespace a::b { using tinygpu::EmbeddedFile; std::span<const EmbeddedFile> files(); }\n'

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for path, data in FILES.items():
        (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / path).write_bytes(data)
    (folder / "made.h").write_text(HEADER)
    (folder / "main.cpp").write_text(PROGRAM)
    script = [cmake, f"-DOUTPUT={folder}/made.cpp", "-DNAMESPACE=a::b", "-DHEADER=made.h", f"-DROOT={folder}/in", "-P", root / "cmake/Gen5Embed.cmake", "--"]
    subprocess.run([*script, *FILES], check=True)
    subprocess.run([compiler, "-std=c++20", f"-I{root}", "-I.", "made.cpp", "main.cpp", "-o", "program"], cwd=folder, check=True)
    wanted = b"".join(f"{len(path)} {len(data)} {path}".encode() + data for path, data in FILES.items())
    if subprocess.run([folder / "program"], check=True, capture_output=True).stdout != wanted:
        sys.exit("the program has other files built in")
    for files, says in (((), "name files behind --"), (("nowhere.txt",), "nowhere.txt")):
        done = subprocess.run([*script, *files], capture_output=True, text=True)
        if done.returncode == 0 or says not in done.stderr:
            sys.exit(f"{files}: {done.stderr}")
