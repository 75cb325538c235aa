"""Builds the wheel with scikit-build-core, after scripts/setup has installed the packages that the machine lacks, and says how far it is."""

import os
import pathlib
import subprocess

import gen5_progress
from scikit_build_core import build as _build

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

get_requires_for_build_wheel = _build.get_requires_for_build_wheel
get_requires_for_build_sdist = _build.get_requires_for_build_sdist
build_sdist = _build.build_sdist
# Without it pip would build the wheel to learn its name.
prepare_metadata_for_build_wheel = _build.prepare_metadata_for_build_wheel


def _headers() -> str:
    """CUDA's public headers: those of the wheels that this build requires."""
    import nvidia
    for place in nvidia.__path__:
        include = pathlib.Path(place) / "cu13" / "include"
        if (include / "cuda_runtime_api.h").exists():
            return str(include)
    raise RuntimeError(f"no cuda_runtime_api.h in {list(nvidia.__path__)}")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run([ROOT / "scripts" / "setup", "--wheel"], check=True)
    settings = dict(config_settings or {})
    settings["cmake.define.GEN5_CUDA_INCLUDE"] = _headers()
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    with gen5_progress.told(ROOT / "build" / "wheel"):
        return _build.build_wheel(wheel_directory, settings, metadata_directory)
