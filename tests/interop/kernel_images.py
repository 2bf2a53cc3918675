# SPDX-License-Identifier: MIT
"""What the tests of kernel images have in common: reading the packed file, and skipping."""
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
sys.path.insert(0, str(KERNELS))
import pack  # noqa: E402 (it lies in the folder named above)

# Sources that AMD's GPUs have no instruction for, and what the compiler is to say then.
REFUSED = {"fma_bf16": "no AMD GPU up to gfx1201 has multiply-adds of bfloat16",
           "gemm_matrix": "matrix instructions of AMD are not used",
           "ops_matmul_groups": "matrix instructions of four warps are NVIDIA's",
           "ops_quantised_many": "blocks of AMD's GPUs have less shared memory",
           "ops_quantised_ring": "copies in the background are NVIDIA's"}


def is_as_expected(name, exit_code, message):
    """Whether a compiler for AMD took or refused the source, as it should."""
    if name in REFUSED:
        return exit_code != 0 and REFUSED[name] in message
    return exit_code == 0


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def images(path, prefix, of_families=False):
    """(source, target, bytes) of the images whose target begins so; skips where there are none.

    Of a family of AMD targets only the first one's, which the others differ from by their names,
    or all others'."""
    found = [image for image in pack.unpack(pathlib.Path(path).read_bytes())
             if image[1].startswith(prefix)]
    firsts = [image for image in found if image[1] not in pack.AMD_NUMBERS]
    if of_families or firsts:
        found = [image for image in found if image not in firsts] if of_families else firsts
    if not found:
        skip(f"this build has no images for {prefix}*")
    return found


def tool(*names):
    """The first of these programs that is installed; skips without."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    return skip(f"{names[0]} is not installed")


def finish(checked, findings):
    for finding in findings:
        print(finding)
    print(f"{checked} checked, {len(findings)} wrong")
    sys.exit(1 if findings or checked == 0 else 0)
