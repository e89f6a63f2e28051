"""Generate the stubs beside the .proto files, or check that the committed ones equal what would be generated.

`python -m scripts.protos generate` writes; `... check` writes nothing, compares in a temporary folder, and
runs buf's lint and format over the same files. Everything works offline: protoc comes with grpcio-tools, buf
with buf-bin.
"""

import sys
import sysconfig
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "proto"
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")
SITE = Path(sysconfig.get_path("purelib"))
"""googleapis-common-protos puts google/rpc here."""


def sources() -> list[str]:
    """The .proto files, relative to `proto/`, in order."""
    return sorted(str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.proto"))


def compile_protos(arguments: list[str], files: list[str]) -> None:
    """Run protoc with the include paths of this project; its own messages are on stderr."""
    include = [f"-I{SOURCE}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}", f"-I{SITE}"]
    plugins = Path(sys.executable).parent
    status = protoc.main(
        ["protoc", *include]
        + [f"--plugin=protoc-gen-{n}={plugins / f'protoc-gen-{n}'}" for n in ("mypy", "mypy_grpc")]
        + [*arguments, *files]
    )
    if status:
        raise SystemExit(status)


def generate(target: Path) -> None:
    """Write the modules and their types below `target`. Only files with services get a grpc module."""
    files = sources()
    services = [f for f in files if "\nservice " in (SOURCE / f).read_text(encoding="utf-8")]
    compile_protos([f"--python_out={target}", f"--mypy_out=quiet:{target}"], files)
    compile_protos([f"--grpc_python_out={target}", f"--mypy_grpc_out=quiet:{target}"], services)


def _generated(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for g in GENERATED for p in root.rglob(g)}


def drift() -> list[str]:
    """The generated files that differ from what protoc makes of the sources now."""
    with TemporaryDirectory() as folder:
        generate(Path(folder))
        expected = _generated(Path(folder))
    present = _generated(SOURCE)
    return sorted(n for n in expected.keys() | present.keys() if expected.get(n) != present.get(n))


def write() -> int:
    """Replace the stubs; those of removed sources go."""
    for name in _generated(SOURCE):
        (SOURCE / name).unlink()
    generate(SOURCE)
    return 0


def check() -> int:
    """0 where the stubs are fresh and buf has nothing to say on style or layout."""
    stale = drift()
    for name in stale:
        print(f"proto/{name}: not what the .proto files give; run `make proto`", file=sys.stderr)
    checks = (["lint"], ["format", "--path", "proto/muniment", "--diff", "--exit-code"])
    failed = [
        c for c in checks if run([Path(sys.executable).parent / "buf", *c], cwd=ROOT, check=False).returncode
    ]
    return 1 if stale or failed else 0


COMMANDS = {"generate": write, "check": check}


def main() -> int:
    """Run the command that is named."""
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in COMMANDS:
        print(f"usage: python -m scripts.protos {'|'.join(COMMANDS)}", file=sys.stderr)
        return 2
    return COMMANDS[name]()


if __name__ == "__main__":
    raise SystemExit(main())
