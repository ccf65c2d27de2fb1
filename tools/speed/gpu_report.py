"""Collect what a machine with GPUs shows about this book, in one file.

    .venv-gpu/bin/python -m tools.speed.gpu_report [PART ...]

writes build/gpu-report.md, with all parts in about an hour.

It holds the machine, the driver, the versions, and what each part printed;
neither the name of the machine or the user, nor paths outside the project.
"""

import argparse
import datetime
import getpass
import importlib.metadata
import os
import pathlib
import socket
import subprocess
import sys
import time

from .report.machine import describe_machine

ROOT = pathlib.Path(__file__).parents[2]
OUT = ROOT / 'build/gpu-report.md'
PYTEST = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider']
WITHOUT_MXNET = """
If MXNet has no code for your GPU (H100, H200, B200, RTX 50), measure it with
PyTorch: copy tools/speed/gpu_or_cpu.py to any machine that has PyTorch, NumPy
and a GPU, and run `python gpu_or_cpu.py OUT.json` there, in eight minutes."""
SMI = 'name,driver_version,memory.total,compute_cap,pcie.link.gen.max'
# MXNet's: PyTorch's chapter needs another environment.
CHAPTERS = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / 'notebooks').glob('*.ipynb'))
    if not path.stem.endswith('_pytorch')
]
# A part: its command, after this Python unless it is another program, and
# how many seconds it may take.
PARTS = {
    'nvidia-smi': (
        ['nvidia-smi', f'--query-gpu={SMI}', '--format=csv'],
        60,
    ),
    'topology': (['nvidia-smi', 'topo', '-m'], 60),
    'doctor': (['-m', 'd2ldoctor'], 900),
    'test-gpu': ([*PYTEST, 'tests/gpu.py'], 900),
    'train': (['-m', 'd2lmulti', 'train', '--out', 'build/gpu.png'], 900),
    'chapters': (
        [
            *PYTEST,
            '--nbval',
            '--nbval-current-env',
            '--nbval-cell-timeout=300',
            *CHAPTERS,
        ],
        3600,
    ),
    'bench': (['-m', 'tools.speed.run', 'quick'], 1800),
}


def main():
    """Run the parts, and write the report; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('part', nargs='*', help=f'of {", ".join(PARTS)}')
    chosen = parser.parse_args().part or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        parser.error(f'no part {unknown[0]}: {", ".join(PARTS)}')
    os.environ['D2LMULTI_DEVICES'] = 'gpu'  # a GPU must work, in every part
    status, answer, _ = run(
        ['-c', 'from d2lmulti.prepare.gpus import find_gpus\nfind_gpus()'], 300
    )
    if status != 'passed':
        reason = (answer.splitlines() or ['MXNet did not answer'])[-1]
        print(f'no report without a GPU that works: {reason}')
        print('.venv-gpu/bin/python -m d2ldoctor says more')
        print(WITHOUT_MXNET)
        return 1
    results = {}
    for name in chosen:
        print(f'{name} …', flush=True)
        results[name] = run(*PARTS[name])
        print(f'  {results[name][0]} in {results[name][2]:.0f} s', flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(without_names(describe(results)))
    print(f'The report is in {os.path.relpath(OUT)}: read it, and send it in')
    return int(any(status != 'passed' for status, _, _ in results.values()))


def run(command, limit):
    """Return ('passed' or what else happened, the output, the seconds)."""
    if command[0].startswith('-') or command[0].endswith('.py'):
        command = [sys.executable, *command]
    began = time.monotonic()
    try:
        result = subprocess.run(
            command,
            cwd=ROOT,
            timeout=limit,
            text=True,
            errors='replace',
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        status, output = result.returncode, result.stdout
        status = 'passed' if status == 0 else f'failed with status {status}'
    except subprocess.TimeoutExpired as error:
        status = f'ended after {limit} s'
        output = (error.stdout or b'').decode(errors='replace')
    except OSError as error:
        status, output = 'could not be started', str(error)
    return status, output, time.monotonic() - began


def describe(results):
    """Return the report, in Markdown."""
    versions = ', '.join(
        f'{name} {importlib.metadata.version(name)}'
        for name in sorted(
            distribution.metadata['Name']
            for distribution in importlib.metadata.distributions()
        )
        if name.startswith(('mxnet', 'numpy', 'nvidia-', 'd2l'))
    )
    lines = ['# This book on GPUs', '', describe_machine(), '', versions, '']
    today = datetime.date.today()
    lines += [f'Written on {today} by `tools.speed.gpu_report`.', '']
    lines += ['| part | result | seconds |', '| --- | --- | --- |']
    for name, (status, _, seconds) in results.items():
        lines.append(f'| {name} | {status} | {seconds:.0f} |')
    for name, (_, output, _) in results.items():
        lines += ['', f'## {name}', '', '````text', output.rstrip(), '````']
    return '\n'.join(lines) + '\n'


def without_names(text):
    """Return the text without the names of paths, machine and user."""
    for name, instead in (
        (str(ROOT), '.'),
        (str(pathlib.Path.home()), '~'),
        (socket.gethostname(), 'machine'),
        (getpass.getuser().replace('root', ''), 'user'),
    ):
        if len(name) > 3:  # less would be found inside words
            text = text.replace(name, instead)
    return text


if __name__ == '__main__':
    sys.exit(main())
