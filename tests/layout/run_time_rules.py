# SPDX-License-Identifier: MIT
"""What the run-time compilers refuse in kernel sources, found by clang without them.

run_time_rules.py CLANG [--header NAME FILE]... [--target ARCH FILE]...

NVRTC takes no function without a mark; hipRTC has types such as uint64_t as macros of several
words, which allow no conversion by braces; both see only the headers that are embedded."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r'^([ |`-]*)(?:Function|CXXMethod|CXXConstructor|CXXConversion|CXXDestructor)'
                      r'Decl 0x\w+ (?:.*> )?\S*(?:line|col)?[\d:]* ?(.*)$')
MARKS = ('CUDADeviceAttr', 'CUDAGlobalAttr')


def unmarked(tree):
    """Names of functions with a body and without a mark."""
    lines = tree.split('\n')
    found = set()
    for at, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or ' implicit ' in line:
            continue
        depth = len(match[1])
        children = []
        for below in lines[at + 1:]:
            indent = len(re.match(r'[ |`-]*', below)[0])
            if indent <= depth:
                break
            if indent == depth + 2:
                children.append(below[indent:].split(' ', 1)[0])
        if 'CompoundStmt' in children and not any(mark in children for mark in MARKS):
            name = re.search(r"(\S+) '", line)
            found.add(name[1] if name else line.strip())
    return found


def check(clang, headers, arch, source):
    """What is wrong with this source, as text."""
    language = 'cuda' if arch.startswith('sm_') else 'hip'
    command = [clang, '-x', language, '--cuda-device-only', '-nogpuinc', '-nogpulib',
               f'--offload-arch={arch}', '-std=c++17', '-fsyntax-only', '-Wno-macro-redefined',
               '-fno-color-diagnostics', '-Xclang', '-fno-cuda-host-device-constexpr',
               '-Xclang', '-ast-dump', '-include', os.path.join(headers, 'hiptool_clang_kernel.h'),
               '-D__HIPCC_RTC__', '-I', headers]
    if language == 'cuda':
        command += ['--cuda-path=/nonexistent', '-Wno-unknown-cuda-version', '-nocudainc',
                    '-nocudalib']
    # The text alone: files next to it are not found.
    run = subprocess.run(command + ['-'], input=pathlib.Path(source).read_text(),
                         capture_output=True, text=True, timeout=120)
    name = pathlib.Path(source).name
    if run.returncode != 0:
        return f'{name} ({arch}): {run.stderr}'
    names = unmarked(run.stdout)
    if len(run.stdout) < 10000:   # no tree, so nothing was looked at
        return f'{name}: clang printed no syntax tree'
    return f'{name}: no __device__ mark: {", ".join(sorted(names))}' if names else ''


def main():
    clang, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as headers:
        sources = []
        for kind, name, path in zip(words[::3], words[1::3], words[2::3]):
            if kind == '--header':
                to = pathlib.Path(headers) / name
                to.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, to)
                if name == 'hip/hip_runtime.h':   # what clang has in place of built-in words
                    clang_kernel = pathlib.Path(path).parents[1] / 'hiptool_clang_kernel.h'
                    shutil.copyfile(clang_kernel, pathlib.Path(headers) / clang_kernel.name)
            else:
                sources.append((name, path))
        if not sources:
            sys.exit('no kernel source was given')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(lambda one: check(clang, headers, *one), sources)
                     if text]
    if wrong:
        sys.exit('\n'.join(wrong))
    print(f'{len(sources)} kernel sources')


if __name__ == '__main__':
    main()
